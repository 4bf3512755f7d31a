package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"parley/a2aclient/card"
	"parley/app/egress"
	"parley/orchestrator"
)

// Cards are read again now and then, and soon after a call that failed: an agent that moved says so in its card. What
// is served in place of the card that a person approved is kept beside it (Agent.Changed) until the person takes it or
// blocks the agent; when it says that the agent is called elsewhere, otherwise, or can do something else, nothing is
// sent to it until then.
const (
	firstReread = time.Minute   // after the start
	rereadEvery = 6 * time.Hour // of each agent
	rereadAfter = 5 * time.Minute
)

// errNowhere says that a card did not come from an address.
var errNowhere = errors.New("the card was not read from an address")

// watch reads cards again until ctx ends.
func (r *registry) watch(ctx context.Context) {
	all := time.NewTimer(firstReread)
	defer all.Stop()
	last := map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-r.suspects:
			if time.Since(last[id]) < rereadAfter {
				continue
			}
			last[id] = time.Now()
			r.rereadOne(ctx, id)
		case <-all.C:
			agents, err := r.store.ListAgents(ctx)
			if err != nil {
				r.log.Warn("the agents could not be read", "err", err)
			}
			for _, g := range agents {
				last[g.ID] = time.Now()
				r.rereadOne(ctx, g.ID)
			}
			all.Reset(rereadEvery)
		}
	}
}

func (r *registry) rereadOne(ctx context.Context, id string) {
	ctx, stop := context.WithTimeout(asLocal(ctx), testTime)
	defer stop()
	g, err := r.there(ctx, id)
	if err != nil || g.Trust == orchestrator.TrustBlocked {
		return
	}
	if _, err := r.reread(ctx, g); err != nil && !errors.Is(err, errNowhere) {
		r.log.Debug("a card could not be read again", "agent", id, "err", err)
	}
}

// suspect asks for an agent's card to be read again soon. It does not block.
func (r *registry) suspect(id string) {
	select {
	case r.suspects <- id:
	default:
	}
}

// reread reads an agent's card again where it came from, with leave to reach the agent's own origins and the credentials
// for them, and keeps what changed. It returns that; nil when it is the approved card.
func (r *registry) reread(ctx context.Context, g *orchestrator.Agent) (*orchestrator.CardChange, error) {
	if g.CardURL == "" || g.Local {
		if g.Local { // it is registered anew at every start
			return nil, nil
		}
		return nil, errNowhere
	}
	way := r.egress.Client(egress.Policy{
		Agent: g.ID, Content: egress.Card,
		Credentials: func(ctx context.Context) ([]egress.Bound, error) { return r.creds.of(ctx, g.ID) },
	})
	found, err := card.Find(ctx, g.CardURL, &card.Options{HTTP: way, NoFiles: true, Logger: r.log})
	if err == nil && len(found) != 1 {
		err = &orchestrator.Fault{Kind: "card", Where: orchestrator.WhereAgent, What: "There are several cards where that of " + g.Name + " was.", Do: "Connect the one that is meant."}
	}
	if err == nil {
		err = found[0].Err
	}
	if err != nil {
		return nil, told(err)
	}
	change, err := r.changeOf(ctx, g, found[0])
	if err != nil {
		return nil, err
	}
	err = r.edit(ctx, g.ID, &orchestrator.Batch{}, func(now *orchestrator.Agent) error {
		if now.Trust == orchestrator.TrustRemoved || now.CardHash != g.CardHash {
			return errUnchanged
		}
		trust := now.Trust
		switch {
		case trust == orchestrator.TrustBlocked, trust == orchestrator.TrustPending:
		case change != nil && change.Grave:
			trust = orchestrator.TrustReview
		default:
			trust = orchestrator.TrustApproved
		}
		same := (change == nil) == (now.Changed == nil) && (change == nil || change.Hash == now.Changed.Hash && slices.Equal(change.Origins, now.Changed.Origins))
		if same && trust == now.Trust {
			return errUnchanged
		}
		if change != nil && now.Changed != nil && now.Changed.Hash == change.Hash {
			change.Seen = now.Changed.Seen
		}
		now.Changed, now.Trust = change, trust
		return nil
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return change, err
}

// changeOf says what a card is beside the approved one; nil when it is the same.
func (r *registry) changeOf(ctx context.Context, g *orchestrator.Agent, f *card.Found) (*orchestrator.CardChange, error) {
	if !otherCard(f.JSON, g.CardJSON) {
		return nil, nil
	}
	c := &orchestrator.CardChange{JSON: f.JSON, Card: f.Card, Hash: f.Hash, Interface: f.Interface, Notes: r.notes(f), Seen: time.Now()}
	var err error
	if c.Signature, err = r.signatureOf(ctx, f); err != nil {
		return nil, err
	}
	pinned := g.Signature != nil && g.Signature.Keys != nil
	c.Grave = pinned && (c.Signature == nil || c.Signature.State != orchestrator.SignatureVerified)
	for _, h := range orchestrator.DiffCards(g.Card, f.Card) {
		c.Grave = c.Grave || h.Grave
	}
	if c.Origins, err = r.origins(ctx, f); err != nil {
		r.log.Info("a changed card names an address that may not be reached", "agent", g.ID, "err", err)
		c.Origins = nil
	}
	return c, nil
}
