package sign

import (
	"encoding/json"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"

	"parley/a2a"
)

// Verified is what a signature proves.
type Verified struct {
	KeyID       string // kid, as the signature has it
	Fingerprint string // of the key, see Fingerprint
	Algorithm   string
	Form        Form

	// Signed is the card as far as it was signed, as JSON. Members that another version of the protocol added, or that
	// nobody knows, may be in the card and not in here.
	Signed []byte

	// Unsigned names the top-level members of the card that the signature does not cover.
	Unsigned []string
}

// maxSignatures is how many signatures of a card are looked at.
const maxSignatures = 16

// Verify returns what a signature by one of the keys proves, of several the one that covers most; an *Error says why there
// is none.
// Where a key is published (jku) is not looked at: which keys to trust is the caller's decision.
func Verify(card []byte, keys *Keys) (*Verified, error) {
	t, err := read(card)
	if err != nil {
		return nil, err
	}
	if len(t.signatures) == 0 {
		return nil, errorf(KindUnsigned, "The card is not signed.")
	}
	var usable []candidate
	var why *Error
	for i, s := range t.signatures {
		if i == maxSignatures {
			break
		}
		c, err := consider(s, keys)
		if err != nil {
			if why == nil || telling(err.Kind) > telling(why.Kind) {
				why = err
			}
			continue
		}
		usable = append(usable, c...)
	}
	if len(usable) == 0 {
		return nil, why
	}
	for _, f := range formsOf(t) {
		text, err := f.text(t)
		if err != nil {
			return nil, errorf(KindCard, "The card cannot be read: %v.", err)
		}
		for _, c := range usable {
			if !c.holds(text) {
				continue
			}
			signed, err := json.Marshal(f.cut(t))
			if err != nil {
				return nil, errorf(KindCard, "The card cannot be read: %v.", err)
			}
			return &Verified{
				KeyID: c.header.Kid, Fingerprint: Fingerprint(thumbprint(c.key)), Algorithm: c.header.Alg, Form: f,
				Signed: signed, Unsigned: f.leavesOut(t),
			}, nil
		}
	}
	return nil, errorf(KindSignature, "The signature does not fit the card: the card was changed after it was signed, or signed by somebody else.")
}

// telling orders the reasons of several signatures by how much they say of the card.
func telling(k Kind) int {
	switch k {
	case KindUnknownKey:
		return 1
	case KindSignature:
		return 2
	}
	return 0
}

// candidate is a signature and a key that it may have been made with.
type candidate struct {
	signature a2a.AgentCardSignature
	header    *protectedHeader
	alg       jwa.SignatureAlgorithm
	key       jwk.Key
}

// consider returns the keys that a signature may have been made with, or says why there is none.
func consider(s a2a.AgentCardSignature, keys *Keys) ([]candidate, *Error) {
	h, err := readHeader(s.Protected)
	if err != nil {
		return nil, errorf(KindSignature, "The signature cannot be read: %v.", err)
	}
	alg, ok := algorithms[h.Alg]
	if !ok {
		return nil, errorf(KindAlgorithm, "The card is signed by %.20q, which proves nothing.", h.Alg)
	}
	if len(h.Crit) > 0 {
		return nil, errorf(KindSignature, "The signature needs something to be understood that is not known here (crit).")
	}
	named := keys.named(h.Kid)
	if len(named) == 0 {
		return nil, errorf(KindUnknownKey, "The card is signed by a key that is not among those trusted for it (%.60q).", h.Kid)
	}
	var out []candidate
	for _, k := range named {
		if fits(k, h.Alg) && len(out) < maxTries {
			out = append(out, candidate{s, h, alg, k})
		}
	}
	if out == nil {
		return nil, errorf(KindUnknownKey, "The key with the id %.60q is not one for %s.", h.Kid, h.Alg)
	}
	return out, nil
}

// maxTries is how many keys are tried on one signature, should several be meant.
const maxTries = 4

func (c *candidate) holds(text []byte) bool {
	_, err := jws.Verify([]byte(c.signature.Protected+".."+c.signature.Signature), jws.WithKey(c.alg, c.key), jws.WithDetachedPayload(text))
	return err == nil
}
