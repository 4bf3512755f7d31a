package app

import (
	"context"
	"encoding/json"
	"errors"

	"parley/a2a/wire"
	"parley/orchestrator"
)

// The objects of the verbs that look after agents.
type (
	// TakeCard approves a changed card.
	TakeCard struct {
		ID   string `json:"id"`
		Hash string `json:"hash"` // of the card that was shown
	}

	// BlockAgent blocks an agent, or lets it be called again.
	BlockAgent struct {
		ID string `json:"id"`
		On bool   `json:"on"`
	}

	// AgentOrigin names a grant.
	AgentOrigin struct {
		ID     string `json:"id"`
		Origin string `json:"origin"`
	}

	// AgentCredential names a credential that is kept.
	AgentCredential struct {
		ID string `json:"id"`
		orchestrator.CredentialInfo
	}

	// AgentReview is the card that an agent serves in place of the approved one.
	AgentReview struct {
		Hash    string                  `json:"hash"`
		Grave   bool                    `json:"grave"`
		Origins []string                `json:"origins"`
		Hunks   []orchestrator.CardHunk `json:"hunks"`
		Card    json.RawMessage         `json:"card"`
	}
)

// keeperVerbs is what the control socket can be asked about agents that were approved.
func (a *App) keeperVerbs() map[string]verb {
	r := a.registry
	nothing := func(err error) (struct{}, error) { return struct{}{}, err }
	return map[string]verb{
		"agents.test": once(func(ctx context.Context, n Named) (*orchestrator.AgentTest, error) { return r.Test(ctx, n.ID) }),
		"agents.report": once(func(ctx context.Context, n Named) ([]orchestrator.Finding, error) {
			l, err := r.Look(ctx, n.ID)
			if err != nil {
				return nil, err
			}
			return l.Findings, nil
		}),
		"agents.review": once(r.review),
		"agents.take":   once(func(ctx context.Context, t TakeCard) (struct{}, error) { return nothing(r.TakeCard(ctx, t.ID, t.Hash)) }),
		"agents.block":  once(func(ctx context.Context, b BlockAgent) (struct{}, error) { return nothing(r.Block(ctx, b.ID, b.On)) }),
		"agents.revoke": once(func(ctx context.Context, o AgentOrigin) (struct{}, error) {
			return nothing(r.RevokeGrant(ctx, o.ID, o.Origin))
		}),
		"agents.credentials": once(func(ctx context.Context, n Named) ([]orchestrator.CredentialInfo, error) {
			l, err := r.Look(ctx, n.ID)
			if err != nil {
				return nil, err
			}
			return l.Credentials, nil
		}),
		"agents.forget-credential": once(func(ctx context.Context, c AgentCredential) (struct{}, error) {
			return nothing(r.RemoveCredential(ctx, c.ID, c.CredentialInfo))
		}),
		"agents.extended": once(func(ctx context.Context, n Named) (json.RawMessage, error) {
			c, err := r.ExtendedCard(ctx, n.ID)
			if err != nil {
				return nil, err
			}
			return wire.AppendCard(nil, wire.CardNEW, c), nil
		}),
	}
}

// review reads an agent's card again and says what changed; nil when nothing did.
func (r *registry) review(ctx context.Context, n Named) (*AgentReview, error) {
	g, err := r.there(ctx, n.ID)
	if err != nil {
		return nil, err
	}
	c, err := r.reread(asLocal(ctx), g)
	if errors.Is(err, errNowhere) {
		err = &orchestrator.Fault{
			Kind: "card", Where: orchestrator.WhereUs, What: "It was pasted, so there is no address to read it from again.", Do: "Connect it again.",
		}
	}
	if err != nil || c == nil {
		return nil, err
	}
	return &AgentReview{Hash: c.Hash, Grave: c.Grave, Origins: c.Origins, Hunks: orchestrator.DiffCards(g.Card, c.Card), Card: c.JSON}, nil
}
