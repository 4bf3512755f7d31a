package a2aclient_test

import (
	"bufio"
	"fmt"
	"iter"
	"testing"

	"parley/a2a"
)

// An agent may make very many artifacts, and each comes once.
func TestManyArtifacts(t *testing.T) {
	t.Parallel()
	const n = 10_000
	seen := map[string]bool{}
	for id := range manyArtifacts(t, n) {
		if seen[id] {
			t.Fatalf("%s came twice", id)
		}
		seen[id] = true
	}
	if len(seen) != n {
		t.Errorf("%d artifacts, of %d", len(seen), n)
	}
}

// What an artifact costs does not depend on how many there are: docs/performance.md.
func BenchmarkArtifact(b *testing.B) {
	for _, n := range []int{5000, 50_000} {
		b.Run(fmt.Sprint("of ", n), func(b *testing.B) {
			for b.Loop() {
				for range manyArtifacts(b, n) {
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/artifact")
		})
	}
}

// manyArtifacts has an agent make n artifacts in one task, and yields their ids as the client hears of them.
func manyArtifacts(t testing.TB, n int) iter.Seq[string] {
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
	return func(yield func(string) bool) {
		for e, err := range a.client("1.0", nil).Stream(t.Context(), hello()) {
			if err != nil {
				t.Fatal(err)
			}
			if u, ok := e.(*a2a.ArtifactUpdate); ok && !yield(u.Artifact.ID) {
				return
			}
		}
	}
}
