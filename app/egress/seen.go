package egress

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"time"
)

// Seen is how an origin answered over TLS, as it did last.
type Seen struct {
	Origin      string
	Version     uint16 // tls.VersionTLS13
	Certificate *x509.Certificate
	Since       time.Time // when this certificate was shown first
}

// Seen returns how the origins of an agent answered over TLS since the program began, by origin.
func (e *Egress) Seen(id string) []Seen {
	e.mu.Lock()
	a := e.agents[id]
	e.mu.Unlock()
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]Seen, 0, len(a.seen))
	for _, s := range a.seen {
		out = append(out, s)
	}
	slices.SortFunc(out, func(x, y Seen) int { return strings.Compare(x.Origin, y.Origin) })
	return out
}

// saw notes the certificate of an answer to an agent's request. Most answers come over the connection of the one before.
func (t *trip) saw(o origin, state *tls.ConnectionState) {
	if state == nil || t.policy.Agent == "" || t.tls.Swap(state) == state || len(state.PeerCertificates) == 0 {
		return
	}
	a := t.e.agent(t.policy.Agent)
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[origin]Seen{}
	}
	cert := state.PeerCertificates[0]
	if old := a.seen[o]; old.Certificate != nil && old.Version == state.Version && old.Certificate.Equal(cert) {
		return
	}
	a.seen[o] = Seen{Origin: o.String(), Version: state.Version, Certificate: cert, Since: time.Now()}
}
