package planner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/planner"
	"parley/orchestrator/planner/completions"
	"parley/orchestrator/planner/modeltest"
)

var update = flag.Bool("update", false, "write the golden requests")

func newModel(t *testing.T, e *modeltest.Endpoint, o *planner.ModelOptions) *planner.Model {
	t.Helper()
	c, err := completions.New(e.URL, http.DefaultClient, &completions.Options{
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	return planner.NewModel(c, "small", o)
}

func agent(id, name, description string) *orchestrator.Agent {
	return &orchestrator.Agent{ID: id, Name: name, Trust: orchestrator.TrustApproved, Card: &a2a.AgentCard{Name: name, Description: description}}
}

// brief is a request at its begin, with three agents.
func brief() *planner.Brief {
	travel := agent("travel", "Travel desk", "Finds trains and hotels.")
	travel.Card.Skills = []a2a.AgentSkill{{ID: "trains", Name: "Trains", Description: "Connections with prices", Examples: []string{"Paris to Lyon on Friday"}}}
	return &planner.Brief{
		RunID: "run", Left: 6,
		Request: []a2a.Part{
			{Kind: a2a.PartText, Text: "A weekend in Lyon for two: trains from Paris, and what the weather will be."},
			{Kind: a2a.PartRaw, Filename: "wishes.pdf", MediaType: "application/pdf"},
		},
		Agents: []*orchestrator.Agent{travel, agent("weather", "Weather", "Forecasts for ten days."), agent("writer", "Writer", "Writes texts.")},
	}
}

// asked is the brief when two agents were asked at once, and one did what it was asked.
func asked() *planner.Brief {
	b := brief()
	b.Left = 5
	b.Earlier = []planner.Turn{{Text: "We like cheese."}, {AgentID: "writer", Text: "Noted."}}
	b.Rounds = []planner.Round{{
		Decision: &planner.Decision{
			Why:      "Trains and weather are looked up.",
			Delegate: []planner.Delegation{{ID: "r1-1", Agent: "travel", Message: "Trains Paris-Lyon"}, {ID: "r1-2", Agent: "weather", Message: "Weather in Lyon"}},
		},
		Results: []planner.Result{
			{
				ID: "r1-1", AgentID: "travel", State: a2a.TaskStateCompleted, Text: "Friday 18:00, 45 EUR each.",
				Artifacts: []orchestrator.ArtifactData{{ArtifactID: "x/9 \"t\"", Name: "timetable.pdf", Parts: []orchestrator.PartInfo{{Kind: "raw", MediaType: "application/pdf", Size: 12345}}}},
				Data:      []json.RawMessage{json.RawMessage(`{"price":45}`)},
			},
			{ID: "r1-2", AgentID: "weather", State: a2a.TaskStateRejected, Text: "I know only Norway."},
		},
	}}
	b.Decline = map[string]string{"weather": "I know only Norway."}
	return b
}

// TestRequests compares what goes to a model, to the byte.
func TestRequests(t *testing.T) {
	t.Parallel()
	answered := asked()
	answered.Left = 1
	answered.Rounds = append(answered.Rounds, planner.Round{
		Decision: &planner.Decision{Ask: &planner.Question{Prompt: "Which class?", Choices: []orchestrator.Choice{{ID: "First", Label: "First"}, {ID: "Second", Label: "Second"}}}},
		Answer:   "Second",
	}, planner.Round{
		Decision: &planner.Decision{
			Why:      "The writer puts it together.",
			Delegate: []planner.Delegation{{ID: "r3-1", Agent: "writer", Message: "Write it up", Artifacts: []planner.ArtifactRef{{Delegation: "r1-1", Artifact: "x/9 \"t\""}}}},
		},
		Results: []planner.Result{{ID: "r3-1", AgentID: "writer", State: a2a.TaskStateFailed, Fault: &orchestrator.Fault{What: "The agent did not answer.", Raw: "EOF"}}},
	})
	none := brief()
	none.Agents, none.Rounds = nil, answered.Rounds[1:2]
	question := &planner.Question{AgentID: "travel", Prompt: "For how many people?\nAnd in which class?"}
	choice := &planner.Question{AgentID: "travel", Prompt: "Which class?", Choices: []orchestrator.Choice{{ID: "1", Label: "First"}, {ID: "2", Label: "Second"}}}
	form := &planner.Question{AgentID: "travel", Prompt: "Who travels?", Schema: json.RawMessage(`{"type":"object","properties":{"people":{"type":"integer"}}}`)}
	noTools := modeltest.Status(400, `{"error":{"message":"small does not support tools"}}`)
	for name, c := range map[string]struct {
		brief    *planner.Brief
		question *planner.Question
		script   []modeltest.Answer
	}{
		"begin":         {brief: brief(), script: []modeltest.Answer{modeltest.Finish("Done.")}},
		"results":       {brief: asked(), script: []modeltest.Answer{modeltest.Finish("Done.")}},
		"last":          {brief: answered, script: []modeltest.Answer{modeltest.Finish("Done.")}},
		"no-agents":     {brief: none, script: []modeltest.Answer{modeltest.Finish("Done.")}},
		"repair":        {brief: brief(), script: []modeltest.Answer{modeltest.Delegate("", [2]string{"nobody", "Hello"}), modeltest.Finish("Done.")}},
		"written":       {brief: answered, script: []modeltest.Answer{noTools, modeltest.Text(`{"finish":{"answer":"Done."}}`)}},
		"reply":         {brief: asked(), question: question, script: []modeltest.Answer{modeltest.Calls(modeltest.Call("leave_to_person", "{}"))}},
		"reply-choice":  {brief: asked(), question: choice, script: []modeltest.Answer{modeltest.Calls(modeltest.Call("leave_to_person", "{}"))}},
		"reply-form":    {brief: asked(), question: form, script: []modeltest.Answer{modeltest.Calls(modeltest.Call("leave_to_person", "{}"))}},
		"reply-written": {brief: asked(), question: question, script: []modeltest.Answer{noTools, modeltest.Text(`{"leave_to_person":{}}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := modeltest.New(t, c.script...)
			m := newModel(t, e, &planner.ModelOptions{Fits: func(_, _ json.RawMessage) error { return nil }})
			if c.question == nil {
				if d, err := m.Decide(t.Context(), c.brief); err != nil || d.Finish == nil || d.Fallback != nil {
					t.Fatalf("%+v, %v", d, err)
				}
			} else if a, err := m.Reply(t.Context(), c.brief, c.question); a != nil || err != nil {
				t.Fatalf("%+v, %v", a, err)
			}
			all := e.Asked()
			golden(t, name, all[len(all)-1].Body)
		})
	}
}

func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var got bytes.Buffer
	if err := json.Indent(&got, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	path := filepath.Join("testdata", "requests", name+".json")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("%s (write it anew with -update):\n%s", path, d)
	}
}

// TestDecisions reads what models that differ say.
func TestDecisions(t *testing.T) {
	t.Parallel()
	two := &planner.Decision{
		Why:      "Two things are looked up.",
		Delegate: []planner.Delegation{{ID: "r1-1", Agent: "travel", Message: "Trains"}, {ID: "r1-2", Agent: "weather", Message: "Weather"}},
	}
	one := &planner.Decision{Delegate: []planner.Delegation{{ID: "r1-1", Agent: "travel", Message: "Trains"}}}
	finish := &planner.Decision{Finish: &planner.Finish{Text: "It is **done**."}}
	call := modeltest.Call
	for name, c := range map[string]struct {
		brief  *planner.Brief
		answer modeltest.Answer
		want   *planner.Decision
	}{
		"two at once": {brief(), modeltest.Delegate("Two things\nare looked up.", [2]string{"travel", "Trains"}, [2]string{"weather", " Weather\n"}), two},
		"two calls": {brief(), modeltest.Calls(
			call("delegate", `{"why":"Two things are looked up.","tasks":[{"agent":"travel","message":"Trains"}]}`),
			call("delegate", `{"tasks":[{"agent":"weather","message":"Weather"}]}`)), two},
		"a list in a string":       {brief(), modeltest.Calls(call("delegate", `{"tasks":"[{\"agent\":\"travel\",\"message\":\"Trains\"}]"}`)), one},
		"no list":                  {brief(), modeltest.Calls(call("delegate", `{"tasks":{"agent":"travel","message":"Trains","artifacts":""}}`)), one},
		"one task alone":           {brief(), modeltest.Calls(call("delegate", `{"agent":"travel","message":"Trains"}`)), one},
		"a name for the id":        {brief(), modeltest.Delegate("", [2]string{"Travel Desk", "Trains"}), one},
		"a call in the text":       {brief(), modeltest.Text(`<tool_call>{"name": "delegate", "arguments": {"tasks": [{"agent": "travel", "message": "Trains"}]}}</tool_call>`), one},
		"a call in a block":        {brief(), modeltest.Text("<think>travel? {\"finish\":1}</think>\n```json\n{\"delegate\": {\"tasks\": [{\"agent\": \"travel\", \"message\": \"Trains\"}]}}\n```"), one},
		"a list of calls as text":  {brief(), modeltest.Text(`[{"name":"delegate","parameters":{"tasks":[{"agent":"travel","message":"Trains"}]}}]`), one},
		"arguments in a string":    {brief(), modeltest.Text(`{"function":{"name":"delegate","arguments":"{\"tasks\":[{\"agent\":\"travel\",\"message\":\"Trains\"}]}"}}`), one},
		"finish":                   {brief(), modeltest.Finish("It is **done**.\n"), finish},
		"words after results":      {asked(), modeltest.Text("hm</think>It is **done**."), finish},
		"words that hold a call":   {asked(), modeltest.Text(`The agent said {"delegate":{"tasks":[{"agent":"writer","message":"x"}]}}.`), &planner.Decision{Finish: &planner.Finish{Text: `The agent said {"delegate":{"tasks":[{"agent":"writer","message":"x"}]}}.`}}},
		"a question":               {brief(), modeltest.Calls(call("ask_person", `{"question":"When?","choices":["Soon","Later","Soon"]}`)), &planner.Decision{Ask: &planner.Question{Prompt: "When?", Choices: []orchestrator.Choice{{ID: "Soon", Label: "Soon"}, {ID: "Later", Label: "Later"}}}}},
		"artifacts":                {asked(), modeltest.Calls(call("finish", `{"answer":"It is **done**.","artifacts":["r1-1.a1"," r1-1.a1 "]}`)), &planner.Decision{Finish: &planner.Finish{Text: "It is **done**.", Artifacts: []planner.ArtifactRef{{Delegation: "r1-1", Artifact: "x/9 \"t\""}}}}},
		"an artifact to an agent":  {asked(), modeltest.Calls(call("delegate", `{"tasks":[{"agent":"writer","message":"Read","artifacts":"r1-1.a1"}]}`)), &planner.Decision{Delegate: []planner.Delegation{{ID: "r2-1", Agent: "writer", Message: "Read", Artifacts: []planner.ArtifactRef{{Delegation: "r1-1", Artifact: "x/9 \"t\""}}}}}},
		"again what failed before": {failedOnce(), modeltest.Delegate("", [2]string{"travel", "Trains"}), &planner.Decision{Delegate: []planner.Delegation{{ID: "r2-1", Agent: "travel", Message: "Trains"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := modeltest.New(t, c.answer)
			d, err := newModel(t, e, nil).Decide(t.Context(), c.brief)
			if err != nil {
				t.Fatal(err)
			}
			want := *c.want
			want.Model, want.Usage = "small", &orchestrator.Usage{InputTokens: 11, OutputTokens: 7}
			if diff := cmp.Diff(&want, d); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func failedOnce() *planner.Brief {
	b := brief()
	b.Rounds = []planner.Round{{
		Decision: &planner.Decision{Delegate: []planner.Delegation{{ID: "r1-1", Agent: "travel", Message: "Trains"}}},
		Results:  []planner.Result{{ID: "r1-1", AgentID: "travel", State: a2a.TaskStateFailed}},
	}}
	return b
}

// TestRefused gives models that say what may not be one more chance, and then goes by the cards.
func TestRefused(t *testing.T) {
	t.Parallel()
	call := modeltest.Call
	tasks := func(n int) modeltest.Answer {
		var all [][2]string
		for i := range n {
			all = append(all, [2]string{"travel", strings.Repeat("x", i+1)})
		}
		return modeltest.Delegate("", all...)
	}
	long := func(n int) string { return strings.Repeat("m", n) }
	choices := func(n int) modeltest.Answer {
		var all []string
		for i := range n {
			all = append(all, strings.Repeat("c", i+1))
		}
		return modeltest.Calls(call("ask_person", map[string]any{"question": "Which?", "choices": all}))
	}
	last := asked()
	last.Left = 1
	sleeping := brief()
	sleeping.Agents[0].Trust = orchestrator.TrustReview
	failedTwice := failedOnce()
	failedTwice.Rounds = append(failedTwice.Rounds, failedTwice.Rounds[0])
	again := failedOnce()
	again.Rounds[0].Results[0].State = a2a.TaskStateCompleted
	cut := func(w http.ResponseWriter, r *modeltest.Request) {
		s := modeltest.Begin(w, r.Model)
		s.Piece(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"finish","arguments":"{\"answer\":\"It"}}]}`)
		s.End("length")
	}
	for name, c := range map[string]struct {
		brief  *planner.Brief
		answer modeltest.Answer
		ok     bool
		says   string // to the model
	}{
		"unknown agent":            {brief(), modeltest.Delegate("", [2]string{"nobody", "x"}), false, "The ids of the agents are: travel, weather, writer."},
		"agent under review":       {sleeping, modeltest.Delegate("", [2]string{"travel", "x"}), false, "There is no agent"},
		"agent that declined":      {asked(), modeltest.Delegate("", [2]string{"weather", "x"}), false, "declined"},
		"one of two is unknown":    {brief(), modeltest.Delegate("", [2]string{"travel", "x"}, [2]string{"evil", "y"}), false, "There is no agent"},
		"no tasks":                 {brief(), modeltest.Calls(call("delegate", `{"tasks":[]}`)), false, "tasks"},
		"no message":               {brief(), modeltest.Delegate("", [2]string{"travel", " \n"}), false, "has no message"},
		"message, one less":        {brief(), modeltest.Delegate("", [2]string{"travel", long(planner.MaxMessage - 1)}), true, ""},
		"message":                  {brief(), modeltest.Delegate("", [2]string{"travel", long(planner.MaxMessage)}), true, ""},
		"message, one more":        {brief(), modeltest.Delegate("", [2]string{"travel", long(planner.MaxMessage + 1)}), false, "at most 16384"},
		"tasks, one less":          {brief(), tasks(planner.MaxDelegations - 1), true, ""},
		"tasks":                    {brief(), tasks(planner.MaxDelegations), true, ""},
		"tasks, one more":          {brief(), tasks(planner.MaxDelegations + 1), false, "more than 8 tasks"},
		"the same twice":           {brief(), modeltest.Delegate("", [2]string{"travel", "x"}, [2]string{"travel", "x"}), false, "twice"},
		"done before":              {again, modeltest.Delegate("", [2]string{"travel", "Trains"}), false, "before"},
		"failed at twice":          {failedTwice, modeltest.Delegate("", [2]string{"travel", "Trains"}), false, "before"},
		"unknown artifact":         {asked(), modeltest.Calls(call("finish", `{"answer":"x","artifacts":["r9-9.a1"]}`)), false, "There are: r1-1.a1"},
		"artifact by its own name": {asked(), modeltest.Calls(call("finish", `{"answer":"x","artifacts":["timetable.pdf"]}`)), false, "There are: r1-1.a1"},
		"no artifacts yet":         {brief(), modeltest.Calls(call("finish", `{"answer":"x","artifacts":["a"]}`)), false, "none yet"},
		"unknown tool":             {brief(), modeltest.Calls(call("shell", `{"command":"rm"}`)), false, "There is no tool"},
		"two tools":                {asked(), modeltest.Calls(call("finish", `{"answer":"x"}`), call("delegate", `{"tasks":[{"agent":"travel","message":"x"}]}`)), false, "Call only one"},
		"finished twice":           {asked(), modeltest.Calls(call("finish", `{"answer":"x"}`), call("finish", `{"answer":"y"}`)), false, "Call only one"},
		"no JSON":                  {brief(), modeltest.Calls(call("delegate", `{"tasks": [`)), false, "not the JSON"},
		"another JSON":             {brief(), modeltest.Calls(call("delegate", `{"tasks": [7]}`)), false, "not the JSON"},
		"cut off":                  {brief(), cut, false, "cut off"},
		"words":                    {brief(), modeltest.Text("Hello! How can I help?"), false, "No tool was called"},
		"nothing":                  {brief(), modeltest.Text(" "), false, "No tool was called"},
		"no answer":                {brief(), modeltest.Finish(" "), false, "needs an"},
		"answer":                   {brief(), modeltest.Finish(long(planner.MaxFinish)), true, ""},
		"answer, one more":         {brief(), modeltest.Finish(long(planner.MaxFinish + 1)), false, "at most 65536"},
		"no question":              {brief(), modeltest.Calls(call("ask_person", `{}`)), false, "needs a"},
		"question":                 {brief(), modeltest.Calls(call("ask_person", map[string]string{"question": long(planner.MaxQuestion)})), true, ""},
		"question, one more":       {brief(), modeltest.Calls(call("ask_person", map[string]string{"question": long(planner.MaxQuestion + 1)})), false, "at most 2000"},
		"choices":                  {brief(), choices(planner.MaxChoices), true, ""},
		"choices, one more":        {brief(), choices(planner.MaxChoices + 1), false, "at most 10"},
		"choice too long":          {brief(), modeltest.Calls(call("ask_person", map[string]any{"question": "?", "choices": []string{long(planner.MaxChoice + 1)}})), false, "1 to 200"},
		"more at the last":         {last, modeltest.Delegate("", [2]string{"travel", "x"}), false, "Call finish"},
		"a question at the last":   {last, modeltest.Calls(call("ask_person", `{"question":"?"}`)), false, "Call finish"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := []modeltest.Answer{c.answer}
			if !c.ok {
				script = append(script, c.answer)
			}
			e := modeltest.New(t, script...)
			m := newModel(t, e, nil)
			d, err := m.Decide(t.Context(), c.brief)
			if c.ok {
				if err != nil || d.Fallback != nil || m.Fault() != nil {
					t.Errorf("%+v, %v", d, err)
				}
				return
			}
			var f *orchestrator.Fault
			switch {
			case errors.As(err, &f): // the cards have no way on either
				if f.Raw == "" {
					t.Errorf("%+v does not say what the model did", f)
				}
			case err != nil || d.Fallback == nil || d.Fallback.Kind != "model-answer" || d.Model != "":
				t.Fatalf("%+v, %v", d, err)
			}
			if m.Fault() == nil {
				t.Error("nothing is said of the fault afterwards")
			}
			all := e.Asked()
			if len(all) != 2 || !strings.Contains(all[1].Last(), c.says) {
				t.Errorf("asked %d times, at last: %s", len(all), all[len(all)-1].Last())
			}
		})
	}
}

// TestRepaired takes the second answer.
func TestRepaired(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]modeltest.Answer{
		"wrong":                       modeltest.Delegate("", [2]string{"nobody", "x"}),
		"words":                       modeltest.Text("Let me think about it."),
		"what the server cannot read": modeltest.Status(400, `{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := modeltest.New(t, first, modeltest.Delegate("", [2]string{"travel", "Trains"}))
			d, err := newModel(t, e, nil).Decide(t.Context(), brief())
			if err != nil || d.Fallback != nil || len(d.Delegate) != 1 || d.Delegate[0].Agent != "travel" {
				t.Errorf("%+v, %v", d, err)
			}
			if name != "what the server cannot read" && d.Usage.InputTokens != 22 {
				t.Errorf("usage %+v, want that of both", d.Usage)
			}
		})
	}
}

// TestFallback goes by the cards when the model cannot be asked.
func TestFallback(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script []modeltest.Answer
		kind   string
	}{
		"key":    {[]modeltest.Answer{modeltest.Status(401, "")}, "model-key"},
		"model":  {[]modeltest.Answer{modeltest.Status(404, `{"error":"model \"small\" not found"}`)}, "model-no-model"},
		"rate":   {[]modeltest.Answer{modeltest.Status(429, "", "Retry-After", "3600")}, "model-rate"},
		"server": {slices.Repeat([]modeltest.Answer{modeltest.Status(500, "")}, 4), "model-failed"},
		"page":   {[]modeltest.Answer{modeltest.Raw("text/html", "<p>Hello")}, "model-garbage"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := modeltest.New(t, c.script...)
			m := newModel(t, e, nil)
			b := brief()
			b.Request[0].Text = "Travel desk, trains from Paris to Lyon, please"
			d, err := m.Decide(t.Context(), b)
			if err != nil || d.Fallback == nil || d.Fallback.Kind != c.kind || len(d.Delegate) != 1 || d.Delegate[0].Agent != "travel" || d.Delegate[0].Message != b.Request[0].Text {
				t.Fatalf("%+v, %v", d, err)
			}
			if m.Fault() == nil || m.Fault().Kind != c.kind {
				t.Errorf("the fault is %+v", m.Fault())
			}
			e.Next(modeltest.Finish("Done."))
			if d, err := m.Decide(t.Context(), b); err != nil || d.Finish == nil || m.Fault() != nil {
				t.Errorf("when it is well again: %+v, %v, %v", d, err, m.Fault())
			}
		})
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	e := modeltest.New(t, func(_ http.ResponseWriter, r *modeltest.Request) {
		cancel()
		<-r.Gone
	})
	if d, err := newModel(t, e, nil).Decide(ctx, brief()); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	e := modeltest.New(t, func(_ http.ResponseWriter, r *modeltest.Request) { <-r.Gone })
	d, err := newModel(t, e, &planner.ModelOptions{Time: 100 * time.Millisecond}).Decide(t.Context(), brief())
	if err != nil || d.Fallback == nil || d.Fallback.Kind != "model-timeout" {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestShortens says less when it is too much, and gives up when the least is.
func TestShortens(t *testing.T) {
	t.Parallel()
	tooLong := modeltest.Status(400, `{"error":{"message":"too many tokens","code":"context_length_exceeded"}}`)
	b := asked()
	b.Rounds[0].Results[0].Text = "Begin. " + strings.Repeat("train ", 20_000) + "The end."
	e := modeltest.New(t, tooLong, tooLong, modeltest.Finish("Done."), tooLong, tooLong, tooLong, tooLong)
	m := newModel(t, e, nil)
	if d, err := m.Decide(t.Context(), b); err != nil || d.Fallback != nil || d.Finish.Text != "Done." {
		t.Fatalf("%+v, %v", d, err)
	}
	all := e.Asked()
	for i, r := range all {
		if i > 0 && len(r.Body) >= len(all[i-1].Body)*3/4 {
			t.Errorf("request %d has %d bytes after %d", i, len(r.Body), len(all[i-1].Body))
		}
		for _, want := range []string{"| Begin. train", "The end.", "characters are left out", "A weekend in Lyon"} {
			if !strings.Contains(r.All(), want) {
				t.Errorf("request %d does not say %q", i, want)
			}
		}
	}
	d, err := m.Decide(t.Context(), b)
	if err != nil || d.Fallback == nil || d.Fallback.Kind != "model-too-long" || d.Finish == nil || !strings.HasPrefix(d.Finish.Text, "Begin. ") {
		t.Errorf("%v", err)
	}
}

// TestWithoutTools has the tools called in writing, and remembers it.
func TestWithoutTools(t *testing.T) {
	t.Parallel()
	e := modeltest.New(t,
		modeltest.Status(400, `{"error":{"message":"small does not support tools"}}`),
		modeltest.Text("Sure! Here is the plan:\n\n{\"delegate\": {\"tasks\": [{\"agent\": \"travel\", \"message\": \"Trains\"}]}}\n\nI hope this helps."),
		modeltest.Text("It is done, I think."), modeltest.Text(`{"finish":{"answer":"Done."}}`))
	m := newModel(t, e, nil)
	if d, err := m.Decide(t.Context(), brief()); err != nil || d.Fallback != nil || len(d.Delegate) != 1 || d.Delegate[0].Message != "Trains" {
		t.Fatalf("%+v, %v", d, err)
	}
	if d, err := m.Decide(t.Context(), asked()); err != nil || d.Fallback != nil || d.Finish == nil || d.Finish.Text != "Done." {
		t.Fatalf("%+v, %v", d, err)
	}
	all := e.Asked()
	if !all[0].Offers("delegate") || slices.ContainsFunc(all[1:], func(r *modeltest.Request) bool { return len(r.Tools) > 0 }) {
		t.Error("tools are offered where there are none")
	}
}
