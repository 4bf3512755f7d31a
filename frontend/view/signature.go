package view

import (
	"context"
	"strings"

	"parley/orchestrator"
)

// Signed is what a page says of the signature on an agent's card.
type Signed struct {
	Word  string   // in a few words
	Key   string   // which key, as people compare it
	Lines []string // and what else is to be known
}

// SignedBy puts a signature into words; nil for a card without one.
func SignedBy(ctx context.Context, s *orchestrator.Signature) *Signed {
	if s == nil {
		return nil
	}
	v := &Signed{}
	say := func(line string) {
		if line != "" {
			v.Lines = append(v.Lines, line)
		}
	}
	switch s.State {
	case orchestrator.SignatureVerified:
		v.Word, v.Key = T(ctx, "Verified: signed by the key"), s.Fingerprint
	case orchestrator.SignatureChanged:
		v.Word = T(ctx, "Changed since it was verified")
	case orchestrator.SignatureFailed:
		v.Word = T(ctx, "Not verified")
	default:
		v.Word = T(ctx, "Signed, not verified")
	}
	say(Tv(ctx, s.Why))
	switch {
	case s.Source != "" && s.Keys != nil && s.State == orchestrator.SignatureVerified:
		say(T(ctx, "The key is from %s; no other is taken for this agent.", s.Source))
	case s.Source != "":
		say(T(ctx, "Keys: %s", s.Source))
	}
	if len(s.Unsigned) > 0 {
		say(T(ctx, "Not covered: %s", strings.Join(s.Unsigned, ", ")))
	}
	return v
}
