package card_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// Cards of every age, as pasted, say what is spoken where (protocol.md section 2.1).
func TestCheck04CardsOfEveryAge(t *testing.T) {
	t.Parallel()
	const rest = `"name":"calc","description":"d","version":"1.0.0","capabilities":{"streaming":true},"defaultInputModes":["text"],"defaultOutputModes":["text"],"skills":[{"id":"add","name":"Add"}]`
	for name, x := range map[string]struct {
		card    string
		dialect wire.Dialect
		binding string
		url     string
		note    string
	}{
		"v1.0":        {`{"supportedInterfaces":[{"url":"https://a.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],` + rest + `}`, wire.NEW, "JSONRPC", "https://a.example/rpc", ""},
		"v1.0 REST":   {`{"supportedInterfaces":[{"url":"https://a.example/rest/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0","tenant":"acme"}],` + rest + `}`, wire.NEW, "HTTP+JSON", "https://a.example/rest/", ""},
		"old in new":  {`{"supportedInterfaces":[{"url":"https://a.example/rest","protocolBinding":"HTTP+JSON","protocolVersion":"0.3"}],` + rest + `}`, wire.PROTO, "HTTP+JSON", "https://a.example/rest", ""},
		"superset":    {`{"protocolVersion":"0.3.0","url":"https://a.example/old","preferredTransport":"JSONRPC","supportedInterfaces":[{"url":"https://a.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],` + rest + `}`, wire.NEW, "JSONRPC", "https://a.example/rpc", ""},
		"v0.3":        {`{"protocolVersion":"0.3.0","url":"https://a.example/rpc","preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"https://a.example/rest","transport":"HTTP+JSON"}],` + rest + `}`, wire.MID, "JSONRPC", "https://a.example/rpc", ""},
		"v0.3 REST":   {`{"protocolVersion":"0.3.0","url":"https://a.example/rest","preferredTransport":"HTTP+JSON",` + rest + `}`, wire.PROTO, "HTTP+JSON", "https://a.example/rest", ""},
		"kagent#1684": {`{"protocolVersion":"0.3.0","url":"https://a.example/rpc",` + rest + `}`, wire.MID, "JSONRPC", "https://a.example/rpc", ""},
		"v0.2.6":      {`{"protocolVersion":"0.2.6","url":"https://a.example/rpc",` + rest + `}`, wire.MID, "JSONRPC", "https://a.example/rpc", ""},
		"v0.2.0":      {`{"url":"https://a.example/","securitySchemes":{"b":{"type":"http","scheme":"bearer"}},` + rest + `}`, wire.MID, "JSONRPC", "https://a.example/", ""},
		"v0.1":        {`{"url":"https://a.example/","authentication":{"schemes":["Bearer"]},` + rest + `}`, wire.OLD, "JSONRPC", "https://a.example/", "first message will tell"},
		"bare":        {`{"url":"https://a.example/",` + rest + `}`, wire.MID, "JSONRPC", "https://a.example/", "does not say which version"},
		"rc":          {`{"protocolVersion":"1.0","url":"https://a.example/rpc",` + rest + `}`, wire.NEW, "JSONRPC", "https://a.example/rpc", "form of an older one"},
		"agno#10165":  {`{"protocolVersion":"0.3.0","url":"https://a.example/agents/x/v1/message:send","preferredTransport":"HTTP+JSON",` + rest + `}`, wire.PROTO, "HTTP+JSON", "https://a.example/agents/x", "one operation"},
		"trpc":        {`{"name":"calc","url":"https://a.example/","version":"1","capabilities":{"streaming":true},"authentication":null,"skills":null}`, wire.MID, "JSONRPC", "https://a.example/", "lists no skills"},
	} {
		f := find(t, x.card, nil)
		if f.Dialect != x.dialect || f.Interface.Binding != x.binding || f.Interface.URL != x.url {
			t.Errorf("%s: %s over %s at %s; want %s over %s at %s", name, f.Dialect, f.Interface.Binding, f.Interface.URL, x.dialect, x.binding, x.url)
		}
		if notes := fmt.Sprint(f.Notes); !strings.Contains(notes, x.note) {
			t.Errorf("%s: no %q in %q", name, x.note, notes)
		}
	}
	if f := find(t, `{"supportedInterfaces":[{"url":"https://a.example/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0","tenant":"acme"}],`+rest+`}`, nil); f.Interface.Tenant != "acme" {
		t.Errorf("the tenant is %q", f.Interface.Tenant)
	}
}

// gRPC has no scheme in a card; where it is goes by the machine.
func TestAddressOfGRPC(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a.example:443": "https://a.example:443", "localhost:50051": "http://localhost:50051", "127.0.0.1:1": "http://127.0.0.1:1",
		"0.0.0.0:50051": "http://0.0.0.0:50051", "grpcs://a.example": "https://a.example", "[::1]:2": "http://[::1]:2",
	} {
		f := &card.Found{}
		f.Interface.Binding, f.Interface.URL = "GRPC", in
		if got := card.Address(&f.Interface); got != want {
			t.Errorf("%s is at %s, want %s", in, got, want)
		}
	}
}

// A server that listens everywhere may call that its address, in either family; what was typed tells which is meant.
func TestGRPCEverywhere(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"0.0.0.0:50051": "127.0.0.1:50051", "[::]:50051": "127.0.0.1:50051", "grpc://[::]:50051": "grpc://127.0.0.1:50051",
	} {
		s := newSite(t, map[string]http.HandlerFunc{
			wellKnown: says(strings.Replace(cardAt(address), "JSONRPC", "GRPC", 1)),
		})
		f := find(t, s.URL, &card.Options{HTTP: client(t)})
		if f.Interface.URL != want || len(f.Notes) == 0 {
			t.Errorf("%s became %s, notes %q", address, f.Interface.URL, f.Notes)
		}
	}
}
