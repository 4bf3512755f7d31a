package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/app"
)

const offeredFile = `
name: Greetings
description: Greets somebody.
inputs:
  who: {type: string, minLength: 2}
  times: {type: integer, default: 1, maximum: 3}
steps:
  - {id: greet, agent: echo, message: "Hello ${{ inputs.who }}, ${{ inputs.times }}"}
outputs: {greeting: "${{ steps.greet.text }}"}
`

// An offered workflow is a skill of our own agent: named by its id it runs by data and by words, and asks for what is
// missing with a form; the card has the schema of its inputs.
func TestWorkflowIsSkill(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.token(app.TokenInfo{Name: "plain", Agents: []string{"echo"}})
	verb[app.WorkflowInfo](p, "workflow.save", app.SaveWorkflow{ID: "greetings", Source: offeredFile, Expose: true})

	public := p.do("GET", p.a2a(".well-known/agent-card.json"), "")
	if s := string(public.body); !strings.Contains(s, `"run-workflow"`) || strings.Contains(s, "greetings") {
		t.Errorf("the public card: %s", s)
	}
	card := p.call("", token, "GetExtendedAgentCard", `{}`)
	var c struct {
		Result struct {
			Skills       []struct{ ID, Description string }
			Capabilities struct {
				Extensions []struct {
					URI    string
					Params struct {
						InputSchemas map[string]struct{ Required []string } `json:"inputSchemas"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(card.body, &c); err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(c.Result.Skills, func(s struct{ ID, Description string }) bool {
		return s.ID == "workflow-greetings" && s.Description == "Greets somebody."
	})
	if x := c.Result.Capabilities.Extensions; !found || len(x) != 1 || x[0].URI != "urn:parley:workflows" ||
		!slices.Equal(x[0].Params.InputSchemas["workflow-greetings"].Required, []string{"who"}) {
		t.Errorf("the extended card: %s", card.body)
	}

	skill := `"metadata":{"skillId":"workflow-greetings"}`
	said := func(id, parts, more string) *reply {
		return p.call("", token, "SendMessage", fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[%s]%s}}`, id, parts, more))
	}
	greeting := func(r *reply) string {
		t.Helper()
		var v struct {
			Result struct {
				Task struct {
					Status    struct{ State string }
					Artifacts []struct {
						ArtifactID string `json:"artifactId"`
						Parts      []struct{ Data struct{ Greeting string } }
					}
				}
			}
		}
		if err := json.Unmarshal(r.body, &v); err != nil || v.Result.Task.Status.State != "TASK_STATE_COMPLETED" {
			t.Fatalf("%v: %s", err, r.body)
		}
		for _, a := range v.Result.Task.Artifacts {
			if a.ArtifactID == "outputs" {
				return a.Parts[0].Data.Greeting
			}
		}
		t.Fatalf("no outputs: %s", r.body)
		return ""
	}
	for i, c := range []struct{ parts, more, want string }{
		{`{"data":{"who":"Ada","times":2}}`, "," + skill, "Hello Ada, 2"},
		{`{"data":{"inputs":{"who":"Ada"}}}`, "," + skill, "Hello Ada, 1"},
		{`{"text":"Grace Hopper"}`, "," + skill, "Hello Grace Hopper, 1"},
		{`{"text":"Grace"},{"data":{"times":3}}`, "," + skill, "Hello Grace, 3"},
		{`{"data":{"workflow":"greetings","inputs":{"who":"Ada"}}}`, "", "Hello Ada, 1"},
		{`{"data":{"workflow":"greetings","inputs":{"who":"Ada"}}}`, `,"metadata":{"skillId":"run-workflow"}`, "Hello Ada, 1"},
	} {
		if got := greeting(said(fmt.Sprint("g", i), c.parts, c.more)); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.parts, c.more, got, c.want)
		}
	}
	// Received twice, it is one run.
	again := said("g0", `{"data":{"who":"Ada","times":2}}`, ","+skill)
	if runs := verb[app.WorkflowInfo](p, "workflow.show", app.Named{ID: "greetings"}).Runs; len(runs) != 5 && len(runs) != 6 || greeting(again) != "Hello Ada, 2" {
		t.Errorf("%d runs; again: %s", len(runs), again.body)
	}

	for parts, want := range map[string]string{
		`{"data":{"who":"A"}}`:                        "`who`: must have at least 2 characters",
		`{"data":{"who":"Ada","times":4}}`:            "`times`",
		`{"data":{"whom":"Ada"}}`:                     "there is no input `whom`",
		`{"data":{"inputs":[1]}}`:                     "`inputs` is no object",
		`{"text":"Ada"},{"data":{"inputs":{"no":1}}}`: "there is no input `no`",
	} {
		if r := said("x"+parts, parts, ","+skill); r.get("error.code") != "-32602" || !strings.Contains(r.get("error.message"), want) {
			t.Errorf("%s: %s", parts, r.body)
		}
	}
	if r := said("none", `{"text":"x"}`, `,"metadata":{"skillId":"workflow-none"}`); r.get("error.code") != "-32602" {
		t.Errorf("an unknown one: %s", r.body)
	}

	// What is missing is asked for, and a reply goes on from there: its stream does not begin with the question.
	r := said("m", `{"data":{"times":2}}`, ","+skill)
	if got := r.result(t, "task.status.state"); got != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatalf("missing: %s", r.body)
	}
	if s := string(r.body); !strings.Contains(s, `"required":["who"]`) || !strings.Contains(s, "Greetings still needs: who.") {
		t.Errorf("what is asked: %s", s)
	}
	id := r.result(t, "task.id")
	stream := p.call("", token, "SendStreamingMessage", fmt.Sprintf(`{"message":{"messageId":"w","taskId":%q,"role":"ROLE_USER","parts":[{"data":{"who":"Ada"}}]}}`, id))
	first, _, _ := strings.Cut(string(stream.body), "\n\n")
	if strings.Contains(first, "INPUT_REQUIRED") || !strings.Contains(string(stream.body), `"greeting":"Hello Ada, 2"`) {
		t.Errorf("the reply: %s", stream.body)
	}
	// In words, too, where one text is all that is asked for.
	id = said("m2", `{"data":{"times":3}}`, ","+skill).result(t, "task.id")
	words := func(id, text string) *reply {
		return p.call("", token, "SendMessage", fmt.Sprintf(`{"message":{"messageId":"%s%s","taskId":%q,"role":"ROLE_USER","parts":[{"text":%q}]}}`, id, text, id, text))
	}
	if r := words(id, "B"); r.get("error.code") != "-32602" {
		t.Errorf("too short: %s", r.body)
	}
	if got := greeting(words(id, "Bob")); got != "Hello Bob, 3" {
		t.Errorf("in words: %q", got)
	}
}

// A file needs the scope, and names no agent that the token does not reach.
func TestWorkflowScope(t *testing.T) {
	t.Parallel()
	p := start(t)
	verb[app.WorkflowInfo](p, "workflow.save", app.SaveWorkflow{ID: "hidden", Source: strings.Replace(offeredFile, "Greetings", "Hidden", 1)})
	verb[app.WorkflowInfo](p, "workflow.save", app.SaveWorkflow{ID: "people", Source: "on: manual\n" + offeredFile})
	plain := p.token(app.TokenInfo{Name: "plain", Agents: []string{"echo"}})
	runs := p.token(app.TokenInfo{Name: "runs", Workflows: true})
	both := p.token(app.TokenInfo{Name: "both", Workflows: true, Agents: []string{"echo"}})
	reads := p.token(app.TokenInfo{Name: "reads", Workflows: true, Agents: []string{"*"}, ReadOnly: true})
	n := 0
	send := func(token string, ask any) *reply {
		n++
		b, err := json.Marshal(ask)
		if err != nil {
			t.Fatal(err)
		}
		return p.call("", token, "SendMessage", fmt.Sprintf(`{"message":{"messageId":"s%d","role":"ROLE_USER","parts":[{"data":%s}]}}`, n, b))
	}
	type ask struct {
		Workflow any            `json:"workflow"`
		Inputs   map[string]any `json:"inputs,omitempty"`
	}
	who := map[string]any{"who": "Ada"}
	for name, c := range map[string]struct {
		token string
		ask   ask
		want  string // of the error; "" = it is done
	}{
		"a file without the scope":       {plain, ask{offeredFile, who}, "lacks the scope"},
		"a file that names too much":     {runs, ask{offeredFile, who}, "there is no agent echo for this token"},
		"a file":                         {both, ask{offeredFile, who}, ""},
		"a file of the environment":      {envToken, ask{offeredFile, who}, ""},
		"a file as JSON":                 {both, ask{map[string]any{"name": "J", "steps": []any{map[string]any{"id": "a", "agent": "echo", "message": "x"}}}, nil}, ""},
		"a file with a token that reads": {reads, ask{offeredFile, who}, "may only read"},
		"a file with problems":           {both, ask{"name: X\nstep: []\n", nil}, "unknown key"},
		"a file without its inputs":      {both, ask{offeredFile, nil}, "`who` is needed"},
		"a hidden one without the scope": {plain, ask{"hidden", who}, "there is no workflow hidden"},
		"a hidden one":                   {both, ask{"hidden", who}, ""},
		"one that needs too much":        {runs, ask{"hidden", who}, "needs the agent echo, which this token does not reach"},
		"one for people":                 {both, ask{"people", who}, "only people start it"},
		"none":                           {both, ask{"none", who}, "there is no workflow none"},
		"nothing":                        {both, ask{"", nil}, "neither an id nor a file"},
	} {
		r := send(c.token, c.ask)
		switch {
		case c.want == "" && r.get("result.task.status.state") != "TASK_STATE_COMPLETED",
			c.want != "" && !strings.Contains(r.get("error.message"), c.want):
			t.Errorf("%s: %s", name, r.body)
		}
	}
	// Other data is a message like any other.
	r := p.call("", both, "SendMessage", `{"message":{"messageId":"o","role":"ROLE_USER","parts":[{"data":{"workflow":"x","and":1}}],"metadata":{"urn:parley:agent":"echo"}}}`)
	if r.get("error") != "" {
		t.Errorf("a message: %s", r.body)
	}
}

// The program's own workflows come once: one that was changed stays as it is, one that was removed stays away, and an id
// is given once.
func TestLibrary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir)
	ids := func() string {
		var all []string
		for _, w := range verb[[]app.WorkflowInfo](p, "workflow.list", struct{}{}) {
			if all = append(all, w.ID); len(w.Problems) > 0 && w.ID != "broken" && w.ID != "uses" {
				t.Errorf("%s: %v", w.ID, w.Problems)
			}
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	if got := ids(); got != "digest publish trip" {
		t.Fatalf("at first: %s", got)
	}
	verb[struct{}](p, "workflow.remove", app.Named{ID: "trip"})
	verb[app.WorkflowInfo](p, "workflow.save", app.SaveWorkflow{ID: "digest", Source: offeredFile})
	if a := verb[app.WorkflowInfo](p, "workflow.save", app.SaveWorkflow{Source: offeredFile}); a.ID != "greetings" {
		t.Errorf("id %s", a.ID)
	}
	if b := verb[app.WorkflowInfo](p, "workflow.save", app.SaveWorkflow{Source: offeredFile}); b.ID != "greetings-2" {
		t.Errorf("id %s", b.ID)
	}
	// Kept with its problems, which are told; without a name it is not.
	if b := verb[app.WorkflowInfo](p, "workflow.save", app.SaveWorkflow{ID: "broken", Source: "name: Broken\n"}); len(b.Problems) == 0 {
		t.Error("no problems")
	}
	u := verb[app.WorkflowInfo](p, "workflow.save", app.SaveWorkflow{ID: "uses", Source: "name: Uses\nsteps: [{id: a, use: ./away.yaml}]\n"})
	if len(u.Problems) != 1 || !strings.Contains(u.Problems[0].What, "there is no workflow `away`") {
		t.Errorf("problems %v", u.Problems)
	}
	for _, s := range []app.SaveWorkflow{
		{Source: "steps: []"},
		{ID: "No", Source: offeredFile},
		{ID: "x", Source: "on: manual\n" + offeredFile, Expose: true},
		{ID: "x", Source: "name: " + strings.Repeat("x", 300<<10)},
	} {
		if err := p.ctl.Call(t.Context(), "workflow.save", s, nil); err == nil {
			t.Errorf("kept: %.60q", s.Source)
		}
	}
	p.stop()
	p = startIn(t, dir)
	if got := ids(); got != "broken digest greetings greetings-2 publish uses" {
		t.Errorf("after the next start: %s", got)
	}
	if d := verb[app.WorkflowInfo](p, "workflow.show", app.Named{ID: "digest"}); d.Source != offeredFile || d.Demo {
		t.Errorf("the one that was changed: %+v", d)
	}
}

// A question of a workflow is listed with those of all runs, wherever it comes from, and closed by one answer.
func TestAsksOfWorkflows(t *testing.T) {
	t.Parallel()
	p := start(t)
	verb[app.WorkflowInfo](p, "workflow.save", app.SaveWorkflow{ID: "sure", Source: "name: Sure\nsteps: [{id: a, agent: echo, message: hi, approve: Sure?}]\n"})
	for range 2 {
		go p.ctl.Call(p.Context(), "workflow.run", app.RunWorkflow{Workflow: "Sure"}, nil)
	}
	var asks []app.AskInfo
	for end := time.Now().Add(20 * time.Second); len(asks) < 2; time.Sleep(5 * time.Millisecond) {
		if asks = verb[[]app.AskInfo](p, "asks.list", struct{}{}); time.Now().After(end) {
			t.Fatalf("asks: %v", asks)
		}
	}
	if asks[0].Prompt != "Sure?" || asks[0].Run == asks[1].Run {
		t.Errorf("asks: %+v", asks)
	}
	answer := func(id, text string) error {
		return p.ctl.Call(t.Context(), "answer", app.AnswerTo{Ask: id, Typed: text, Read: true}, nil)
	}
	if err := answer(asks[1].ID, "yes"); err != nil {
		t.Fatal(err)
	}
	if err := answer(asks[1].ID, "no"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a second answer: %v", err)
	}
	if err := answer("none", "yes"); err == nil || !strings.Contains(err.Error(), "There is no question none") {
		t.Errorf("an answer to nothing: %v", err)
	}
	left := verb[[]app.AskInfo](p, "asks.list", struct{}{})
	if len(left) != 1 || left[0].ID != asks[0].ID {
		t.Errorf("left: %+v", left)
	}
	if err := answer(asks[0].ID, "no"); err != nil {
		t.Fatal(err)
	}
}
