package workflow

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const keptFile = `
name: Keep
inputs:
  topic: {type: string, title: "The topic", minLength: 2}
  people: {type: array, items: {type: string}, description: Who is told}
  words: {type: integer, default: 100}
  note: {type: string, required: false}
steps:
  - {id: a, agent: writer, message: "About ${{ inputs.topic }}", on-error: {fallback: echo}}
  - {id: b, needs: a, agent: {tags: [x]}, message: hello, undo: {agent: files, message: back}}
outputs:
  text: ${{ steps.a.text }}
`

func parsed(t *testing.T, src string) *Workflow {
	t.Helper()
	w, ps := Parse("keep.yaml", []byte(src))
	if ps != nil {
		t.Fatalf("%v", ps)
	}
	return w
}

func inputsOf(t *testing.T, s string) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMissing(t *testing.T) {
	t.Parallel()
	w := parsed(t, keptFile)
	for _, c := range []struct{ given, missing, fault string }{
		{`{}`, "topic people", ""},
		{`{"topic": "sea"}`, "people", ""},
		{`{"topic": "sea", "people": []}`, "", ""},
		{`{"words": "many"}`, "topic people", "`words`"},
		{`{"tpic": "sea"}`, "topic people", "there is no input `tpic`"},
		{`{"topic": "s", "people": ["a"]}`, "", "`topic`"},
	} {
		names, err := w.Missing(inputsOf(t, c.given))
		if got := strings.Join(names, " "); got != c.missing {
			t.Errorf("%s: missing %q, want %q", c.given, got, c.missing)
		}
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: error %v, want one with %q", c.given, err, c.fault)
		}
	}
}

// What asks for inputs is a workflow like any other; what was given is never read as a part of it.
func TestAsking(t *testing.T) {
	t.Parallel()
	w := parsed(t, keptFile)
	given := inputsOf(t, `{"topic": "${{ steps.run.text }}", "words": 7}`)
	src := w.Asking("keep", given, []string{"people"})
	if strings.Contains(string(src), "steps.run.text }}\"}") || strings.Contains(string(src), `"topic":"${{ steps.run.text`) {
		t.Errorf("what was given stands in the file: %s", src)
	}
	a := parsed(t, string(src))
	if _, err := a.Graph(given, 0); err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Required   []string
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal(a.Steps[0].Ask.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(schema.Required, []string{"people"}) || len(schema.Properties) != 1 {
		t.Errorf("the form asks for %v of %v", schema.Required, schema.Properties)
	}
	if got := a.Steps[0].Ask.Prompt.Src; got != "Keep still needs: people (Who is told)." {
		t.Errorf("prompt %q", got)
	}
	spec := func(i int) json.RawMessage {
		g, err := a.Graph(given, 0)
		if err != nil {
			t.Fatal(err)
		}
		return g.Nodes[i].Spec
	}
	inputs, err := a.Given(given)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Resolve(spec(1), &Env{Inputs: inputs, Steps: map[string]*Result{
		"inputs": {State: "done", Data: map[string]any{"people": []any{"Ada"}}, Text: "x"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(c.Items[0].With)
	if want := `{"people":["Ada"],"topic":"${{ steps.run.text }}","words":7}`; string(got) != want || c.Items[0].Use != "keep" {
		t.Errorf("it runs %s with %s, want %s", c.Items[0].Use, got, want)
	}
	// One that is text can be answered in words.
	a = parsed(t, string(w.Asking("keep", nil, []string{"topic"})))
	c, err = Resolve(spec2(t, a), &Env{Steps: map[string]*Result{"inputs": {State: "done", Text: "the sea"}}})
	if err != nil {
		t.Fatal(err)
	}
	if string(c.Items[0].With["topic"]) != `"the sea"` {
		t.Errorf("with %s", c.Items[0].With["topic"])
	}
}

func spec2(t *testing.T, w *Workflow) json.RawMessage {
	t.Helper()
	g, err := w.Graph(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return g.Nodes[1].Spec
}

func TestTyped(t *testing.T) {
	t.Parallel()
	w := parsed(t, keptFile)
	for _, c := range []struct{ name, text, want string }{
		{"topic", "12", `"12"`},
		{"topic", "the sea", `"the sea"`},
		{"people", "Ada, Bob ,", `["Ada","Bob"]`},
		{"people", `["Ada"]`, `["Ada"]`},
		{"words", "12", "12"},
		{"other", "12", "12"},
		{"other", "x", `"x"`},
		{"words", "many", ""},
	} {
		got, err := w.Typed(c.name, c.text)
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("Typed(%q, %q) = %s, %v; want %s", c.name, c.text, got, err, c.want)
		}
	}
	if got := w.FreeInput(nil); got != "topic" {
		t.Errorf("free input %q", got)
	}
	if got := w.FreeInput(inputsOf(t, `{"topic":"x"}`)); got != "note" {
		t.Errorf("free input %q", got)
	}
	if got := w.FreeInput(inputsOf(t, `{"topic":"x","note":"y"}`)); got != "" {
		t.Errorf("free input %q", got)
	}
}

func TestAgentsAndKeptID(t *testing.T) {
	t.Parallel()
	if got := parsed(t, keptFile).Agents(); !slices.Equal(got, []string{"writer", "echo", "files"}) {
		t.Errorf("agents %v", got)
	}
	for use, want := range map[string]string{"trip": "trip", "./trip.yaml": "trip", "../a/b.yml": "b"} {
		if got := KeptID(use); got != want {
			t.Errorf("KeptID(%q) = %q", use, got)
		}
	}
}

// Read shows what it can of a file with problems.
func TestRead(t *testing.T) {
	t.Parallel()
	w, ps := Read("x.yaml", []byte("name: Broken\nsteps:\n  - id: a\n    agent: writer\n"))
	if len(ps) != 1 || w.Name != "Broken" || len(w.Steps) != 1 || w.Steps[0].ID != "a" {
		t.Errorf("%+v, %v", w, ps)
	}
	if w, ps := Read("x.yaml", []byte("\t{")); w == nil || len(ps) == 0 {
		t.Errorf("%+v, %v", w, ps)
	}
}

func TestWorded(t *testing.T) {
	t.Parallel()
	one := `{"type":"object","properties":{"topic":{"type":"string","minLength":2}},"required":["topic"]}`
	two := `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`
	for _, c := range []struct{ schema, text, want string }{
		{one, "the sea", `{"topic":"the sea"}`},
		{one, "12", `{"topic":"12"}`},
		{one, `{"topic":"sea"}`, `{"topic":"sea"}`},
		{one, `{"topic":1}`, `{"topic":1}`},
		{one, "s", ""},
		{one, "  ", ""},
		{two, "x", ""},
		{two, "12", "12"}, // it does not fit, and whoever checks it says so
		{`{"type":"string"}`, "x", `"x"`},
		{`{"type":"integer"}`, "12", "12"},
	} {
		if got := Worded(json.RawMessage(c.schema), c.text); string(got) != c.want {
			t.Errorf("Worded(%s, %q) = %s, want %s", c.schema, c.text, got, c.want)
		}
	}
}
