package planner_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/orchestrator"
	"parley/orchestrator/planner"
	"parley/orchestrator/planner/completions"
	"parley/orchestrator/planner/modeltest"
)

// TestReply answers an agent with what the person said, and with nothing else.
func TestReply(t *testing.T) {
	t.Parallel()
	answer := func(args string) modeltest.Answer { return modeltest.Calls(modeltest.Call("answer", args)) }
	open := &planner.Question{AgentID: "travel", Prompt: "For how many people?"}
	choice := &planner.Question{AgentID: "travel", Prompt: "Where to?", Choices: []orchestrator.Choice{{ID: "a", Label: "Lyon"}, {ID: "b", Label: "Nice"}}}
	form := &planner.Question{AgentID: "travel", Prompt: "Who?", Schema: json.RawMessage(`{"type":"object","required":["people"]}`)}
	for name, c := range map[string]struct {
		question *planner.Question
		script   []modeltest.Answer
		want     *planner.Answer
	}{
		"in words":              {open, []modeltest.Answer{answer(`{"quote":"A weekend in Lyon, for TWO","text":"Two"}`)}, &planner.Answer{Text: "Two"}},
		"said before":           {open, []modeltest.Answer{answer(`{"quote":"we like cheese","text":"Cheese"}`)}, &planner.Answer{Text: "Cheese"}},
		"a choice":              {choice, []modeltest.Answer{answer(`{"quote":"Lyon","text":"lyon."}`)}, &planner.Answer{Text: "a"}},
		"data":                  {form, []modeltest.Answer{answer(`{"quote":"for two","data":{"people":2}}`)}, &planner.Answer{Data: json.RawMessage(`{"people":2}`)}},
		"data in a string":      {form, []modeltest.Answer{answer(`{"quote":"for two","data":"{\"people\":2}"}`)}, &planner.Answer{Data: json.RawMessage(`{"people":2}`)}},
		"the second time":       {open, []modeltest.Answer{answer(`{"quote":"for four","text":"4"}`), answer(`{"quote":"for two","text":"2"}`)}, &planner.Answer{Text: "2"}},
		"unsure":                {open, []modeltest.Answer{modeltest.Calls(modeltest.Call("leave_to_person", `{"why":"?"}`))}, nil},
		"invented":              {open, []modeltest.Answer{answer(`{"quote":"for four people","text":"4"}`), answer(`{"quote":"for four people","text":"4"}`)}, nil},
		"what an agent said":    {open, []modeltest.Answer{answer(`{"quote":"Noted","text":"4"}`), answer(`{"quote":"45 EUR each","text":"4"}`)}, nil},
		"no quote":              {open, []modeltest.Answer{answer(`{"quote":"","text":"4"}`), answer(`{"text":"4"}`)}, nil},
		"none of the choices":   {choice, []modeltest.Answer{answer(`{"quote":"Lyon","text":"Paris"}`), answer(`{"quote":"Lyon","text":"c"}`)}, nil},
		"data that does not":    {form, []modeltest.Answer{answer(`{"quote":"for two","data":{}}`), answer(`{"quote":"for two","text":"2"}`)}, nil},
		"too long":              {open, []modeltest.Answer{answer(`{"quote":"for two","text":"` + strings.Repeat("x", planner.MaxReply+1) + `"}`), modeltest.Text("Two.")}, nil},
		"as long as it may be":  {open, []modeltest.Answer{answer(`{"quote":"for two","text":"` + strings.Repeat("x", planner.MaxReply) + `"}`)}, &planner.Answer{Text: strings.Repeat("x", planner.MaxReply)}},
		"a tool that is not":    {open, []modeltest.Answer{modeltest.Delegate("", [2]string{"travel", "x"}), modeltest.Delegate("", [2]string{"travel", "x"})}, nil},
		"the endpoint is down":  {open, []modeltest.Answer{modeltest.Status(401, "")}, nil},
		"a password":            {&planner.Question{Prompt: "What is your password?"}, nil, nil},
		"a key, in a form":      {&planner.Question{Prompt: "Please fill in.", Schema: json.RawMessage(`{"properties":{"apiKey":{"type":"string"}}}`)}, nil, nil},
		"a Passwort, in German": {&planner.Question{Prompt: "Wie lautet das Passwort?"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := modeltest.New(t, c.script...)
			m := newModel(t, e, &planner.ModelOptions{Fits: func(_, data json.RawMessage) error {
				if !strings.Contains(string(data), "people") {
					return errors.New("people is missing")
				}
				return nil
			}})
			a, err := m.Reply(t.Context(), asked(), c.question)
			if err != nil {
				t.Fatal(err)
			}
			if a != nil {
				a.Usage = nil
			}
			if d := cmp.Diff(c.want, a); d != "" {
				t.Error(d)
			}
			if len(e.Asked()) != len(c.script) {
				t.Errorf("asked %d times, want %d", len(e.Asked()), len(c.script))
			}
		})
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	good := modeltest.Delegate("", [2]string{"echo", "Say hello."})
	written := modeltest.Text(`{"delegate": {"tasks": [{"agent": "echo", "message": "Say hello."}]}}`)
	for name, c := range map[string]struct {
		model  string
		script []modeltest.Answer
		ok     bool
		says   string
		do     string
	}{
		"well":               {"small", []modeltest.Answer{good}, true, "calls tools", ""},
		"no tools":           {"small", []modeltest.Answer{modeltest.Status(400, `{"error":"small does not support tools"}`), written}, true, "It calls no tools here", "calls tools"},
		"tools not used":     {"small", []modeltest.Answer{modeltest.Text("Hello!"), written}, true, "It calls no tools here", "calls tools"},
		"a call in the text": {"small", []modeltest.Answer{written}, true, "It calls no tools here", "calls tools"},
		"no model":           {"tiny", []modeltest.Answer{modeltest.Status(404, `{"error":"model \"tiny\" not found"}`)}, false, "no model tiny", "large, small"},
		"no name":            {"", nil, false, "no model is chosen", "Choose"},
		"not up to it":       {"small", []modeltest.Answer{modeltest.Text("Hello!"), modeltest.Text("Hello!")}, false, "did not manage", "larger"},
		"the wrong agent":    {"small", []modeltest.Answer{modeltest.Delegate("", [2]string{"x", "y"})}, false, "did not manage", "larger"},
		"failing":            {"small", []modeltest.Answer{modeltest.Status(400, `{"error":"out of memory"}`)}, false, "refused the request", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := modeltest.New(t, c.script...)
			k, err := completions.New(e.URL, http.DefaultClient, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := planner.Probe(t.Context(), k, c.model)
			if got.OK != c.ok || !strings.Contains(got.What, c.says) || !strings.Contains(got.Do, c.do) || len(got.Models) != 2 {
				t.Errorf("%+v", got)
			}
			if got.Tools != (name == "well" || name == "the wrong agent") {
				t.Errorf("tools: %v", got.Tools)
			}
		})
	}
	t.Run("unreachable", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewServer(nil)
		s.Close()
		k, _ := completions.New(s.URL+"/v1", http.DefaultClient, nil)
		if got := planner.Probe(t.Context(), k, "small"); got.OK || !strings.Contains(got.What, "cannot be reached") || got.Do == "" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("key", func(t *testing.T) {
		t.Parallel()
		e := modeltest.New(t)
		e.Key("right")
		k, _ := completions.New(e.URL, http.DefaultClient, nil)
		if got := planner.Probe(t.Context(), k, "small"); got.OK || !strings.Contains(got.What, "does not accept the key") || strings.Contains(got.Raw, "right") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("no API", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewServer(http.NotFoundHandler())
		defer s.Close()
		k, _ := completions.New(s.URL, http.DefaultClient, nil)
		if got := planner.Probe(t.Context(), k, "small"); got.OK || !strings.Contains(got.What, "no OpenAI-compatible API") || !strings.Contains(got.Do, "/v1") {
			t.Errorf("%+v", got)
		}
	})
}
