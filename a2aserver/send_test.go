package a2aserver_test

import (
	"testing"
)

func TestBlockingSend(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})

	r := s.call("SendMessage", say("hello"))
	want(t, "echo", r.get("message.parts.0.text"), "echo: hello")
	want(t, "role", r.get("message.role"), "ROLE_AGENT")
	want(t, "task of a Message", r.get("message.taskId"), "")
	if r.get("message.contextId") == "" || r.get("message.messageId") == "" {
		t.Errorf("ids are missing: %s", r.Body)
	}

	r = s.call("SendMessage", say("do it", `"contextId":"c-1"`))
	want(t, "state", r.get("task.status.state"), "TASK_STATE_COMPLETED")
	want(t, "artifact", r.get("task.artifacts.0.parts.0.text"), "it")
	want(t, "context", r.get("task.contextId"), "c-1")
	want(t, "history", r.get("task.history.0.parts.0.text"), "do it")
}

func TestStream(t *testing.T) {
	t.Parallel()
	s := serve(t, config{})
	want(t, "NEW", kinds(s.stream("SendStreamingMessage", say("do it"))),
		"task submitted, statusUpdate working, artifactUpdate, statusUpdate completed")
	want(t, "MID", kinds(s.stream("message/stream", say("do it"))),
		"task submitted, status-update working, artifact-update, status-update completed final")
	want(t, "Message", kinds(s.stream("SendStreamingMessage", say("hello"))), "message")
	want(t, "ask", kinds(s.stream("SendStreamingMessage", say("ask"))), "task submitted, statusUpdate input_required")
}
