package orchestrator

import "time"

// Signature is what is known of who signed an agent's card.
type Signature struct {
	State       SignatureState
	KeyID       string    // of the key, as the signature names it
	Fingerprint string    // of the key, once it verified
	Form        string    // over what text of the card the signature was found to be made
	Unsigned    []string  // members of the card that it does not cover
	Source      string    // where the keys came from: an address, the name of a file
	Keys        []byte    // the keys that only a person changes (a JWK set); nil: none is pinned
	Why         string    // it is not verified: one sentence
	Checked     time.Time // when
}

// SignatureState says how far a card's signature can be trusted.
type SignatureState string

const (
	SignatureOpen     SignatureState = "signed"   // there is one, and no key that a person could trust to check it with
	SignatureVerified SignatureState = "verified" // by one of the keys
	SignatureFailed   SignatureState = "failed"   // not by any of the keys
	SignatureChanged  SignatureState = "changed"  // it was verified before; the card that is served now is not
)
