package app_test

import (
	"strings"
	"testing"

	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"

	"parley/orchestrator"
)

// A caller's trace goes on to the agent behind the gateway; the calls of a workflow share the one of their task.
func TestTraceGoesOn(t *testing.T) {
	t.Parallel()
	p := start(t)
	outside := newPeer(t)
	p.connect(outside, "outside", nil)
	traces := func() []orchestrator.Trace {
		outside.mu.Lock()
		defer outside.mu.Unlock()
		var all []orchestrator.Trace
		for _, h := range outside.seen {
			all = append(all, orchestrator.ReadTrace(h.Get("Traceparent")))
		}
		outside.seen = nil
		return all
	}
	traces()
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	r := p.call("agents/outside", envToken, "SendMessage", say("m1", "hello"), "Traceparent", parent)
	if got := traces(); r.result(t, "message.parts.0.text") != "hello" || len(got) == 0 || got[0] != orchestrator.ReadTrace(parent) {
		t.Errorf("behind the gateway: %v", got)
	}
	over := metadata.AppendToOutgoingContext(bearing(t.Context(), envToken), "traceparent", parent)
	if _, err := lf.NewA2AServiceClient(p.rpc()).SendMessage(over, rpcSay("outside", "m2", "hello")); err != nil {
		t.Fatal(err)
	}
	if got := traces(); len(got) == 0 || got[0] != orchestrator.ReadTrace(parent) {
		t.Errorf("over gRPC: %v", got)
	}
	file := strings.ReplaceAll("name: T\\nsteps:\\n  - {id: a, agent: outside, message: one}\\n  - {id: b, needs: a, agent: outside, message: two}\\n", `"`, `\"`)
	r = p.call("", envToken, "SendMessage", `{"message":{"messageId":"w","role":"ROLE_USER","parts":[{"data":{"workflow":"`+file+`","inputs":{}}}]}}`)
	if s := r.get("result.task.status.state"); s != completed {
		t.Fatalf("the workflow: %s", r.body)
	}
	want := orchestrator.TraceOfRun(r.result(t, "task.id"))
	if got := traces(); len(got) < 2 || got[0] != want || got[1] != want {
		t.Errorf("in a workflow: %v, want %s", got, want)
	}
}
