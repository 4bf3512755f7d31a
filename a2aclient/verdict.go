package a2aclient

import (
	"fmt"
	"strings"

	"parley/a2a"
	"parley/a2a/wire"
)

// Verdict is what an agent was found to speak.
type Verdict struct {
	Dialect wire.Dialect // PROTO for v0.3 over HTTP+JSON and gRPC
	Binding string       // a2a.BindingJSONRPC, BindingREST or BindingGRPC
	By      Evidence
}

// Evidence is how a verdict came about.
type Evidence string

const (
	ByCard   Evidence = "card"   // so the card says; nothing was asked yet
	ByAnswer Evidence = "answer" // the agent answered as its card says
	ByTrial  Evidence = "trial"  // the card says nothing or something else; this is what worked
	ByRecord Evidence = "record" // found before, see Options.Verdict
	ByPerson Evidence = "person" // Options.Override
)

// String says it for people: "speaks v0.3 over JSON-RPC".
func (v Verdict) String() string {
	return fmt.Sprintf("speaks %s over %s", v.Dialect, bindingName(v.Binding))
}

func bindingName(b string) string {
	switch {
	case b == "", strings.EqualFold(b, a2a.BindingJSONRPC):
		return "JSON-RPC"
	case strings.EqualFold(b, a2a.BindingREST):
		return "REST"
	case strings.EqualFold(b, a2a.BindingGRPC):
		return "gRPC"
	}
	return b
}

// MarshalText writes a verdict so that it can be kept: "v0.3 JSONRPC trial".
func (v Verdict) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s %s %s", v.Dialect, v.Binding, v.By), nil
}

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(b []byte) error {
	f := strings.Fields(string(b))
	if len(f) != 3 {
		return fmt.Errorf("a2aclient: %q is no verdict", b)
	}
	for _, d := range dialects(f[1]) {
		if d.String() == f[0] {
			*v = Verdict{Dialect: d, Binding: f[1], By: Evidence(f[2])}
			return nil
		}
	}
	return fmt.Errorf("a2aclient: %q is no verdict", b)
}

// dialects are those that a binding can carry, newest first.
func dialects(binding string) []wire.Dialect {
	if binding == "" || strings.EqualFold(binding, a2a.BindingJSONRPC) {
		return []wire.Dialect{wire.NEW, wire.MID, wire.OLD}
	}
	return []wire.Dialect{wire.NEW, wire.PROTO}
}

// Override is what a person says of an agent against its card. What is left zero stays as the card has it.
type Override struct {
	Dialect *wire.Dialect // MID and PROTO mean the same: v0.3, in the form of the binding
	Binding string
	URL     string
}

// over returns the interface that o makes of i.
func (o *Override) over(i a2a.AgentInterface) a2a.AgentInterface {
	if o == nil {
		return i
	}
	if o.Binding != "" {
		i.Binding = o.Binding
	}
	if o.URL != "" {
		i.URL = o.URL
	}
	return i
}
