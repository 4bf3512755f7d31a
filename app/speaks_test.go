package app_test

import (
	"testing"

	"parley/a2a"
	"parley/app"
)

// An agent whose card is wrong is found out once: it is shown, and after a restart it is called right at once.
func TestVerdictIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir)
	outside := newPeer(t)
	p.connect(outside, "outside", nil)
	outside.ages()
	if r := p.call("agents/outside", envToken, "SendMessage", say("m1", "hello")); r.result(t, "message.parts.0.text") != "hello" {
		t.Fatalf("an agent of v0.3 with a card of v1.0: %s", r.body)
	}
	if outside.newer() == 0 {
		t.Fatal("the card was not believed at first")
	}
	show := func(p *program) app.AgentInfo { return verb[app.AgentInfo](p, "agents.show", app.Named{ID: "outside"}) }
	eventually(t, "what it speaks is kept", func() bool { return show(p).Speaks == "v0.3 over JSON-RPC" })
	if a := show(p); a.Speaks != "v0.3 over JSON-RPC" || a.Known != "answer" {
		t.Fatalf("it is said to speak %s, known by %q", a.Speaks, a.Known)
	}
	p.stop()

	p = startIn(t, dir)
	outside.ages()
	if r := p.call("agents/outside", envToken, "SendMessage", say("m2", "again")); r.result(t, "message.parts.0.text") != "again" {
		t.Fatalf("after a restart: %s", r.body)
	}
	if n := outside.newer(); n != 0 {
		t.Errorf("after a restart it was asked %d times in a version it does not speak", n)
	}
}

// What a person says of an agent is used as it is, until it is left to the card again.
func TestSpeakAsChosen(t *testing.T) {
	t.Parallel()
	p := start(t)
	outside := newPeer(t)
	p.connect(outside, "outside", nil)
	set := func(at *a2a.AgentInterface) app.AgentInfo {
		return verb[app.AgentInfo](p, "agents.speak", app.SpeakAgent{ID: "outside", At: at})
	}
	if a := set(&a2a.AgentInterface{URL: outside.url, Binding: a2a.BindingJSONRPC, Version: "0.3"}); a.Speaks != "v0.3 over JSON-RPC" || a.Known != "person" {
		t.Errorf("chosen: %+v", a)
	}
	outside.ages()
	if r := p.call("agents/outside", envToken, "SendMessage", say("m1", "hello")); r.result(t, "message.parts.0.text") != "hello" || outside.newer() != 0 {
		t.Errorf("in v0.3: %s, and %d times in v1.0", r.body, outside.newer())
	}
	set(&a2a.AgentInterface{URL: outside.url, Binding: a2a.BindingJSONRPC, Version: "1.0"})
	if r := p.call("agents/outside", envToken, "SendMessage", say("m2", "hello")); r.get("error.code") == "" && r.get("result.task.status.state") != "TASK_STATE_FAILED" {
		t.Errorf("in v1.0, which it does not speak: %s", r.body)
	}
	if a := set(nil); a.Known != "" || a.Speaks != "v1.0 over JSON-RPC" {
		t.Errorf("by its card: %+v", a)
	}
	if r := p.call("agents/outside", envToken, "SendMessage", say("m3", "hello")); r.result(t, "message.parts.0.text") != "hello" {
		t.Errorf("by its card: %s", r.body)
	}
}
