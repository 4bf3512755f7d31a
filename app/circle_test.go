package app_test

import (
	"testing"

	"parley/app"
)

// Two Parleys whose workflows call each other, with retries in each, go round in a circle once: the one that sees it says so
// to the other, and nothing is tried again.
func TestCircle(t *testing.T) {
	t.Parallel()
	const file = `name: Round
steps:
  - id: a
    agent: other
    message: [{data: {workflow: round, inputs: {}}}]
    retry: {attempts: 3, backoff: 10ms}
`
	p, q := start(t, noDemo), start(t, noDemo)
	for from, to := range map[*program]*program{p: q, q: p} {
		verb[app.WorkflowInfo](from, "workflow.save", app.SaveWorkflow{ID: "round", Source: file, Expose: true})
		from.connect(&peer{url: to.ready.A2A}, "other", &app.Credential{Kind: "bearer", Secret: envToken})
	}
	r := p.call("", envToken, "SendMessage", `{"message":{"messageId":"w","role":"ROLE_USER","parts":[{"data":{"workflow":"round","inputs":{}}}]}}`)
	if r.result(t, "task.status.state") != "TASK_STATE_FAILED" || r.get("result.task.status.message.metadata") != `{"urn:parley:final":true}` {
		t.Errorf("%s", r.body)
	}
	for _, x := range []*program{p, q} {
		if n := x.call("", envToken, "ListTasks", `{}`).result(t, "totalSize"); n != "4" { // of the eight hops
			t.Errorf("%s tasks", n)
		}
	}
}
