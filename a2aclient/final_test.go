package a2aclient_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/a2aclient/card"
)

// An error that is final is about the request alone: it is made once, and from its kind nothing is learned about how the
// agent can be called. Without that it may be the stream, or the language, that the agent does not know.
func TestFinalError(t *testing.T) {
	t.Parallel()
	for final, want := range map[string]string{
		"true":  "SendStreamingMessage",
		"false": "SendStreamingMessage SendMessage",
	} {
		refuse := func(t *turn) {
			t.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(t.ResponseWriter, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32004,"message":"round in a circle","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org","metadata":{"urn:parley:final":%q}}]}}`, t.ID, final)
		}
		a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": refuse, "SendMessage": refuse})
		c := a.client("1.0", nil)
		got := collect(t, c.Stream(ctx(t), hello()))
		if called := a.called(); !strings.HasPrefix(called, want) || final == "true" && called != want {
			t.Errorf("final %s: called %s, want %s", final, called, want)
		}
		if final != "true" {
			continue
		}
		if e := kindOf(t, got.err, card.KindAgent); e.Retry || e.MayHaveRun || !strings.Contains(e.What, "round in a circle") || !c.Streams() {
			t.Errorf("%+v, streams: %t", e, c.Streams())
		}
	}
}
