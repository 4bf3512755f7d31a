package card

import (
	"fmt"
	"strings"
	"testing"
)

const sound = `{"name":"A","description":"d","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],` +
	`"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"d","tags":["t"]}],` +
	`"supportedInterfaces":[{"url":"https://a.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],` +
	`"securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}},"securityRequirements":[{"schemes":{"b":{"list":[]}}}]}`

const sound03 = `{"protocolVersion":"0.3.0","name":"A","description":"d","url":"https://a.example/","version":"1","capabilities":{},` +
	`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"d","tags":["t"]}],` +
	`"securitySchemes":{"b":{"type":"http","scheme":"bearer"}},"security":[{"b":[]}]}`

// Each case changes one thing of a sound card: the report names it, with the rule.
func TestReport(t *testing.T) {
	t.Parallel()
	for _, card := range []string{sound, sound03} {
		if got := Report([]byte(card)); len(got) != 0 {
			t.Errorf("a sound card: %+v", got)
		}
	}
	for _, c := range []struct{ card, old, new, want string }{
		{sound, `"name":"A",`, ``, "error $.name v1.0, 4.4.1"},
		{sound, `"description":"d","version"`, `"description":" ","version"`, "error $.description v1.0, 4.4.1"},
		{sound, `"version":"1"`, `"version":1`, "error $.version v1.0, 4.4.1"},
		{sound, `"streaming":true`, `"streaming":"yes"`, "error $.capabilities.streaming v1.0, 4.4.3"},
		{sound, `"defaultInputModes":["text/plain"]`, `"defaultInputModes":["text"]`, "warning $.defaultInputModes[0] v1.0, 4.4.1"},
		{sound, `"tags":["t"]`, `"tags":[]`, "warning $.skills[0].tags v1.0, 4.4.5"},
		{sound, `}],"supp`, `},{"id":"s","name":"S","description":"d","tags":["t"]}],"supp`, "error $.skills[1].id v1.0, 4.4.5"},
		{sound, `https://a.example/rpc`, `http://a.example/rpc`, "warning $.supportedInterfaces[0].url v1.0, 7.1"},
		{sound, `https://a.example/rpc`, `/rpc`, "error $.supportedInterfaces[0].url v1.0, 4.4.6"},
		{sound, `,"protocolVersion":"1.0"`, ``, "error $.supportedInterfaces[0].protocolVersion v1.0, 4.4.6"},
		{sound, `"schemes":{"b"`, `"schemes":{"c"`, "error $.securityRequirements[0].schemes v1.0, 4.5.1"},
		{sound, `"httpAuthSecurityScheme":{"scheme":"Bearer"}`, `"type":"http"`, "error $.securitySchemes.b v1.0, 4.5.1"},
		{sound, `"capabilities"`, `"extra":1,"capabilities"`, "note $.extra v1.0, 4.4.1"},
		{sound, `"name":"A"`, `"name":"A","name":"B"`, "error $ RFC 8785, 3.1"},
		{sound03, `"protocolVersion":"0.3.0",`, ``, "error $.protocolVersion v0.3, 5.5"},
		{sound03, `"type":"http"`, `"type":"token"`, "error $.securitySchemes.b.type v0.3, 5.5.3"},
		{sound03, `"capabilities":{}`, `"capabilities":{},"additionalInterfaces":[{"url":"https://a.example/","transport":"GRPC"}]`, "error $.additionalInterfaces[0] v0.3, 5.6.4"},
		{sound, sound, `[]`, "error $ RFC 8259"},
	} {
		changed := strings.Replace(c.card, c.old, c.new, 1)
		if changed == c.card {
			t.Fatalf("%q is not in the card", c.old)
		}
		var got []string
		for _, f := range Report([]byte(changed)) {
			got = append(got, fmt.Sprintf("%s %s %s", f.Level, f.Path, strings.TrimPrefix(f.Rule, "A2A ")))
			if !strings.HasSuffix(f.What, ".") {
				t.Errorf("no sentence: %q", f.What)
			}
		}
		if len(got) == 0 || got[0] != c.want {
			t.Errorf("%s instead of %s: got %q, want %q", c.new, c.old, got, c.want)
		}
	}
}
