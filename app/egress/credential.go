package egress

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Kind is how a credential is presented.
type Kind string

const (
	Bearer Kind = "Bearer"
	Basic  Kind = "Basic"
	APIKey Kind = "APIKey"

	// Certificate is a certificate of the client, shown when the connection is made (mutual TLS).
	Certificate Kind = "Certificate"
)

// Bound is a credential and the one origin that it may go to. It does not print its secret.
type Bound struct {
	Origin   string // scheme://host:port
	Kind     Kind
	User     string        // Basic
	Name     string        // APIKey: of the header, query parameter or cookie; chosen by a person, never by a card
	Location string        // APIKey: header (the default), query or cookie
	Secret   func() string // reveals it; not for a Certificate

	Cert *tls.Certificate // Certificate, with its key
}

// ErrCredential is what a credential that cannot be attached to anything fails with.
var ErrCredential = errors.New("the credential cannot be used")

// Attach adds the credential to a request for its origin, exactly, that is not a redirect; to any other it adds nothing.
// It reports whether it is for that request. The request is changed in place; a Certificate, which goes with the
// connection, changes nothing.
func (b Bound) Attach(r *http.Request) (bool, error) {
	mine, err := parseOrigin(b.Origin)
	if err != nil {
		return false, fmt.Errorf("%w: its origin is not valid", ErrCredential)
	}
	if theirs, err := originOf(r.URL); err != nil || theirs != mine || r.Response != nil {
		return false, nil
	}
	if r.Host != "" && !strings.EqualFold(r.Host, r.URL.Host) {
		return false, nil
	}
	if err := b.Check(); err != nil {
		return false, err
	}
	if b.Kind == Certificate {
		return true, nil
	}
	secret := b.Secret()
	switch {
	case b.Kind == Bearer:
		r.Header.Set("Authorization", "Bearer "+secret)
	case b.Kind == Basic:
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(b.User+":"+secret)))
	case b.Location == "query":
		u := *r.URL
		q := u.Query()
		q.Set(b.Name, secret)
		u.RawQuery = q.Encode()
		r.URL = &u
	case b.Location == "cookie":
		r.AddCookie(&http.Cookie{Name: b.Name, Value: secret, Quoted: strings.ContainsAny(secret, " ,")})
	default:
		r.Header.Set(b.Name, secret)
	}
	return true, nil
}

// Check says what is wrong with a credential before it is stored. It tells nothing of the secret.
func (b Bound) Check() error {
	o, err := parseOrigin(b.Origin)
	if err != nil {
		return fmt.Errorf("%w: its origin is not valid", ErrCredential)
	}
	if b.Kind == Certificate {
		if o.scheme != "https" {
			return fmt.Errorf("%w: a certificate can be shown over https only", ErrCredential)
		}
		if b.Cert == nil || len(b.Cert.Certificate) == 0 || b.Cert.PrivateKey == nil {
			return fmt.Errorf("%w: it is no certificate with its key", ErrCredential)
		}
		return nil
	}
	if b.Secret == nil || b.Secret() == "" {
		return fmt.Errorf("%w: it is empty", ErrCredential)
	}
	secret := b.Secret()
	switch b.Kind {
	case Bearer:
		if !httpguts.ValidHeaderFieldValue(secret) || strings.ContainsAny(secret, " \t") {
			return fmt.Errorf("%w: a token cannot hold spaces or line breaks", ErrCredential)
		}
	case Basic:
		if strings.Contains(b.User, ":") {
			return fmt.Errorf("%w: a user name cannot hold a colon", ErrCredential)
		}
	case APIKey:
		return b.checkKey(secret)
	default:
		return fmt.Errorf("%w: %q is not a kind of sign-in that is known here", ErrCredential, string(b.Kind))
	}
	return nil
}

func (b Bound) checkKey(secret string) error {
	if b.Name == "" {
		return fmt.Errorf("%w: the name of the key is missing", ErrCredential)
	}
	switch b.Location {
	case "", "header":
		if !httpguts.ValidHeaderFieldName(b.Name) || denied(b.Name) {
			return fmt.Errorf("%w: a key cannot be sent in a header named %.40q", ErrCredential, b.Name)
		}
		if !httpguts.ValidHeaderFieldValue(secret) || strings.TrimSpace(secret) != secret {
			return fmt.Errorf("%w: a key in a header cannot hold line breaks, or begin or end with a space", ErrCredential)
		}
	case "query":
		if strings.ContainsFunc(b.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("%w: the name of the key is not valid", ErrCredential)
		}
	case "cookie":
		c := http.Cookie{Name: b.Name, Value: secret, Quoted: strings.ContainsAny(secret, " ,")}
		if c.Valid() != nil {
			return fmt.Errorf("%w: the key or its name does not fit into a cookie", ErrCredential)
		}
	default:
		return fmt.Errorf("%w: %.20q is no place for a key (header, query or cookie)", ErrCredential, b.Location)
	}
	return nil
}

// denied reports whether a header belongs to the protocol, to the connection or to another kind of credential, so that a
// key in it would change the meaning of the request.
func denied(name string) bool {
	name = textproto.CanonicalMIMEHeaderKey(name)
	return slices.Contains([]string{
		"A2a-Extensions", "A2a-Version", "Accept", "Accept-Encoding", "Authorization", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
		"Cookie", "Expect", "Forwarded", "Host", "Keep-Alive", "Origin", "Referer", "Set-Cookie", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Via",
	}, name) || slices.ContainsFunc([]string{"Access-Control-", "Proxy-", "Sec-", "X-Forwarded-"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// String, GoString, Format, LogValue and MarshalJSON tell what it is for, never what it is.
func (b Bound) String() string               { return string(b.Kind) + " credential for " + b.Origin }
func (b Bound) GoString() string             { return b.String() }
func (b Bound) Format(f fmt.State, _ rune)   { fmt.Fprint(f, b.String()) }
func (b Bound) LogValue() slog.Value         { return slog.StringValue(b.String()) }
func (b Bound) MarshalJSON() ([]byte, error) { return []byte(`"[credential]"`), nil }
