package a2aclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient"
)

// canned answers every request with the same bytes.
type canned struct {
	status int
	kind   string
	body   []byte
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}, Request: r,
		Body: io.NopCloser(strings.NewReader(string(c.body))),
	}, nil
}

// Whatever an agent answers, a sequence ends, errors come last, and a task that ended stays as it ended.
func FuzzStream(f *testing.F) {
	frame := func(s string) string { return `data: {"jsonrpc":"2.0","id":1,"result":` + s + "}\n\n" }
	for _, s := range []string{
		frame(task("WORKING")) + frame(chunk("a", "x", false)) + frame(status("COMPLETED")),
		"id: 1\n" + frame(task("WORKING")) + "id: 1\n" + frame(chunk("a", "x", true)) + "id: x\n" + frame(status("FAILED")) + frame(status("WORKING")),
		`{"jsonrpc":"2.0","id":1,"result":` + task("COMPLETED") + `}`, "[" + `{"jsonrpc":"2.0","id":1,"result":` + status("WORKING") + `}]`,
		`data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}` + "\n\n", "data: \n\n", "<html>", "",
		frame(`{"message":{"messageId":"r","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}`),
	} {
		for _, how := range []uint8{0, 5, 16, 20, 36} {
			f.Add(how, []byte(s))
		}
	}
	for _, s := range []string{
		"data: " + task("WORKING") + "\n\ndata: " + status("COMPLETED") + "\n\n", "[" + task("WORKING") + "]",
		`{"error":{"code":404,"status":"NOT_FOUND","message":"no"}}`, "event: error\ndata: {\"code\":-32001,\"message\":\"no\"}\n\n",
		frame(`{"id":"T","status":{"state":"working"},"final":false}`) + frame(`{"id":"T","artifact":{"index":0,"parts":[{"text":"x"}]},"final":true}`),
		frame(`{"taskId":"T","reason":"closed"}`), pythonRefusal,
	} {
		for _, how := range []uint8{16, 20, 32, 36} {
			f.Add(how, []byte(s))
		}
	}
	kinds := []string{"text/event-stream", "application/json", "text/plain", ""}
	f.Fuzz(func(t *testing.T, how uint8, body []byte) {
		version := "1.0"
		if how&4 != 0 {
			version = "0.3"
		}
		binding, o := "JSONRPC", &a2aclient.Options{}
		switch how & 48 {
		case 16:
			binding = "HTTP+JSON"
		case 32:
			o.Override = &a2aclient.Override{Dialect: dialect(wire.OLD)}
		}
		code := 200
		if how&8 != 0 {
			code = 400
		}
		o.HTTP = &http.Client{Transport: canned{code, kinds[how&3], body}}
		o.PollMin, o.PollMax, o.Patience = time.Microsecond, time.Microsecond, time.Microsecond
		c, err := a2aclient.New(streaming(), a2a.AgentInterface{URL: "http://agent.example/", Binding: binding, Version: version}, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		var last error
		ended := false
		for e, err := range c.Stream(ctx, hello()) {
			if last != nil {
				t.Fatalf("yielded after the error %v", last)
			}
			var gap *a2aclient.GapError
			if errors.As(err, &gap) {
				continue
			}
			if last = err; err != nil {
				continue
			}
			if ended {
				t.Fatalf("%s after the end", short(e))
			}
			ended = a2a.EventState(e).Terminal()
		}
		var told *a2aclient.Error
		if last != nil && !errors.As(last, &told) && ctx.Err() == nil {
			t.Fatalf("an error that tells nobody anything: %v", last)
		}
	})
}
