package frontend

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"parley/orchestrator"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	open := func(id string, kind orchestrator.AskKind, change func(*orchestrator.Ask)) {
		a := &orchestrator.Ask{ID: id, RunID: "r1", ConversationID: "c1", Principal: orchestrator.LocalPrincipal, AgentID: "atlas", Kind: kind, Prompt: "Well?", State: orchestrator.AskOpen, Opened: clock}
		if change != nil {
			change(a)
		}
		w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{a}})
	}
	got := func(id string) *orchestrator.Answer {
		w.who.mu.Lock()
		defer w.who.mu.Unlock()
		return w.who.answers[id]
	}
	check := func(id string, want *orchestrator.Answer) {
		t.Helper()
		if d := cmp.Diff(want, got(id)); d != "" {
			t.Errorf("%s (-want +got):\n%s", id, d)
		}
	}
	open("words", orchestrator.AskInput, nil)
	w.form("/asks/words", map[string]string{"text": " the small one "}).want(t, http.StatusSeeOther)
	check("words", &orchestrator.Answer{Text: "the small one"})
	open("empty", orchestrator.AskInput, nil)
	w.form("/asks/empty", map[string]string{"text": " "}).want(t, 422, "Write an answer first")
	open("no", orchestrator.AskInput, nil)
	w.form("/asks/no", map[string]string{"decline": "1", "text": "x"}).want(t, http.StatusSeeOther)
	check("no", &orchestrator.Answer{Decline: true})

	choices := func(a *orchestrator.Ask) { a.Choices = []orchestrator.Choice{{ID: "a", Label: "A"}} }
	open("pick", orchestrator.AskChoice, choices)
	w.form("/asks/pick", map[string]string{"choice": "b", "script": "1"}).want(t, 400, "not one of the choices")
	w.form("/asks/pick", map[string]string{"choice": "a", "script": "1"}).want(t, 204)
	check("pick", &orchestrator.Answer{Choice: "a"})
	open("options", orchestrator.AskInput, choices)
	w.form("/asks/options", map[string]string{"choice": "a"}).want(t, 303)
	check("options", &orchestrator.Answer{Text: "a"})
	yesNo := func(a *orchestrator.Ask) {
		a.Choices = []orchestrator.Choice{{ID: "yes", Label: "Go ahead"}, {ID: "no", Label: "Do not"}}
	}
	open("approve", orchestrator.AskApproval, yesNo)
	card := byID(w.get("/inbox?ask=approve").doc, "ask-approve")
	if n := len(find(card, func(n *html.Node) bool { return n.Data == "button" })); n != 2 || len(find(card, func(n *html.Node) bool { return n.Data == "textarea" })) != 0 {
		t.Errorf("an approval offers %d buttons, not its two, or asks for words", n)
	}
	w.form("/asks/approve", map[string]string{"choice": "maybe", "script": "1"}).want(t, 400, "not one of the choices")
	w.form("/asks/approve", map[string]string{"choice": "yes"}).want(t, 303)
	check("approve", &orchestrator.Answer{Choice: "yes"})
	open("again", orchestrator.AskResend, nil)
	w.form("/asks/again", map[string]string{"choice": "again"}).want(t, 303)
	check("again", &orchestrator.Answer{Choice: "again"})
	open("sign", orchestrator.AskSignIn, nil)
	w.form("/asks/sign", map[string]string{"signedin": "1"}).want(t, 303)
	check("sign", &orchestrator.Answer{})

	schema := func(a *orchestrator.Ask) {
		a.Schema = json.RawMessage(`{"type":"object","required":["to","seats"],"properties":{"to":{"type":"string","minLength":2},"seats":{"type":"integer","maximum":9}}}`)
	}
	open("form", orchestrator.AskInput, schema)
	r := w.form("/asks/form", map[string]string{"d/to": "B", "d/seats": "12", "script": "1"})
	r.want(t, 422, "To", "Seats")
	if r.Header.Get("Parley-Replace") == "" || len(find(r.doc, func(n *html.Node) bool { return attr(n, "aria-invalid") == "true" })) != 2 {
		t.Errorf("both fields are wrong: %s", r.body)
	}
	if v := attr(find(r.doc, func(n *html.Node) bool { return attr(n, "name") == "d/seats" })[0], "value"); v != "12" {
		t.Errorf("what was typed is lost: %q", v)
	}
	w.form("/asks/form", map[string]string{"d/to": "Bergen", "d/seats": "2"}).want(t, 303)
	check("form", &orchestrator.Answer{Data: json.RawMessage(`{"to":"Bergen","seats":2}`)})

	open("closed", orchestrator.AskInput, func(a *orchestrator.Ask) { a.State = orchestrator.AskAnswered })
	w.form("/asks/closed", map[string]string{"text": "x", "script": "1"}).want(t, 409, "answered already")
	w.form("/asks/none", map[string]string{"text": "x"}).want(t, 404)

	open("race", orchestrator.AskInput, nil)
	w.who.fails(&orchestrator.Fault{Kind: "ask-closed", What: "This question is closed already."})
	w.form("/asks/race", map[string]string{"text": "x", "script": "1"}).want(t, 409, "closed already")
	w.who.fails(&orchestrator.Fault{Kind: "x", What: "The store is full."})
	w.form("/asks/race", map[string]string{"text": "kept", "script": "1"}).want(t, 422, "The store is full.", "kept")
}

func TestSignInLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{{ID: "q", AgentID: "atlas", Kind: orchestrator.AskSignIn, State: orchestrator.AskOpen, Links: []orchestrator.Link{
		{URL: "https://id.atlas.example/login?x=1"}, {URL: "http://id.atlas.example/"}, {URL: "javascript:alert(1)"}, {URL: "https://good.example@evil.example/"}, {URL: "file:///etc/passwd"},
	}}}})
	r := w.get("/asks/q/links/0").want(t, 200, "You are about to open id.atlas.example", "Atlas Research", "https://id.atlas.example/login?x=1", "Encrypted")
	if len(find(r.doc, func(n *html.Node) bool { return attr(n, "href") == "https://id.atlas.example/login?x=1" })) != 1 {
		t.Error("there is no link to go on")
	}
	w.get("/asks/q/links/1").want(t, 200, "Not encrypted")
	for _, n := range []string{"2", "3", "4"} {
		w.get("/asks/q/links/"+n).want(t, 422, "cannot be opened safely")
	}
	w.get("/asks/q/links/5").want(t, 404)
}

// A sign-in that was said too early is asked for again, with the way in; one that was done is not called unneeded.
func TestSignInWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ask := func(id string, state orchestrator.AskState, answer string) *orchestrator.Ask {
		return &orchestrator.Ask{
			ID: id, AgentID: "atlas", Principal: orchestrator.LocalPrincipal, Kind: orchestrator.AskSignIn, State: state, Answer: json.RawMessage(answer),
			Prompt: orchestrator.NotSignedIn + "\n\nThe door is locked.", Links: []orchestrator.Link{{URL: "https://id.atlas.example/"}}, Opened: clock, Closed: clock,
		}
	}
	w.write(&orchestrator.Batch{Asks: []*orchestrator.Ask{
		ask("early", orchestrator.AskOpen, ""), ask("done", orchestrator.AskGone, `"`+orchestrator.SignedIn+`"`), ask("moot", orchestrator.AskGone, ""),
	}})
	w.get("/inbox?ask=early").want(t, 200, "does not see yet that you have signed in", "The door is locked.", "Open sign-in page")
	w.get("/inbox?show=answered&ask=done").want(t, 200, "You signed in")
	w.get("/inbox?show=answered&ask=moot").want(t, 200, "No longer needed")
}

func TestAnswerWords(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"properties":{"depart":{"title":"Leave on"},"seat_row":{"type":"integer"}}}`)
	for answer, want := range map[string]string{
		`{"depart":"2027-03-01","seat_row":4,"meals":["soup","tea"],"window":true,"aisle":false}`: "Leave on: 2027-03-01, Seat row: 4, Meals: soup, tea, Window: Yes, Aisle: No",
		"Go ahead": "Go ahead", "": "", "{": "{", "{what}": "{what}", `{"a":1} and more`: `{"a":1} and more`, `{"a":{"b":1}}`: `A: {"b":1}`,
	} {
		if got := answerWords(t.Context(), answer, schema); got != want {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
}
