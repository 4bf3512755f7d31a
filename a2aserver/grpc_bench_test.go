package a2aserver_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"parley/a2a"
)

// BenchmarkBindings sends the same message over JSON-RPC and over gRPC, on loopback, from the clients that both have: the
// standard library's and the SDK's generated one.
func BenchmarkBindings(b *testing.B) {
	var n atomic.Int64
	b.Run("JSON-RPC", func(b *testing.B) {
		s := serve(b, config{})
		t := &http.Transport{MaxIdleConnsPerHost: 64}
		defer t.CloseIdleConnections()
		c := &http.Client{Transport: t}
		b.ReportAllocs()
		b.SetParallelism(4)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-%d","role":"ROLE_USER","parts":[{"text":"do it"}]}}}`, n.Add(1))
				r, err := c.Post(s.URL, "application/json", strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				reply, err := io.ReadAll(r.Body)
				if r.Body.Close(); err != nil || !strings.Contains(string(reply), string(a2a.TaskStateCompleted)) {
					b.Fatalf("%v %s", err, reply)
				}
			}
		})
	})
	b.Run("gRPC", func(b *testing.B) {
		s := serveGRPC(b, config{}, nil)
		b.ReportAllocs()
		b.SetParallelism(4)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				r, err := s.lf.SendMessage(b.Context(), lfText(fmt.Sprintf("m-%d", n.Add(1)), "do it"))
				if err != nil || r.GetTask().GetStatus().GetState() != lf.TaskState_TASK_STATE_COMPLETED {
					b.Fatalf("%v %v", r, err)
				}
			}
		})
	})
}
