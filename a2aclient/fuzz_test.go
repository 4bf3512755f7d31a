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
		f.Add(uint8(0), []byte(s))
		f.Add(uint8(5), []byte(s))
	}
	kinds := []string{"text/event-stream", "application/json", "text/plain", ""}
	f.Fuzz(func(t *testing.T, how uint8, body []byte) {
		version := "1.0"
		if how&4 != 0 {
			version = "0.3"
		}
		code := 200
		if how&8 != 0 {
			code = 400
		}
		c, err := a2aclient.New(streaming(), a2a.AgentInterface{URL: "http://agent.example/", Version: version}, &a2aclient.Options{
			HTTP:    &http.Client{Transport: canned{code, kinds[how&3], body}},
			PollMin: time.Microsecond, PollMax: time.Microsecond, Patience: time.Microsecond,
		})
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
