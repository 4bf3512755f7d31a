package view

import (
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
func SignedBy(s *orchestrator.Signature) *Signed {
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
		v.Word, v.Key = "Verified: signed by the key", s.Fingerprint
	case orchestrator.SignatureChanged:
		v.Word = "Changed since it was verified"
	case orchestrator.SignatureFailed:
		v.Word = "Not verified"
	default:
		v.Word = "Signed, not verified"
	}
	say(s.Why)
	switch {
	case s.Source != "" && s.Keys != nil && s.State == orchestrator.SignatureVerified:
		say("The key is from " + s.Source + "; no other is taken for this agent.")
	case s.Source != "":
		say("Keys: " + s.Source)
	}
	if len(s.Unsigned) > 0 {
		say("Not covered: " + strings.Join(s.Unsigned, ", "))
	}
	return v
}
