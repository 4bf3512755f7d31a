package sign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
)

// Key is a private key to sign with. It does not print itself.
type Key struct {
	private jwk.Key
	alg     jwa.SignatureAlgorithm
	id      string
}

// NewKey makes a key for ES256. Its id is its thumbprint (RFC 7638).
func NewKey() (*Key, error) {
	raw, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	k, err := jwk.Import(raw)
	if err != nil {
		return nil, err
	}
	if err := k.Set(jwk.KeyIDKey, thumbprint(k)); err != nil {
		return nil, err
	}
	if err := k.Set(jwk.AlgorithmKey, jwa.ES256()); err != nil {
		return nil, err
	}
	return keyOf(k)
}

// ParseKey reads a private key that Marshal wrote.
func ParseKey(b []byte) (*Key, error) {
	k, err := jwk.ParseKey(b)
	if err != nil {
		return nil, errorf(KindKey, "what is stored is not a key") // the parser's words may repeat a part of it
	}
	return keyOf(k)
}

func keyOf(k jwk.Key) (*Key, error) {
	id, _ := k.KeyID()
	name, _ := k.Algorithm()
	if private, err := jwk.IsPrivateKey(k); err != nil || !private || id == "" || name == nil {
		return nil, errorf(KindKey, "this is not a private key with an id and an algorithm")
	}
	alg, ok := algorithms[name.String()]
	if !ok {
		return nil, errorf(KindKey, "%.20s is not an algorithm to sign with", name.String())
	}
	return &Key{private: k, alg: alg, id: id}, nil
}

// ID is the key's id, which signatures name as kid.
func (k *Key) ID() string { return k.id }

// Marshal returns the private key as a JWK (RFC 7517). It is a secret.
func (k *Key) Marshal() ([]byte, error) { return json.Marshal(k.private) }

// JWKS returns the public key as a JWK set, which is what jku points at.
func (k *Key) JWKS() ([]byte, error) {
	public, err := k.private.PublicKey()
	if err != nil {
		return nil, err
	}
	if err := public.Set(jwk.KeyUsageKey, "sig"); err != nil {
		return nil, err
	}
	set := jwk.NewSet()
	if err := set.AddKey(public); err != nil {
		return nil, err
	}
	return json.Marshal(set)
}

// String and GoString say which key it is, not what it is.
func (k *Key) String() string   { return "signing key " + k.id }
func (k *Key) GoString() string { return k.String() }

// Keys are public keys that somebody trusts to sign.
type Keys struct{ list []jwk.Key }

// maxKeys is the most keys that a set may have.
const maxKeys = 64

// ParseKeys reads public keys: a JWK set, one JWK, or PEM (a public key or a certificate, of which only the key counts).
// Of a private key it keeps the public half. Keys of other uses and kinds are left out; a set without any other, or with
// a symmetric key in it, is an *Error of kind KindKey.
func ParseKeys(b []byte) (*Keys, error) {
	b = bytes.TrimSpace(b)
	set, err := jwk.Parse(b, jwk.WithPEM(bytes.HasPrefix(b, []byte("-----BEGIN "))))
	if err != nil {
		return nil, errorf(KindKey, "this is neither a JWK set, nor a JWK, nor a key in PEM")
	}
	if set.Len() > maxKeys {
		return nil, errorf(KindKey, "there are more than %d keys", maxKeys)
	}
	out := &Keys{}
	for i := range set.Len() {
		k, ok := set.Key(i)
		if !ok {
			continue
		}
		if k.KeyType() == jwa.OctetSeq() {
			return nil, errorf(KindKey, "there is a symmetric key among them: whoever can verify with it can sign with it")
		}
		if use, ok := k.KeyUsage(); ok && use != "" && use != "sig" {
			continue
		}
		if public, err := k.PublicKey(); err == nil && len(fitting(public)) > 0 {
			out.list = append(out.list, public)
		}
	}
	if len(out.list) == 0 {
		return nil, errorf(KindKey, "there is no key among them that could have signed a card")
	}
	return out, nil
}

// JSON returns the keys as a JWK set.
func (k *Keys) JSON() []byte {
	set := jwk.NewSet()
	for _, one := range k.list {
		_ = set.AddKey(one) // fails for a key that is there already
	}
	b, _ := json.Marshal(set) // of keys that were parsed
	return b
}

// Only returns the keys with this thumbprint.
func (k *Keys) Only(print string) *Keys {
	out := &Keys{}
	for _, one := range k.list {
		if Fingerprint(thumbprint(one)) == print {
			out.list = append(out.list, one)
		}
	}
	return out
}

// named returns the keys that a signature which names kid may have been made with: those of that id, and those that a
// person gave without any.
func (k *Keys) named(kid string) (out []jwk.Key) {
	for _, one := range k.list {
		if id, ok := one.KeyID(); !ok || id == "" || id == kid {
			out = append(out, one)
		}
	}
	return out
}

// fits reports whether a key may be used with an algorithm.
func fits(k jwk.Key, alg string) bool {
	if own, ok := k.Algorithm(); ok && own.String() != alg {
		return false
	}
	for _, a := range fitting(k) {
		if a == alg {
			return true
		}
	}
	return false
}

// maxRSA is how many bits an RSA key may have: a signature by one of a hundred times as many takes minutes to check.
const maxRSA = 8192

// fitting lists the algorithms of a kind of key: one for each curve (RFC 7518 section 3.4), and RSA from 2,048 bits on.
func fitting(k jwk.Key) []string {
	switch k := k.(type) {
	case jwk.ECDSAPublicKey:
		switch curve, _ := k.Crv(); curve {
		case jwa.P256():
			return []string{"ES256"}
		case jwa.P384():
			return []string{"ES384"}
		case jwa.P521():
			return []string{"ES512"}
		}
	case jwk.OKPPublicKey:
		if curve, _ := k.Crv(); curve == jwa.Ed25519() {
			return []string{"EdDSA"}
		}
	case jwk.RSAPublicKey:
		var raw rsa.PublicKey
		if jwk.Export(k, &raw) == nil && raw.N.BitLen() >= 2048 && raw.N.BitLen() <= maxRSA {
			return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
		}
	}
	return nil
}

// thumbprint is the thumbprint of a key (RFC 7638, SHA-256), base64url.
func thumbprint(k jwk.Key) string {
	sum, err := k.Thumbprint(crypto.SHA256)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// Fingerprint is a thumbprint as people compare it: the first 16 bytes in groups of hexadecimal digits.
func Fingerprint(thumbprint string) string {
	b, err := base64.RawURLEncoding.DecodeString(thumbprint)
	if err != nil || len(b) < 16 {
		return ""
	}
	digits := hex.EncodeToString(b[:16])
	var groups []string
	for i := 0; i < len(digits); i += 4 {
		groups = append(groups, digits[i:i+4])
	}
	return strings.Join(groups, " ")
}
