package card_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2aclient/card"
)

// The interfaces of a card are tried by version, then as the card orders them, each address once, where they can be reached
// from here.
func TestInterfaces(t *testing.T) {
	t.Parallel()
	const at = "https://agent.example/.well-known/agent-card.json"
	for what, x := range map[string]struct{ card, at, want string }{
		"v1.0": {
			`{"name":"X","supportedInterfaces":[
				{"url":"https://agent.example/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
				{"url":"grpc.example:443","protocolBinding":"GRPC","protocolVersion":"1.0","tenant":"a"},
				{"url":"grpc.example:443","protocolBinding":"GRPC","protocolVersion":"1.0","tenant":"b"},
				{"url":"wss://agent.example","protocolBinding":"urn:ws","protocolVersion":"1.0"},
				{"url":"https://agent.example/next","protocolBinding":"JSONRPC","protocolVersion":"2.0"},
				{"url":"http://localhost:8080/rest","protocolBinding":"http+json","protocolVersion":"1.0"},
				{"url":"https://grpc.example:443","protocolBinding":"GRPC","protocolVersion":"0.3","tenant":"a"}]}`, at,
			"GRPC 1.0 grpc.example:443 a, GRPC 1.0 grpc.example:443 b, HTTP+JSON 1.0 https://agent.example/rest , JSONRPC 0.3 https://agent.example/old , ",
		},
		"v0.3": {
			`{"name":"X","protocolVersion":"0.3.0","url":"https://agent.example/rest","preferredTransport":"HTTP+JSON","additionalInterfaces":[
				{"url":"0.0.0.0:50051","transport":"GRPC"},{"url":"https://agent.example/rest","transport":"HTTP+JSON"},{"url":"https://agent.example/rpc","transport":"JSONRPC"}]}`, at,
			"HTTP+JSON 0.3 https://agent.example/rest , JSONRPC 0.3 https://agent.example/rpc , GRPC 0.3 agent.example:50051 , ",
		},
		"pasted": {
			`{"name":"X","protocolVersion":"0.3.0","url":"http://localhost:1/rpc","additionalInterfaces":[{"url":"localhost:2","transport":"GRPC"}]}`, "",
			"JSONRPC 0.3 http://localhost:1/rpc , GRPC 0.3 localhost:2 , ",
		},
	} {
		f := find(t, x.card, &card.Options{Base: "https://agent.example"})
		got := ""
		for _, i := range card.Interfaces(f.Card, x.at) {
			got += fmt.Sprintf("%s %.3s %s %s, ", i.Binding, i.Version, i.URL, i.Tenant)
		}
		if d := cmp.Diff(x.want, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
}

// The first of a card's interfaces is the one that is chosen; leave is asked for all of them, where they are called.
func TestInterfacesOfTheFound(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(says(`{"name":"X","supportedInterfaces":[
		{"url":"http://localhost:9999/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
		{"url":"https://other.example/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},
		{"url":"localhost:50051","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`))
	t.Cleanup(s.Close)
	f := find(t, "https://agent.example", &card.Options{HTTP: web(t, s, nil)})
	all := card.Interfaces(f.Card, f.URL)
	if len(all) != 3 || all[0] != f.Interface {
		t.Fatalf("%+v", all)
	}
	if d := cmp.Diff([]string{"https://agent.example", "https://other.example", "https://agent.example:50051"}, f.Origins()); d != "" {
		t.Error(d)
	}
}

// A server that will not come to a connection looked at no request.
func TestHandshakeRefused(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	way := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}}
	e := failure(t, s.URL, &card.Options{HTTP: &http.Client{Transport: way}}, card.KindTLS)
	if !card.Unsent(e.Err) {
		t.Errorf("%+v", e)
	}
}
