package workflow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley/orchestrator/engine"
)

// Any workflow that somebody may write can be printed and read again as the same, is valid for editors, and makes a plan
// that the engine takes.
func TestAnyWorkflow(t *testing.T) {
	t.Parallel()
	schema, err := compileSchema(Schema())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawWorkflow(t)
		src := drawn.YAML()
		w, ps := Parse("w.yaml", src)
		if ps != nil {
			t.Fatalf("%v\n%s", ps, src)
		}
		if d := cmp.Diff(drawn, w, ignoring); d != "" {
			t.Fatalf("%s\n%s", d, src)
		}
		r := &reader{src: src}
		b, err := json.Marshal(r.yaml().json())
		if err != nil {
			t.Fatal(err)
		}
		v, err := plain(b)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		given := map[string]json.RawMessage{}
		for i := range w.Inputs {
			if w.Inputs[i].Name == "needed" {
				given["needed"] = json.RawMessage(`"given"`)
			}
		}
		g, err := w.Graph(given, 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		again, err := w.Graph(given, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(g, again); d != "" {
			t.Fatalf("the same workflow made another plan:\n%s", d)
		}
		env := &Env{Inputs: map[string]any{"needed": "given"}, Round: 1}
		for i := range g.Nodes {
			if _, err := Resolve(g.Nodes[i].Spec, env); err != nil && !strings.Contains(err.Error(), "artifacts") {
				t.Fatalf("%v\n%s", err, src)
			}
		}
	})
}

func drawWorkflow(t *rapid.T) *Workflow {
	w := &Workflow{
		File: "w.yaml", Name: drawLine(t, "name"), On: []Trigger{OnManual, OnA2A},
		Timeout: rapid.SampledFrom([]time.Duration{0, 1500 * time.Millisecond, 36 * time.Hour}).Draw(t, "timeout"),
		Budget:  engine.Budget{Calls: rapid.SampledFrom([]int{0, 1, engine.MaxCalls}).Draw(t, "calls"), Cost: rapid.SampledFrom([]float64{0, 0.25, 3}).Draw(t, "cost")},
	}
	if rapid.Bool().Draw(t, "described") {
		w.Description = drawLine(t, "description")
	}
	if rapid.Bool().Draw(t, "on") {
		w.On = []Trigger{OnA2A}
	}
	for _, in := range []Input{
		{Name: "needed", Schema: json.RawMessage(`{"type":"string"}`)},
		{Name: "maybe", Optional: true, Schema: json.RawMessage(`{"items":{"type":["string","null"]},"maxItems":3,"type":"array"}`)},
		{Name: "has", Schema: json.RawMessage(`{"default":[1,2.5,"on",null],"description":"a: b # c"}`)},
	} {
		if rapid.Bool().Draw(t, "input") {
			w.Inputs = append(w.Inputs, in)
		}
	}
	d := drawing{t, w}
	for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
		w.Steps = append(w.Steps, d.step(i))
	}
	if rapid.Bool().Draw(t, "outputs") {
		w.Outputs = []Named{{"x", d.value(len(w.Steps)-1, false, 0)}}
	}
	return w
}

type drawing struct {
	*rapid.T
	w *Workflow
}

func (d drawing) yes(what string) bool { return rapid.IntRange(0, 2).Draw(d.T, what) == 0 }

func (d drawing) step(i int) Step {
	s := Step{ID: fmt.Sprintf("s%d", i)}
	for j := range i {
		if j == i-1 || d.yes("needs") { // each comes after all before it
			s.Needs = append(s.Needs, fmt.Sprintf("s%d", j))
		}
	}
	if i > 0 {
		s.Join = rapid.SampledFrom([]engine.Join{engine.JoinAll, engine.JoinAny, engine.JoinCollect, engine.JoinQuorum}).Draw(d.T, "join")
		if s.Join == engine.JoinQuorum {
			s.Quorum = rapid.IntRange(1, len(s.Needs)).Draw(d.T, "quorum")
		}
	}
	if d.yes("name") {
		s.Name = drawLine(d.T, "name")
	}
	if d.yes("if") {
		s.If = &Expr{Src: rapid.SampledFrom([]string{`true`, `run.name != "x: y # z"`, `not false and {a: {b: true}}.a.b`}).Draw(d.T, "if")}
	}
	if d.yes("outputs") {
		s.Outputs = []Named{{"a", d.value(i, false, 0)}, {"b", d.value(i-1, false, 0)}}
	}
	s.Timeout = rapid.SampledFrom([]time.Duration{0, time.Millisecond, MaxTimeout}).Draw(d.T, "timeout")
	s.OnError = rapid.SampledFrom([]engine.OnError{engine.OnErrorFail, engine.OnErrorSkip}).Draw(d.T, "on-error")
	switch rapid.IntRange(0, 3).Draw(d.T, "kind") {
	case 0:
		s.Ask = &Ask{Prompt: d.text(i-1, false)}
		switch rapid.IntRange(0, 2).Draw(d.T, "answer") {
		case 0:
			s.Ask.Choices = []string{"yes", "1", drawLine(d.T, "choice") + "!"}
		case 1:
			s.Ask.Schema = json.RawMessage(`{"properties":{"n":{"maximum":1e+30,"minimum":-2.5,"type":"integer"}},"type":"object"}`)
		}
		return s
	case 1:
		if len(s.Needs) == 0 && s.Outputs == nil {
			s.Outputs = []Named{{"x", d.value(-1, false, 0)}}
		}
		return s
	case 2:
		s.Use = "./part one.yaml"
	default:
		s.Agent = rapid.SampledFrom([]*Agent{{ID: "writer"}, {Skill: "write", Tags: []string{"a", "b c"}}, {Tags: []string{"42"}}}).Draw(d.T, "agent")
	}
	item := d.yes("for-each")
	if item {
		s.ForEach = &Value{List: []*Value{d.value(i-1, false, 1), {JSON: json.RawMessage("1.5")}}}
		if d.yes("expression") {
			s.ForEach = &Value{Text: &Text{Src: `${{ [1, "x"] }}`}}
		}
		s.Parallel = rapid.IntRange(0, 3).Draw(d.T, "parallel")
	}
	if d.yes("loop") {
		s.Loop = rapid.IntRange(1, engine.MaxRounds).Draw(d.T, "rounds")
		if d.yes("while") {
			s.While = &Expr{Src: "len(steps." + s.ID + ".text) > 3"}
		}
	}
	if d.yes("retry") {
		s.Attempts, s.Backoff = rapid.IntRange(1, engine.MaxAttempt).Draw(d.T, "attempts"), rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(d.T, "backoff")
	}
	if d.yes("approve") {
		s.Approve = d.text(i-1, false)
	}
	if s.Use != "" {
		if d.yes("with") {
			s.With = []Named{{"a", d.value(i-1, item, 0)}}
		}
		return s
	}
	s.Message = d.message(i-1, item)
	if d.yes("answer") {
		s.Answer = AnswerModel
	}
	if d.yes("fallback") {
		s.OnError, s.Fallback = engine.OnErrorFallback, &Agent{ID: "other"}
	}
	if d.yes("undo") {
		s.Undo = &Undo{Message: d.message(i, false)}
		if d.yes("by") {
			s.Undo.Agent = &Agent{Tags: []string{"undo"}}
		}
	}
	return s
}

func (d drawing) message(upTo int, item bool) []Part {
	if d.yes("words") {
		return []Part{{Text: d.text(upTo, item)}}
	}
	data := &Value{Map: []Named{{"data", d.value(upTo, item, 0)}}}
	parts := []Part{{Data: data, MediaType: "application/x-y"}, {Text: d.text(upTo, item), Filename: "a b.txt"}}
	if d.yes("url") {
		parts = append(parts, Part{URL: d.text(upTo, item)})
	}
	if upTo >= 0 && d.yes("artifacts") {
		parts = append(parts, Part{Artifacts: &Expr{Src: fmt.Sprintf("steps.s%d.artifacts", upTo)}})
	}
	return parts
}

// text may refer to the steps up to that one.
func (d drawing) text(upTo int, item bool) *Text {
	t := &Text{Src: drawText(d.T)}
	if upTo >= 0 && d.yes("refers") {
		t.Src += fmt.Sprintf("${{ steps.s%d.text }}", rapid.IntRange(0, upTo).Draw(d.T, "to"))
	}
	if item && d.yes("item") {
		t.Src += `${{ item }}, ${{ "}}" }}`
	}
	if strings.TrimSpace(t.Src) == "" {
		t.Src = "x"
	}
	return t
}

func (d drawing) value(upTo int, item bool, depth int) *Value {
	switch rapid.IntRange(0, 6).Draw(d.T, "value") {
	case 0:
		return &Value{JSON: json.RawMessage(rapid.SampledFrom([]string{"true", "false", "null", "0", "-3", "12.5"}).Draw(d.T, "json"))}
	case 1:
		v := &Value{List: []*Value{}}
		for range rapid.IntRange(0, max(0, 3-depth)).Draw(d.T, "length") {
			v.List = append(v.List, d.value(upTo, item, depth+1))
		}
		return v
	case 2:
		v := &Value{Map: []Named{}}
		for i := range rapid.IntRange(0, max(0, 3-depth)).Draw(d.T, "length") {
			v.Map = append(v.Map, Named{fmt.Sprint(i, drawLine(d.T, "key")), d.value(upTo, item, depth+1)})
		}
		return v
	case 3:
		return &Value{Text: &Text{Src: rapid.SampledFrom([]string{"", " ", "\n", "on", "~", "1_000", "0x1f", "2020-01-01", "- a", "? b", "!c", "&d", "*e", "%f", "@g", "`h`", "{i}", "[j]", "k: l", "m #n", "'o", "\"p", "null", "<<", "=", "---", "...", "|", ">", ".5", "1e3", "+1", "0o7", "T", "NaN"}).Draw(d.T, "odd")}}
	}
	return &Value{Text: d.text(upTo, item)}
}

// drawText draws words of several lines, without marks of expressions.
func drawText(t *rapid.T) string {
	s := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune("ab: #-'\"\\\n\t {}[],&*!|>%@`é😀\u00a0\u2028\ufeff~")), 0, 30, -1),
		rapid.Map(rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,5}( [a-z:]{1,5}){0,3}`), 1, 4), func(l []string) string { return strings.Join(l, "\n") + "\n" }),
	).Draw(t, "text")
	return strings.ReplaceAll(s, "${{", "")
}

func drawLine(t *rapid.T, what string) string {
	return rapid.OneOf(
		rapid.StringMatching(`[A-Za-z][A-Za-z0-9 _.-]{0,10}[a-z]`),
		rapid.StringOfN(rapid.SampledFrom([]rune("ab: #-'\"\\é{}[],&*!|>%@`")), 0, 10, -1).Filter(func(s string) bool { return strings.TrimSpace(s) != "" }),
	).Draw(t, what)
}
