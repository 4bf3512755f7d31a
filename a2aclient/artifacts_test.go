package a2aclient_test

import (
	"bufio"
	"fmt"
	"testing"
	"time"

	"parley/a2a"
)

// An agent that makes very many artifacts costs what they are, not the square of it.
func TestManyArtifacts(t *testing.T) {
	t.Parallel()
	took := func(n int) time.Duration {
		a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": func(t *turn) {
			t.open()
			t.frames(task("WORKING"))
			w := bufio.NewWriter(t.ResponseWriter)
			for i := range n {
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", t.ID, chunk(fmt.Sprint("a", i), "x", false))
			}
			if w.Flush() == nil {
				t.frames(status("COMPLETED"))
			}
		}})
		began, got := time.Now(), 0
		for e, err := range a.client("1.0", nil).Stream(t.Context(), hello()) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.(*a2a.ArtifactUpdate); ok {
				got++
			}
		}
		if got != n {
			t.Errorf("%d artifacts, of %d", got, n)
		}
		return time.Since(began)
	}
	if few, many := took(5000), took(50_000); many > 15*few+time.Second {
		t.Errorf("5,000 took %v, 50,000 took %v", few, many)
	}
}
