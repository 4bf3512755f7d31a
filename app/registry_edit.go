package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/a2a"
	"parley/a2aclient"
	"parley/a2aclient/card"
	"parley/orchestrator"
)

// learned keeps what an agent proved to speak and where, unless its card or its address changed meanwhile, or a person chose.
func (r *registry) learned(g *orchestrator.Agent, k *a2aclient.Client, v a2aclient.Verdict) {
	in, left := k.Interface(), k.Left()
	r.amend(g, func(found *orchestrator.Agent) bool {
		was := *found
		if was.Known == orchestrator.KnownByPerson {
			return false
		}
		found.Dialect, found.Known = spoken(in, v)
		if in != was.Interface {
			found.Interface = in
			found.Notes = append(withoutInterface(was.Notes), passedOver(in, left)...)
		}
		return found.Dialect != was.Dialect || found.Known != was.Known || found.Interface != was.Interface
	})
}

// spoken is what an agent was found to speak at an interface, and how that is known.
func spoken(in a2a.AgentInterface, v a2aclient.Verdict) (string, orchestrator.KnownBy) {
	if v.By == a2aclient.ByTrial || v.By == a2aclient.ByRecord {
		return v.Dialect.String(), orchestrator.KnownByAnswer
	}
	return dialectOf(in), orchestrator.KnownByCard
}

// withoutInterface is a copy of an agent's notes without those about the interfaces that its card prefers to the one in use.
func withoutInterface(notes []a2a.Note) []a2a.Note {
	return slices.DeleteFunc(slices.Clone(notes), func(n a2a.Note) bool { return n.Kind == a2a.NoteInterface })
}

// passedOver says which interface is used instead of those that the card prefers, and why: a sentence for each.
func passedOver(in a2a.AgentInterface, left []a2aclient.Left) (notes []a2a.Note) {
	for _, l := range left {
		notes = append(notes, a2a.Note{Kind: a2a.NoteInterface, Text: whyLeft(in, l)})
	}
	return notes
}

func whyLeft(in a2a.AgentInterface, l a2aclient.Left) (note string) {
	over, at, first, there := bindingName(in.Binding), placeOf(in), bindingName(l.Interface.Binding), placeOf(l.Interface)
	switch l.Err.Kind {
	case card.KindRefused:
		note = fmt.Sprintf("It is called over %s at %s: the %s address that would come before it, %s, refuses connections.", over, at, first, there)
	case card.KindDNS:
		note = fmt.Sprintf("It is called over %s at %s: the %s address that would come before it, %s, cannot be found.", over, at, first, there)
	case card.KindTLS:
		note = fmt.Sprintf("It is called over %s at %s: the %s address that would come before it, %s, makes no secure connection.", over, at, first, there)
	case card.KindTimeout, card.KindUnreachable:
		note = fmt.Sprintf("It is called over %s at %s: the %s address that would come before it, %s, cannot be reached.", over, at, first, there)
	case card.KindUnauthenticated, card.KindForbidden:
		note = fmt.Sprintf("It is called over %s at %s: the %s address that would come before it, %s, wants a sign-in of its own.", over, at, first, there)
	case card.KindBlocked:
		note = fmt.Sprintf("It is called over %s at %s: Parley may not go to the %s address that would come before it, %s.", over, at, first, there)
	default:
		note = fmt.Sprintf("It is called over %s at %s: at the %s address that would come before it, %s, no messages are taken.", over, at, first, there)
	}
	return note
}

// placeOf is where an interface is, for people.
func placeOf(i a2a.AgentInterface) string {
	u, err := url.Parse(card.Address(&i))
	if err != nil || u.Host == "" {
		return shown(i.URL)
	}
	if strings.EqualFold(i.Binding, a2a.BindingGRPC) {
		return shown(u.Host)
	}
	return card.Show(u)
}

// heard keeps how the last contact with an agent went, and since when it goes so.
func (r *registry) heard(g *orchestrator.Agent, f *orchestrator.Fault) {
	if f != nil {
		r.suspect(g.ID)
	}
	r.amend(g, func(found *orchestrator.Agent) bool {
		was := found.Health
		found.Health = orchestrator.AgentHealth{Checked: time.Now(), Latency: was.Latency, Fault: f}
		return was.Checked.IsZero() || !alike(was.Fault, f)
	})
}

// alike reports whether two outcomes of a call are shown as the same.
func alike(a, b *orchestrator.Fault) bool {
	return a == b || a != nil && b != nil && a.Kind == b.Kind && a.Where == b.Where && a.What == b.What
}

// amend stores what a call found out about an agent, unless its card or its address changed meanwhile. It waits for no
// disk.
func (r *registry) amend(g *orchestrator.Agent, change func(found *orchestrator.Agent) bool) {
	_ = r.enqueue(g.ID, &orchestrator.Batch{}, func(found *orchestrator.Agent) error {
		if found.Trust != orchestrator.TrustApproved || found.CardHash != g.CardHash || found.Interface != g.Interface || !change(found) {
			return errUnchanged
		}
		return nil
	}, func(err error) {
		if err != nil {
			r.log.Warn("what was found out about an agent could not be stored", "agent", g.ID, "err", err)
		}
	})
}

var errUnchanged = errors.New("there is nothing to store")

// edit stores an agent as change makes it of what it is now, and what else is in b, and waits for the disk.
func (r *registry) edit(ctx context.Context, id string, b *orchestrator.Batch, change func(g *orchestrator.Agent) error) error {
	stored := make(chan error, 1)
	if err := r.enqueue(id, b, change, func(err error) { stored <- err }); err != nil {
		return err
	}
	select {
	case err := <-stored:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enqueue stores an agent as change makes it of what it is now; done is told how that went. What was changed before and is
// not on disk yet is changed further: of two changes at the same time none is lost, least of all that it was removed.
func (r *registry) enqueue(id string, b *orchestrator.Batch, change func(g *orchestrator.Agent) error, done func(error)) error {
	r.editing.Lock()
	defer r.editing.Unlock()
	r.mu.Lock()
	now := r.amended[id]
	r.mu.Unlock()
	if now == nil {
		var err error
		if now, err = r.store.Agent(context.Background(), id); err != nil {
			return noAgent(context.Background(), r.store, id, err)
		}
	}
	g := *now
	if err := change(&g); err != nil {
		return err
	}
	r.mu.Lock()
	if r.amended == nil {
		r.amended = map[string]*orchestrator.Agent{}
	}
	r.amended[id] = &g
	r.mu.Unlock()
	b.Agents = []*orchestrator.Agent{&g}
	r.store.Enqueue(b, func(_ []*a2a.Entry, err error) { // at once, when the store is closed
		r.mu.Lock()
		if r.amended[id] == &g {
			delete(r.amended, id)
		}
		r.mu.Unlock()
		done(err)
	})
	return nil
}
