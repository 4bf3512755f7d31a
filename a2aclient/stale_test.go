package a2aclient_test

import (
	"net/http"
	"testing"

	"parley/a2a"
	"parley/a2aclient"
)

// A connection that the agent ended while nobody used it fails no call that only asks: it is made once more over another.
// A message is not, for it may have arrived.
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	end := func(t *turn) {
		c, _, err := http.NewResponseController(t.ResponseWriter).Hijack()
		if err != nil {
			t.t.Error(err)
			return
		}
		c.Close()
	}
	a := newAgent(t, map[string]func(*turn){
		"GetTask": func(t *turn) {
			if len(t.Request.Header.Values("Idempotency-Key")) > 0 {
				t.t.Error("the agent was sent a key that it did not ask for")
			}
			if t.N == 1 { // the second comes over the connection of the first
				end(t)
				return
			}
			t.result(bare("WORKING"))
		},
		"SendMessage": end,
	})
	way := &http.Transport{}
	t.Cleanup(way.CloseIdleConnections)
	c := a.client("1.0", &a2aclient.Options{HTTP: &http.Client{Transport: way}})
	for n := range 3 {
		if _, err := c.Get(ctx(t), &a2a.GetRequest{ID: "T"}); err != nil {
			t.Errorf("call %d: %v", n, err)
		}
	}
	if n := a.count("GetTask"); n != 4 {
		t.Errorf("the agent was asked %d times, not 3 and once more", n)
	}
	if _, err := c.Send(ctx(t), hello()); err == nil {
		t.Error("a message that may have arrived was sent with success")
	}
	if n := a.count("SendMessage"); n != 1 {
		t.Errorf("the message was sent %d times", n)
	}
}
