package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// specs returns the content of the steps of a workflow by id, that of the whole under "".
func specs(t testing.TB, src string, inputs map[string]json.RawMessage) (map[string]json.RawMessage, *Env) {
	t.Helper()
	w := want(t, src)
	g, err := w.Graph(inputs, 0)
	if err != nil {
		t.Fatal(err)
	}
	given, err := w.Given(inputs)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]json.RawMessage{"": g.Spec}
	for _, n := range g.Nodes {
		m[n.ID] = n.Spec
	}
	return m, &Env{Inputs: given, Steps: map[string]*Result{}, Round: 1, Run: Run{ID: "r1", Name: w.Name, Began: time.Unix(0, 0)}}
}

func TestResolveEverything(t *testing.T) {
	t.Parallel()
	specs, env := specs(t, everything, map[string]json.RawMessage{"topic": json.RawMessage(`"tea"`)})
	resolve := func(id string) *Content {
		t.Helper()
		c, err := Resolve(specs[id], env)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	text := func(s string) ItemPart { return ItemPart{Part: &a2a.Part{Text: s}} }

	a := resolve("a")
	if d := cmp.Diff(a, &Content{Items: []Item{{
		Agent: &Agent{ID: "writer"}, Fallback: &Agent{Skill: "write", Tags: []string{"text", "long"}}, Parts: []ItemPart{text("Write about tea, 3 times.")},
	}}}); d != "" {
		t.Error(d)
	}
	env.Steps["a"] = &Result{
		Text: "Tea.", State: engine.NodeDone, Artifacts: []a2a.Artifact{{ID: "x"}, {ID: "y"}},
		Data: map[string]any{"chapters": []any{map[string]any{"title": "One"}, map[string]any{"title": "Two", "n": 7}}},
	}
	b := resolve("b")
	if len(b.Items) != 2 {
		t.Fatalf("%+v", b)
	}
	if d := cmp.Diff(b.Items[1].Parts, []ItemPart{
		text("Review Two"),
		{Part: &a2a.Part{Kind: a2a.PartData, Data: json.RawMessage(`{"chapter":{"n":7,"title":"Two"},"marks":[1,2.5,null],"strict":true}`)}},
		{Artifact: &ArtifactRef{"a", 0}},
		{Artifact: &ArtifactRef{"a", 1}},
		{Part: &a2a.Part{Kind: a2a.PartURL, URL: "https://example.com/r1", MediaType: "text/html", Filename: "x.html"}},
	}); d != "" {
		t.Error(d)
	}
	if string(b.Items[1].Item) != `{"n":7,"title":"Two"}` {
		t.Errorf("%s", b.Items[1].Item)
	}
	env.Inputs["depth"] = 1
	if b := resolve("b"); !b.Skip || b.Items != nil {
		t.Errorf("%+v", b)
	}
	env.Steps["b"] = Joined([]*Result{{Text: "Good."}, {Text: "Bad.", Data: 1}}, engine.NodeDone)
	undo, err := Undone(specs["b"], env)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(undo, &Item{Agent: &Agent{ID: "writer"}, Parts: []ItemPart{text("Forget Good.\n\nBad.")}}); d != "" {
		t.Error(d)
	}
	if none, err := Undone(specs["a"], env); none != nil || err != nil {
		t.Error(none, err)
	}
	if out, err := Outputs(specs["b"], env); err != nil || string(out["good"]) != "true" {
		t.Error(out, err)
	}
	if out, err := Outputs(specs["a"], env); err != nil || out != nil {
		t.Error(out, err)
	}
	if q := resolve("q"); q.Ask.Prompt != "Which of Tea.?" || len(q.Ask.Choices) != 3 || q.Ask.Choices[2].ID != "later" || q.Items != nil {
		t.Errorf("%+v", q.Ask)
	}
	env.Steps["q"] = &Result{Text: "yes"}
	sub := resolve("sub")
	if d := cmp.Diff(sub, &Content{Approve: "Go on with sub?", Items: []Item{{
		Use: "./other.yaml", From: "w.yaml", With: map[string]json.RawMessage{"topic": json.RawMessage(`"yes"`)},
	}}}); d != "" {
		t.Error(d)
	}
	if l := resolve("l"); l.Items[0].Parts[0].Part.Text != "Once more. " {
		t.Errorf("%+v", l)
	}
	env.Round, env.Steps["l"] = 2, &Result{Text: "almost"}
	if l := resolve("l"); l.Skip || l.Items[0].Parts[0].Part.Text != "Once more. almost" {
		t.Errorf("%+v", l)
	}
	env.Steps["l"].Text = "ok"
	if l := resolve("l"); !l.Skip {
		t.Errorf("%+v", l)
	}
	if c := resolve("end"); c.Skip || c.Items != nil {
		t.Errorf("%+v", c)
	}
	out, err := Outputs(specs["end"], env)
	if err != nil || string(out["all"]) != `[null,"ok"]` { // sub has no result, as when it was skipped
		t.Errorf("%s, %v", out["all"], err)
	}
	env.Steps["end"] = &Result{Data: map[string]any{"all": 1}}
	if out, err := Outputs(specs[""], env); err != nil || string(out["text"]) != `"ok"` || string(out["all"]) != "1" {
		t.Errorf("%s %v", out, err)
	}
}

// one makes a workflow of one expression, to be sent as data, which sees a step "a".
func one(expr string) string {
	b, _ := json.Marshal("${{ " + expr + " }}")
	return "name: n\ninputs: {s: {type: string, default: abc}, l: {type: array, default: [3, 1, 2]}, o: {required: false}}\nsteps:\n" +
		"- {id: a, agent: x, message: m}\n- {id: z, needs: a, agent: x, message: [{data: " + string(b) + "}]}\n"
}

func eval(t testing.TB, expr string, a *Result) (string, error) {
	t.Helper()
	specs, env := specs(t, one(expr), nil)
	env.Steps["a"] = a
	c, err := Resolve(specs["z"], env)
	if err != nil {
		return "", err
	}
	return string(c.Items[0].Parts[0].Part.Data), nil
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	data := map[string]any{"list": []any{map[string]any{"n": 2, "s": "b"}, map[string]any{"n": 1, "s": "a"}}, "b": 1, "a": 2, "deep": map[string]any{}}
	a := &Result{Text: "Hello, world", Data: data, State: engine.NodeDone, Artifacts: []a2a.Artifact{{
		ID: "i", Name: "N", Parts: []a2a.Part{a2a.TextPart("t"), a2a.DataPart(map[string]int{"k": 1}), {Kind: a2a.PartRaw, Raw: []byte("1234"), Filename: "f", MediaType: "m/m"}},
	}}}
	for expr, want := range map[string]string{
		`inputs.s + "d"`:                  `"abcd"`,
		`inputs.l[0] + 1`:                 `4`,
		`inputs.o`:                        `null`,
		`inputs.o ?? "none"`:              `"none"`,
		`sort(inputs.l)`:                  `[1,2,3]`,
		`steps.a.text`:                    `"Hello, world"`,
		`steps.a.state == "done" ? 1 : 2`: `1`,
		`upper(steps.a.text) | split(", ") | last()`: `"WORLD"`,
		`filter(steps.a.data.list, .n > 1)`:          `[{"n":2,"s":"b"}]`,
		`map(sortBy(steps.a.data.list, .n), .s)`:     `["a","b"]`,
		`join(map(steps.a.data.list, .s), "-")`:      `"b-a"`,
		`replace(steps.a.text, "l", "LL")`:           `"HeLLLLo, worLLd"`,
		`keys(steps.a.data)`:                         `["a","b","deep","list"]`,
		`values({b: 1, a: 2})`:                       `[2,1]`,
		`toJSON({b: [1, "<"], a: nil})`:              `"{\"a\":null,\"b\":[1,\"<\"]}"`,
		`fromJSON("[1, 2]")[1]`:                      `2`,
		`steps.a.data.nothing?.more ?? 5`:            `5`,
		`steps.a.data.deep.nothing`:                  `null`,
		`"world" in split(steps.a.text, ", ")`:       `true`,
		`steps.a.text matches "^H.*d$"`:              `true`,
		`steps.a.text contains "llo"`:                `true`,
		`sum(map(1..4, # * 2))`:                      `20`,
		`reduce([1, 2, 3], #acc + #, 10)`:            `16`,
		`count(steps.a.data.list, .n == 1)`:          `1`,
		`let x = inputs.s; x + x`:                    `"abcabc"`,
		`len("${{ }}")`:                              `6`,
		`steps.a.artifacts[0].name`:                  `"N"`,
		`steps.a.artifacts[0].text`:                  `"t"`,
		`steps.a.artifacts[0].data.k`:                `1`,
		`steps.a.artifacts[0].parts[2]`:              `{"data":null,"filename":"f","mediaType":"m/m","size":4,"text":"","url":""}`,
		`run.id + run.name + run.began`:              `"r1n1970-01-01T00:00:00Z"`,
		`not (inputs.s == "x") and true`:             `true`,
		`round(2.5) + int("3")`:                      `6`,
	} {
		if got, err := eval(t, expr, a); err != nil || got != want {
			t.Errorf("%s = %s, %v; want %s", expr, got, err, want)
		}
	}
}

// What goes wrong when a step's turn comes is told with the step and the place in the file.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ expr, want string }{
		{`steps.a.data.x.y`, "Step z (w.yaml, line 5, column 66): cannot fetch x from <nil>."},
		{`inputs.l[7]`, "out of range"},
		{`1 % (len(inputs.l) - 3)`, "divide by zero"},
		{`int(inputs.s)`, "abc"},
		{`inputs.o + 1`, "w.yaml, line 5, column "},
		{`join(inputs.l, ",")`, "element 0 of the list is no text"},
		{`keys(inputs.l)`, "only a map has keys"},
		{`fromJSON(inputs.s)`, "w.yaml, line 5, column "},
		{`len(map(1..100000000, #))`, "it makes too much at once"},
	} {
		_, err := eval(t, tt.expr, &Result{})
		var f *orchestrator.Fault
		if !errors.As(err, &f) || f.Kind != "expression" || f.Where != orchestrator.WhereUs || !strings.HasPrefix(f.What, "Step z (w.yaml, line 5, column ") || !strings.Contains(f.What, tt.want) || f.Do == "" {
			t.Errorf("%s: %v; want %s", tt.expr, err, tt.want)
		} else if strings.Contains(f.Do, "`?.`") != strings.Contains(f.What, "nil") {
			t.Errorf("%s: %s what to do: %s", tt.expr, f.What, f.Do)
		}
	}
	const src = `name: n
inputs: {l: {}}
steps:
- {id: list, for-each: inputs.l, agent: x, message: "${{ item.a.b }}"}
- {id: cond, if: inputs.l, agent: x, message: m}
- {id: pass, agent: x, message: [{artifacts: inputs.l}]}
- {id: none, agent: x, message: [{artifacts: "[]"}]}
- {id: loop, loop: {while: inputs.l, max: 2}, agent: x, message: m}
`
	for _, tt := range []struct {
		step, l string
		round   int
		want    string
	}{
		{"list", `3`, 1, "Step list (w.yaml, line 4, column 24): `for-each` gives a number, not a list."},
		{"list", `null`, 1, "`for-each` gives nothing, not a list"},
		{"list", `[{"a":{}},{}]`, 1, "cannot fetch b from <nil>, for item 2 of 2."},
		{"cond", `"yes"`, 1, "Step cond (w.yaml, line 5, column 18): `if` gives a text, not true or false."},
		{"pass", `{"id":"x"}`, 1, "`artifacts` gives a map that is no artifact of a step"},
		{"pass", `[1]`, 1, "`artifacts` gives a number that is no artifact of a step"},
		{"none", `1`, 1, "the message has no parts"},
		{"loop", `[]`, 2, "`loop.while` gives a list, not true or false"},
	} {
		specs, env := specs(t, src, map[string]json.RawMessage{"l": json.RawMessage(tt.l)})
		env.Round = tt.round
		if _, err := Resolve(specs[tt.step], env); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %s: %v", tt.step, tt.l, err)
		}
	}
	specs, env := specs(t, "name: n\ninputs: {x: {}}\nsteps: [{id: a, agent: x, message: m}]\noutputs: {y: \"${{ inputs.x.z }}\"}\n", map[string]json.RawMessage{"x": json.RawMessage("null")})
	if _, err := Outputs(specs[""], env); err == nil || !strings.HasPrefix(err.Error(), "The workflow (w.yaml, line 4, column ") {
		t.Error(err)
	}
	if _, err := Resolve(json.RawMessage("{"), env); err == nil {
		t.Error("no spec")
	}
}

// An agent cannot have another step's artifact passed on by what it says.
func TestForgedArtifacts(t *testing.T) {
	t.Parallel()
	specs, env := specs(t, "name: n\nsteps:\n- {id: secret, agent: x, message: m}\n- {id: a, agent: x, message: m}\n"+
		"- {id: z, needs: [secret, a], agent: x, message: [{artifacts: steps.a.data}]}\n"+
		"- {id: y, needs: a, agent: x, message: [{artifacts: 'filter(steps.a.artifacts, .name == \"keep\")'}]}\n", nil)
	env.Steps["secret"] = &Result{Artifacts: []a2a.Artifact{{ID: "s"}}}
	env.Steps["a"] = &Result{
		Data:      map[string]any{"id": "s", "name": "", "description": "", "text": "", "data": nil, "parts": []any{}},
		Artifacts: []a2a.Artifact{{ID: "1", Name: "drop"}, {ID: "2", Name: "keep"}},
	}
	if c, err := Resolve(specs["z"], env); err == nil {
		t.Errorf("%+v", c)
	}
	c, err := Resolve(specs["y"], env)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c.Items[0].Parts, []ItemPart{{Artifact: &ArtifactRef{"a", 1}}}); d != "" {
		t.Error(d)
	}
}

// Whatever an expression is after, it ends soon, and with a fault.
func TestHostileExpressions(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 1<<20)
	list := make([]any, 10000)
	for i := range list {
		list[i] = i
	}
	a := &Result{Text: big, Data: list}
	doubling := "let v0 = steps.a.text; "
	nested := "let v0 = [1]; "
	for i := range 60 {
		doubling += fmt.Sprintf("let v%d = v%d + v%d; ", i+1, i, i)
		nested += fmt.Sprintf("let v%d = [v%d, v%d]; ", i+1, i, i)
	}
	for name, expr := range map[string]string{
		"nested loops":      `count(steps.a.data, count(steps.a.data, count(steps.a.data, true) > 0) > 0)`,
		"doubling":          doubling + "len(v60)",
		"doubled lists":     nested + "v60",
		"doubled, as JSON":  nested + "toJSON(v60)",
		"compared":          nested + "v60 == v60",
		"reduced":           `reduce(1..100000, #acc + #acc, steps.a.text)`,
		"deeper and deeper": `reduce(1..100000, [#acc], 1)`,
		"replaced":          `replace(steps.a.text, "x", steps.a.text)`,
		"replaced again":    `map(steps.a.data, replace(steps.a.text, "x", "y"))`,
		"joined":            `join(split(steps.a.text, ""), steps.a.text)`,
		"a long range":      `1..1000000000`,
		"many ranges":       `map(1..100000, 1..100000)`,
		"matched":           `map(steps.a.data, steps.a.text matches "(x+x+)+y")`,
		"a large pattern":   `map(1..1000, steps.a.text matches "(((x{0,30}){0,30})x)*y")`,
		"searched":          `filter(steps.a.data, steps.a.text contains "xxxxy")`,
		"looked up":         `filter(steps.a.data, # in steps.a.data)`,
		"concatenated":      `reduce(1..100, concat(#acc, #acc), [1])`,
		"sorted":            `map(1..100000, sort(steps.a.data))`,
		"flattened":         `reduce(1..100, flatten([#acc, #acc]), [1])`,
		"split":             `map(1..100000, split(steps.a.text, ""))`,
		"indented":          `toJSON(fromJSON(join(map(1..9000, "["), "") + join(map(1..9000, "]"), ""))) + steps.a.text`,
		"encoded":           `reduce(1..100, toBase64(#acc), "x")`,
		"upper":             `map(1..100000, upper(steps.a.text))`,
		"sliced":            `map(1..100000, steps.a.text[1:] + "y")`,
		"too large":         `steps.a.text + steps.a.text`,
		"a large number":    `fromJSON("1e999")`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			out, err := eval(t, expr, a)
			var f *orchestrator.Fault
			if !errors.As(err, &f) {
				t.Errorf("%.60s, %v", out, err)
			}
			if took := time.Since(start); took > 20*time.Second { // a fraction of it without the race detector
				t.Errorf("took %v", took)
			}
		})
	}
}

// The bounds of what a step says.
func TestContentLimits(t *testing.T) {
	t.Parallel()
	specs, env := specs(t, "name: n\ninputs: {n: {}}\nsteps:\n- {id: a, agent: x, message: m}\n"+
		"- {id: t, needs: a, agent: x, message: \"${{ steps.a.text }}\"}\n"+
		"- {id: l, needs: a, for-each: 1..inputs.n, agent: x, message: \"${{ steps.a.text }}\"}\n", map[string]json.RawMessage{"n": json.RawMessage("1")})
	for _, n := range []int{maxValue - 1, maxValue, maxValue + 1} {
		env.Steps["a"] = &Result{Text: strings.Repeat("x", n)}
		if _, err := Resolve(specs["t"], env); (err == nil) != (n <= maxValue) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	env.Steps["a"] = &Result{Text: strings.Repeat("x", maxContent/64-2)} // and the item itself
	for n := 63; n <= 65; n++ {
		env.Inputs["n"] = n
		if _, err := Resolve(specs["l"], env); (err == nil) != (n <= 64) {
			t.Errorf("%d texts: %v", n, err)
		}
	}
	env.Steps["a"].Text = "x"
	for n := engine.MaxItems - 1; n <= engine.MaxItems+1; n++ {
		env.Inputs["n"] = n
		if _, err := Resolve(specs["l"], env); (err == nil) != (n <= engine.MaxItems) {
			t.Errorf("%d items: %v", n, err)
		}
	}
}

func TestGiven(t *testing.T) {
	t.Parallel()
	w := want(t, "name: n\ninputs:\n  a: {type: string, minLength: 2}\n  b: {type: integer, default: 3}\n  c: {required: false}\n  d: {type: object, required: [x], properties: {x: {type: number}}, default: {x: 1}}\nsteps: [{id: s, agent: x, message: m}]\n")
	for given, wrong := range map[string]string{
		`{"a":"xy"}`:                             "",
		`{"a":"xy","b":4,"c":[1],"d":{"x":2.5}}`: "",
		`{}`:                                     "`a` is needed",
		`{"a":"x"}`:                              "`a`: must have at least 2 characters",
		`{"a":"xy","b":"4"}`:                     "`b`: must be a whole number, not text",
		`{"a":"xy","d":{}}`:                      "`d`: `x` is needed",
		`{"a":"xy","d":{"x":"y"}}`:               "`d`: x: must be a number, not text",
		`{"a":"xy","e":1}`:                       "there is no input `e`",
		`{"b":"4","e":1}`:                        "`a` is needed; `b`: must be a whole number, not text; there is no input `e`",
		`{"a":"xy","b":null}`:                    "`b`: must be a whole number, not null",
	} {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(given), &m); err != nil {
			t.Fatal(err)
		}
		in, err := w.Given(m)
		var f *orchestrator.Fault
		switch {
		case wrong == "":
			if err != nil || len(in) != 4 || in["a"] != "xy" {
				t.Errorf("%s: %v, %v", given, in, err)
			}
		case !errors.As(err, &f) || f.Kind != "inputs" || !strings.Contains(f.What, wrong):
			t.Errorf("%s: %v; want %s", given, err, wrong)
		}
		if _, gerr := w.Graph(m, 0); (gerr == nil) != (err == nil) {
			t.Errorf("%s: Graph says %v", given, gerr)
		}
	}
	in, _ := w.Given(map[string]json.RawMessage{"a": json.RawMessage(`"xy"`)})
	if d := cmp.Diff(in, map[string]any{"a": "xy", "b": 3, "c": nil, "d": map[string]any{"x": 1}}); d != "" {
		t.Error(d)
	}
	const schema = `{"additionalProperties":false,"properties":{"a":{"minLength":2,"type":"string"},"b":{"default":3,"type":"integer"},"c":{},` +
		`"d":{"default":{"x":1},"properties":{"x":{"type":"number"}},"required":["x"],"type":"object"}},"required":["a"],"type":"object"}`
	if s := string(w.InputSchema()); s != schema {
		t.Error(s)
	}
	if _, err := w.Graph(map[string]json.RawMessage{"a": json.RawMessage(`"xy"`)}, engine.MaxDepth+1); err == nil {
		t.Error("too deep")
	}
	long, _ := json.Marshal(strings.Repeat("x", engine.MaxPlanSize))
	if _, err := w.Graph(map[string]json.RawMessage{"a": long}, 0); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Error(err)
	}
}

func TestResultOf(t *testing.T) {
	t.Parallel()
	task := &a2a.Task{
		Status:    a2a.TaskStatus{Message: &a2a.Message{Parts: []a2a.Part{a2a.TextPart("said"), a2a.DataPart(1)}}},
		Artifacts: []a2a.Artifact{{Parts: []a2a.Part{a2a.TextPart("a"), a2a.TextPart("b")}}, {Parts: []a2a.Part{a2a.DataPart(2), a2a.TextPart("c"), a2a.DataPart("x")}}},
	}
	r := ResultOf(task, engine.NodeDone)
	if d := cmp.Diff(r, &Result{Text: "ab\n\nc", Data: []any{2, "x"}, Artifacts: task.Artifacts, State: engine.NodeDone}); d != "" {
		t.Error(d)
	}
	task.Artifacts = task.Artifacts[:1]
	if r := ResultOf(task, engine.NodeDone); r.Text != "ab" || r.Data != 1 {
		t.Errorf("%+v", r)
	}
	task.Artifacts = nil
	if r := ResultOf(task, engine.NodeFailed); r.Text != "said" || r.Data != 1 || r.State != engine.NodeFailed {
		t.Errorf("%+v", r)
	}
}

// The manual names every function that there is, and every key.
func TestManual(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for _, w := range regexp.MustCompile(`[A-Za-z0-9-]+`).FindAllString(string(b), -1) {
		words[w] = true
	}
	known := slices.Concat(functions, slices.Collect(maps.Keys(ours)), names(workflowFields()), names(stepTable()), names(partFields()),
		names(loopFields()), names(retryFields()), names(askFields()), names(undoFields()), names(budgetFields()), names(agentFields()))
	for _, f := range known {
		if !words[f] {
			t.Errorf("docs/workflows.md does not name %s", f)
		}
	}
}
