// Package sign signs agent cards and verifies the signatures of others (v1.0 section 8.4, v0.3 section 5.5.6; JWS, RFC
// 7515).
//
//	card ── what a reader of a version keeps of it ── canonical text ── JWS ── AgentCardSignature
//
// A signature is made over a canonical text of the card, and makers of software disagree on that text. Sign therefore
// signs every text that readers arrive at, once each; Verify tries all of them and says which one it was.
//
// What it guarantees: only asymmetric algorithms count, with a key that was given for the purpose and fits the algorithm;
// nothing in a card or a signature chooses a key to trust. A card that two readers may understand in two ways is refused.
// What was verified is returned as JSON, so that nobody has to rely on members the signature does not cover.
package sign

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"

	"parley/a2a"
)

// Sign returns signatures over a card, given in any form that package wire writes. There is one for each text of it that
// a reader may check: usually of v1.0 as the specification has it, of v1.0 as the Python and JavaScript SDKs have it, and
// of v0.3 likewise. jku is where the public key is published (a JWK set), "" = nowhere.
func (k *Key) Sign(card []byte, jku string) ([]a2a.AgentCardSignature, error) {
	t, err := read(card)
	if err != nil {
		return nil, err
	}
	protected, err := json.Marshal(protectedHeader{Alg: k.alg.String(), Kid: k.id, Typ: "JOSE", JKU: jku})
	if err != nil {
		return nil, err
	}
	var out []a2a.AgentCardSignature
	signed := map[string]bool{}
	for _, f := range formsFor(t) {
		text, err := f.text(t)
		if err != nil {
			return nil, err
		}
		if signed[string(text)] {
			continue
		}
		signed[string(text)] = true
		compact, err := k.compact(protected, text)
		if err != nil {
			return nil, fmt.Errorf("sign the card: %w", err)
		}
		parts := bytes.Split(compact, []byte{'.'})
		out = append(out, a2a.AgentCardSignature{Protected: string(parts[0]), Signature: string(parts[2])})
	}
	return out, nil
}

// JWT returns a signed token with these claims (RFC 7519). Set iat and exp yourself: a time.Time is written in seconds.
func (k *Key) JWT(claims map[string]any) (string, error) {
	header, err := json.Marshal(protectedHeader{Alg: k.alg.String(), Kid: k.id, Typ: "JWT"})
	if err != nil {
		return "", err
	}
	claims = maps.Clone(claims)
	for name, v := range claims {
		if t, ok := v.(time.Time); ok {
			claims[name] = t.Unix()
		}
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	token, err := k.compact(header, body)
	return string(token), err
}

// compact is a JWS in its compact form.
func (k *Key) compact(protected, payload []byte) ([]byte, error) {
	h := jws.NewHeaders()
	if err := json.Unmarshal(protected, h); err != nil {
		return nil, err
	}
	return jws.Sign(payload, jws.WithKey(k.alg, k.private, jws.WithProtectedHeaders(h)))
}

// protectedHeader is what a signature says of itself. What else it may say is not looked at, but for crit.
type protectedHeader struct {
	Alg  string          `json:"alg"`
	Kid  string          `json:"kid,omitempty"`
	Typ  string          `json:"typ,omitempty"`
	JKU  string          `json:"jku,omitempty"`
	Crit json.RawMessage `json:"crit,omitempty"`
}

// Header is what a signature says of itself: unchecked.
type Header struct {
	Algorithm string
	KeyID     string
	KeysURL   string // jku: where it says that its key is
}

// Headers returns what the signatures of a card say of themselves, without those that cannot be read.
func Headers(list []a2a.AgentCardSignature) []Header {
	var out []Header
	for _, s := range list {
		if h, err := readHeader(s.Protected); err == nil {
			out = append(out, Header{h.Alg, h.Kid, h.JKU})
		}
	}
	return out
}

// maxHeader is the largest protected header that is read, in characters.
const maxHeader = 8 << 10

func readHeader(protected string) (*protectedHeader, error) {
	if len(protected) > maxHeader {
		return nil, errorf(KindSignature, "its header is too large")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(protected)
	if err != nil {
		return nil, errorf(KindSignature, "its header is not base64url")
	}
	var h protectedHeader
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, errorf(KindSignature, "its header is not a JSON object")
	}
	return &h, nil
}

// algorithms are those that count: asymmetric, and neither broken nor rare.
var algorithms = map[string]jwa.SignatureAlgorithm{
	"ES256": jwa.ES256(), "ES384": jwa.ES384(), "ES512": jwa.ES512(),
	"RS256": jwa.RS256(), "RS384": jwa.RS384(), "RS512": jwa.RS512(),
	"PS256": jwa.PS256(), "PS384": jwa.PS384(), "PS512": jwa.PS512(),
	"EdDSA": jwa.EdDSA(),
}
