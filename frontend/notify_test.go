package frontend

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/orchestrator"
)

// What needs the person is told on the desktop while they look elsewhere, can be answered there where nothing of it is left
// unsaid, and is taken back once it waits no more.
func TestNotify(t *testing.T) {
	t.Parallel()
	sh := &shell{told: make(chan string, 10), do: map[string]func(){}}
	w := newWorld(t, &Options{Shell: sh})
	ask := func(id string, kind orchestrator.AskKind, prompt string, change func(*orchestrator.Ask)) *orchestrator.Ask {
		a := &orchestrator.Ask{ID: id, RunID: "r-" + id, Principal: orchestrator.LocalPrincipal, AgentID: "atlas", Kind: kind, Prompt: prompt, State: orchestrator.AskOpen, Opened: clock}
		if change != nil {
			change(a)
		}
		w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{a}})
		w.st.hint(orchestrator.Change{AskID: id})
		return a
	}
	told := func(want string) {
		t.Helper()
		select {
		case got := <-sh.told:
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("nothing is told, want %s", want)
		}
	}
	labels := func(labels ...string) func(*orchestrator.Ask) {
		return func(a *orchestrator.Ask) {
			for _, l := range labels {
				a.Choices = append(a.Choices, orchestrator.Choice{ID: "id of " + l, Label: l})
			}
		}
	}
	closed := func(a *orchestrator.Ask) {
		t.Helper()
		a.State = orchestrator.AskAnswered
		w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{a}})
		w.st.hint(orchestrator.Change{AskID: a.ID})
		told("withdraw ask-" + a.ID)
	}
	// What is open at the start is told nobody, so that it is not clear which of these is the first to be.
	for i := 0; len(sh.told) == 0; i++ {
		ask(fmt.Sprint("start", i), orchestrator.AskInput, "?", nil)
		time.Sleep(time.Millisecond)
	}
	ask("ready", orchestrator.AskInput, "?", nil)
	for !strings.HasPrefix(<-sh.told, "ask-ready ") {
	}

	yes := ask("a1", orchestrator.AskApproval, "Shall it be sent?", labels("Go ahead", "Do not"))
	told("ask-a1 Shall it be sent? (Atlas Research) /inbox?ask=a1 [Look at it…] [Do not]")
	sh.do["Do not"]()
	if d := cmp.Diff(&orchestrator.Answer{Choice: "id of Do not"}, w.who.answers["a1"]); d != "" {
		t.Error(d)
	}
	closed(yes)

	ask("a2", orchestrator.AskInput, "Which harbour?", labels("Old", "New"))
	told("ask-a2 Which harbour? (Atlas Research) /inbox?ask=a2 [Old] [New]")
	w.who.mu.Lock()
	w.who.err = errors.New("answered elsewhere")
	w.who.mu.Unlock()
	sh.do["Old"]()
	told("show /inbox?ask=a2")
	w.who.mu.Lock()
	w.who.err = nil
	w.who.mu.Unlock()
	sh.do["Old"]()
	if d := cmp.Diff(&orchestrator.Answer{Text: "id of Old"}, w.who.answers["a2"]); d != "" {
		t.Error(d)
	}

	// What has more to say than fits is looked at first, whoever asks.
	ask("b1", orchestrator.AskApproval, "Shall it be sent?\n\nTo everybody.", labels("Go ahead", "Do not"))
	told("ask-b1 Shall it be sent? (Atlas Research) /inbox?ask=b1 [Look at it…]")
	ask("b2", orchestrator.AskApproval, "Shall **it** be sent?", labels("Go ahead", "Do not"))
	told("ask-b2 Shall it be sent? (Atlas Research) /inbox?ask=b2 [Look at it…]")
	ask("b3", orchestrator.AskChoice, "Which?", labels("1", "2", "3"))
	told("ask-b3 Which? (Atlas Research) /inbox?ask=b3 [1] [2] [3]")
	ask("b4", orchestrator.AskChoice, "Which?", labels("1", "2", "3", "4"))
	told("ask-b4 Which? (Atlas Research) /inbox?ask=b4 [Look at it…]")
	ask("b5", orchestrator.AskChoice, "Which?", labels("123456789012345678901234567890", "2"))
	told("ask-b5 Which? (Atlas Research) /inbox?ask=b5 [123456789012345678901234567890] [2]")
	ask("b6", orchestrator.AskChoice, "Which?", labels("1234567890123456789012345678901", "2"))
	told("ask-b6 Which? (Atlas Research) /inbox?ask=b6 [Look at it…]")
	who := ask("b7", orchestrator.AskInput, "Who?", nil)
	told("ask-b7 Who? (Atlas Research) /inbox?ask=b7 [Answer…]")
	ask("b8", orchestrator.AskInput, "Who?", func(a *orchestrator.Ask) { a.Schema = []byte(`{"type":"object"}`); labels("1")(a) })
	told("ask-b8 Who? (Atlas Research) /inbox?ask=b8 [Answer…]")
	ask("b9", orchestrator.AskSignIn, "Sign in", nil)
	told("ask-b9 Sign in (Atlas Research) /inbox?ask=b9 [Sign in…]")

	// Who looks at the window needs no notification, then or later.
	w.post("/looked", url.Values{"on": {"1"}}).want(t, 204)
	ask("c1", orchestrator.AskInput, "Seen?", nil)
	closed(who)
	w.post("/looked", url.Values{"on": {""}}).want(t, 204)
	ask("c2", orchestrator.AskInput, "Not seen?", nil)
	told("ask-c2 Not seen? (Atlas Research) /inbox?ask=c2 [Answer…]")

	newWorld(t, nil).post("/looked", url.Values{"on": {"1"}}).want(t, 404)
}
