package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"parley/a2a/sign"
	"parley/a2aclient/card"
	"parley/app/egress"
	"parley/orchestrator"
)

// VerifyAgent asks who signed an agent's card.
type VerifyAgent struct {
	ID     string `json:"id"`
	Keys   []byte `json:"keys,omitempty"`   // what a person gave: a JWK set, a JWK, or PEM
	Source string `json:"source,omitempty"` // the name of the file they came from
	URL    string `json:"url,omitempty"`    // or where they are published, as a person typed it
	Pin    bool   `json:"pin,omitempty"`    // trust these keys for this agent from now on
}

// SignatureInfo is orchestrator.Signature as the command line shows it.
type SignatureInfo struct {
	State       orchestrator.SignatureState `json:"state"` // "unsigned" beside those of the domain
	KeyID       string                      `json:"keyId,omitempty"`
	Fingerprint string                      `json:"fingerprint,omitempty"`
	Form        string                      `json:"form,omitempty"`
	Unsigned    []string                    `json:"unsigned,omitempty"`
	Source      string                      `json:"source,omitempty"`
	Pinned      bool                        `json:"pinned"`
	Why         string                      `json:"why,omitempty"`
}

const unsigned orchestrator.SignatureState = "unsigned"

func signatureInfo(s *orchestrator.Signature) *SignatureInfo {
	if s == nil {
		return &SignatureInfo{State: unsigned}
	}
	return &SignatureInfo{s.State, s.KeyID, s.Fingerprint, s.Form, s.Unsigned, s.Source, s.Keys != nil, s.Why}
}

// signatureOf says who signed a card that was found, before it is approved. Keys that a person pinned for the agent at
// this address decide. Without any, the keys count that the card's own origin publishes, and approval will pin the one
// that verified; keys elsewhere are not even asked for.
func (r *registry) signatureOf(ctx context.Context, f *card.Found) (*orchestrator.Signature, error) {
	pinned, err := r.pinnedAt(ctx, f)
	if err != nil {
		return nil, err
	}
	if pinned != nil {
		keys, err := sign.ParseKeys(pinned.Keys)
		if err != nil {
			return nil, err
		}
		s := judge(f.JSON, f, keys)
		if s.State != orchestrator.SignatureVerified {
			s.State = orchestrator.SignatureChanged
		}
		s.Source, s.Keys = pinned.Source, pinned.Keys
		return s, nil
	}
	if len(f.Card.Signatures) == 0 {
		return nil, nil
	}
	own, elsewhere := card.KeysURL(f.Card, f.URL)
	if own == "" {
		return open(f, elsewhere), nil
	}
	u, err := url.Parse(own)
	if err != nil {
		return open(f, own), nil
	}
	keys, err := r.fetchKeys(ctx, fetching(f.Input, u), own)
	if err != nil {
		s := open(f, "")
		s.Why = "The keys could not be read: " + err.Error()
		return s, nil
	}
	s := judge(f.JSON, f, keys)
	s.Source = own
	if s.State == orchestrator.SignatureVerified {
		s.Keys = keys.Only(s.Fingerprint).JSON()
	}
	return s, nil
}

// open is the signature of a card that there are no keys for.
func open(f *card.Found, elsewhere string) *orchestrator.Signature {
	s := &orchestrator.Signature{State: orchestrator.SignatureOpen, Checked: time.Now(), Why: "The card does not say where the key is."}
	if h := sign.Headers(f.Card.Signatures); len(h) > 0 {
		s.KeyID = shown(h[0].KeyID)
	}
	if elsewhere != "" {
		s.Source = shown(elsewhere)
		s.Why = "The key is said to be at another address, which is not asked unless you say so."
	}
	return s
}

// judge checks a card with keys.
func judge(cardJSON []byte, f *card.Found, keys *sign.Keys) *orchestrator.Signature {
	s := &orchestrator.Signature{State: orchestrator.SignatureFailed, Checked: time.Now()}
	v, err := card.Verify(cardJSON, f.URL, f.Interface, keys)
	if err != nil {
		s.Why = err.Error()
		if h := sign.Headers(f.Card.Signatures); len(h) > 0 {
			s.KeyID = shown(h[0].KeyID)
		}
		return s
	}
	s.State = orchestrator.SignatureVerified
	s.KeyID, s.Fingerprint, s.Form, s.Unsigned = shown(v.KeyID), v.Fingerprint, string(v.Form), v.Unsigned
	return s
}

// shown is an agent's own word, short and harmless.
func shown(s string) string {
	s, _ = card.Text(s, 200)
	return s
}

// pinnedAt returns the signature of the agent that a card belongs to, if keys are pinned for it.
func (r *registry) pinnedAt(ctx context.Context, f *card.Found) (*orchestrator.Signature, error) {
	agents, err := r.store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range agents {
		if g.Signature != nil && g.Signature.Keys != nil && (g.CardURL != "" && g.CardURL == f.URL || slices.Contains(card.Interfaces(f.Card, f.URL), g.Interface)) {
			return g.Signature, nil
		}
	}
	return nil, nil
}

// fetchKeys reads the keys at an address. A redirect is not followed: it is this address that is trusted.
func (r *registry) fetchKeys(ctx context.Context, p egress.Policy, address string) (*sign.Keys, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	p.Content = egress.Card
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("this is not a web address")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := r.egress.Client(p).Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", card.Show(req.URL), resp.Status)
	}
	b, err := io.ReadAll(resp.Body) // capped by the policy
	if err != nil {
		return nil, err
	}
	return sign.ParseKeys(b)
}

// verify says who signed an agent's card, and keeps it. Keys given count before pinned ones, and these before those that
// the card's own origin publishes. The card is read again where it came from: one that changed since it was approved is
// said to have changed, whoever signed it.
func (r *registry) verify(ctx context.Context, in VerifyAgent) (*SignatureInfo, error) {
	stored, err := r.store.Agent(ctx, in.ID)
	if err != nil {
		return nil, noAgent(ctx, r.store, in.ID, err)
	}
	g := *stored
	f := &card.Found{Input: g.CardURL, URL: g.CardURL, JSON: g.CardJSON, Hash: g.CardHash, Card: g.Card, Interface: g.Interface}
	if f.Card == nil {
		return nil, &orchestrator.Fault{Kind: "card", Where: orchestrator.WhereUs, What: "The card of " + g.ID + " is not stored.", Do: "Connect it again."}
	}
	keys, source, kept, err := r.keysFor(ctx, &g, f, in)
	if err != nil {
		return nil, err
	}
	var s *orchestrator.Signature
	switch {
	case keys != nil:
		s = judge(g.CardJSON, f, keys)
		s.Source = source
	case len(f.Card.Signatures) > 0:
		_, elsewhere := card.KeysURL(f.Card, f.URL)
		s = open(f, elsewhere)
	}
	if s != nil && kept {
		s.Keys = g.Signature.Keys
	}
	if now := r.served(ctx, &g); now != nil && otherCard(now.JSON, g.CardJSON) {
		if s == nil {
			s = &orchestrator.Signature{Checked: time.Now()}
		}
		again := &orchestrator.Signature{Why: "the new one is not signed by a key that is trusted"}
		if keys != nil {
			again = judge(now.JSON, now, keys)
		}
		s.State = orchestrator.SignatureChanged
		s.Why = "The card that the agent serves now is another than the one you approved, and not signed by a key that is trusted."
		if again.State == orchestrator.SignatureVerified {
			s.Why = "The card that the agent serves now is another than the one you approved, signed by a key that is trusted."
		}
	}
	if in.Pin {
		if s == nil || s.State != orchestrator.SignatureVerified {
			why := "The card is not signed."
			if s != nil {
				why = s.Why
			}
			return nil, &orchestrator.Fault{
				Kind: "signature", Where: orchestrator.WhereAgent, What: "Nothing was pinned. " + why,
				Do: "Ask whoever runs the agent for the key that it signs its card with.",
			}
		}
		s.Keys = keys.JSON()
	}
	given := in.Keys != nil || in.URL != ""
	if in.Pin || !given {
		err := r.edit(ctx, g.ID, &orchestrator.Batch{}, func(now *orchestrator.Agent) error {
			if now.Trust != g.Trust || now.CardHash != g.CardHash { // it was removed while its keys were read
				return noAgent(ctx, r.store, g.ID, orchestrator.ErrNotFound)
			}
			now.Signature = s
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return signatureInfo(s), nil
}

// keysFor returns the keys to check an agent's card with, nil when there are none; kept says that they are its pinned ones.
func (r *registry) keysFor(ctx context.Context, g *orchestrator.Agent, f *card.Found, in VerifyAgent) (keys *sign.Keys, source string, kept bool, err error) {
	bad := func(err error) error {
		return &orchestrator.Fault{Kind: "keys", Where: orchestrator.WhereUs, What: "The keys cannot be used: " + err.Error() + ".", Do: "Give a JWK set, a JWK, or a public key in PEM."}
	}
	switch {
	case in.Keys != nil:
		if keys, err = sign.ParseKeys(in.Keys); err != nil {
			return nil, "", false, bad(err)
		}
		return keys, in.Source, false, nil
	case in.URL != "":
		if keys, err = r.fetchKeys(ctx, egress.Policy{Typed: in.URL}, in.URL); err != nil {
			return nil, "", false, bad(err)
		}
		return keys, in.URL, false, nil
	case g.Signature != nil && g.Signature.Keys != nil:
		keys, err = sign.ParseKeys(g.Signature.Keys)
		return keys, g.Signature.Source, true, err
	}
	own, _ := card.KeysURL(f.Card, f.URL)
	if own == "" {
		return nil, "", false, nil
	}
	if keys, err = r.fetchKeys(ctx, egress.Policy{Agent: g.ID, Public: true}, own); err != nil {
		return nil, "", false, bad(err)
	}
	return keys, own, false, nil
}

// served is the card that an agent serves now; nil when it cannot be read without a sign-in or at all.
func (r *registry) served(ctx context.Context, g *orchestrator.Agent) *card.Found {
	if g.CardURL == "" {
		return nil
	}
	found, _, err := r.find(ctx, g.CardURL, nil)
	if err != nil || len(found) != 1 || found[0].Err != nil {
		return nil
	}
	return found[0]
}

// otherCard reports whether two cards say different things. Their signatures do not count: some servers sign anew for
// every reader, and every signature is another.
func otherCard(a, b []byte) bool {
	return withoutSignatures(a) != withoutSignatures(b)
}

// withoutSignatures is the hash of a card but for its signatures.
func withoutSignatures(cardJSON []byte) string {
	var all map[string]json.RawMessage
	if json.Unmarshal(cardJSON, &all) != nil {
		return ""
	}
	delete(all, "signatures")
	b, err := json.Marshal(all)
	if err != nil {
		return ""
	}
	hash, err := card.Hash(b)
	if err != nil {
		return ""
	}
	return hash
}
