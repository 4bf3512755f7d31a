package demo

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"parley/a2a"
)

// A booking waits for a sign-in, is made once, and can be canceled by its reference; the vault gives a receipt of what it
// is sent.
func TestBookAndKeep(t *testing.T) {
	t.Parallel()
	base := serveDemo(t, Options{})
	signIn := func(agent, task, decision string) {
		t.Helper()
		resp, err := http.PostForm(base+"/"+agent+"/sign-in/"+task, url.Values{"decision": {decision}})
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("sign in: %v, %v", resp, err)
		}
		resp.Body.Close()
	}
	book := `{"message":{"messageId":"%s","role":"ROLE_USER","parts":[{"text":"Book this."},{"data":{"book":[{"from":"Oslo","to":"Bergen"}]}}]}}`
	for _, c := range []struct {
		agent, body, decision string
		state                 a2a.TaskState
		says                  string
	}{
		{"travel", fmt.Sprintf(book, "b1"), "yes", a2a.TaskStateCompleted, "Booked from Oslo to Bergen and back. The reference is "},
		{"travel", fmt.Sprintf(book, "b2"), "no", a2a.TaskStateRejected, "nothing was booked"},
		{
			"vault", `{"message":{"messageId":"k","role":"ROLE_USER","parts":[{"text":"Keep this."},{"text":"# Be"},{"text":"es\n\nText"},{"raw":"eA==","filename":"x.bin"}]}}`, "yes", a2a.TaskStateCompleted,
			"Kept in the vault: Bees (12 bytes, seal 320311a2) and 1 more.",
		},
	} {
		tk := task(t, base+"/"+c.agent, "SendMessage", c.body)
		if tk.Status.State != a2a.TaskStateAuthRequired {
			t.Fatalf("%s: %s", c.agent, tk.Status.State)
		}
		signIn(c.agent, tk.ID, c.decision)
		for !tk.Status.State.Terminal() {
			tk = task(t, base+"/"+c.agent, "GetTask", fmt.Sprintf(`{"id":%q}`, tk.ID))
			if t.Context().Err() != nil {
				t.Fatal("it does not end")
			}
		}
		if said := a2a.Text(tk.Status.Message.Parts); tk.Status.State != c.state || !strings.Contains(said, c.says) {
			t.Errorf("%s: %s, %q; want %s, %q", c.agent, tk.Status.State, said, c.state, c.says)
		}
	}
	tk := task(t, base+"/travel", "SendMessage", text("Please cancel the booking 7f3a2c.", ""))
	if said := a2a.Text(tk.Status.Message.Parts); said != "The booking 7F3A2C is canceled." {
		t.Errorf("it says %q", said)
	}
}
