package workflow

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"parley/orchestrator/engine"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// ignoring compares workflows but for where things stand.
var ignoring = cmp.Options{
	cmp.Comparer(func(Pos, Pos) bool { return true }),
	cmp.Transformer("text", func(t Text) string { return t.Src }),
}

// want is a workflow without problems.
func want(t testing.TB, src string) *Workflow {
	t.Helper()
	w, ps := Parse("w.yaml", []byte(src))
	if ps != nil {
		t.Fatalf("%v\n%s", ps, src)
	}
	return w
}

// Each archive in testdata/problems has a file, and what is wrong with it.
func TestProblems(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i+1 < len(a.Files); i += 2 {
				w, ps := Parse(a.Files[i].Name, bytes.TrimSuffix(a.Files[i].Data, []byte("\n")))
				if (w == nil) != (len(ps) > 0) {
					t.Errorf("%s: a workflow and problems, or neither", a.Files[i].Name)
				}
				got := []byte(ps.Error() + "\n")
				if *update {
					a.Files[i+1].Data = got
				} else if d := cmp.Diff(string(a.Files[i+1].Data), string(got)); d != "" {
					t.Errorf("%s:\n%s", a.Files[i].Name, d)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestSchemaGolden(t *testing.T) {
	t.Parallel()
	const name = "testdata/schema.json"
	got := append(Schema(), '\n')
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(b), string(got)); d != "" {
		t.Error(d)
	}
}

const everything = `
name: Everything
description: All there is
on: [manual]
timeout: 2d
budget: {calls: 50, steps: 20}
inputs:
  topic: {type: string, minLength: 2}
  depth: {type: integer, default: 3, maximum: 5}
  note: {type: string, required: false}
steps:
  - id: a
    name: First
    agent: writer
    message: Write about ${{ inputs.topic }}, ${{ inputs.depth }} times.
    retry: {attempts: 3, backoff: 10s}
    timeout: 1h30m
    on-error: {fallback: {skill: write, tags: [text, long]}}
  - id: b
    needs: a
    agent: {tags: [review]}
    if: steps.a.state == "done" and inputs.depth > 1
    for-each: ${{ steps.a.data.chapters }}
    max-parallel: 2
    message:
      - text: Review ${{ item.title }}
      - data: {chapter: "${{ item }}", strict: true, marks: [1, 2.5, null]}
      - artifacts: steps.a.artifacts
      - url: https://example.com/${{ run.id }}
        media-type: text/html
        filename: x.html
    undo: {agent: writer, message: "Forget ${{ steps.b.text }}"}
    outputs: {good: '${{ steps.b.state == "done" }}'}
  - id: q
    needs: [a, b]
    join: any
    ask:
      prompt: Which of ${{ steps.a.text }}?
      choices: [yes, no, later]
  - id: sub
    needs: [q]
    use: ./other.yaml
    with: {topic: "${{ steps.q.text }}"}
    approve: true
    on-error: skip
  - id: l
    needs: [a, b, q]
    join: {quorum: 2}
    agent: writer
    loop: {while: not (steps.l.text contains "ok"), max: 4}
    message: Once more. ${{ steps.l.text }}
  - id: end
    needs: [sub, l]
    join: collect
    outputs: {all: "${{ [steps.sub.data, steps.l.text] }}"}
outputs:
  text: ${{ steps.l.text }}
  all: ${{ steps.end.data.all }}
`

func TestEverything(t *testing.T) {
	t.Parallel()
	w := want(t, everything)
	a, b, l := &w.Steps[0], &w.Steps[1], &w.Steps[4]
	switch {
	case w.Timeout != 48*time.Hour, w.Budget.Calls != 50, len(w.On) != 1, w.On[0] != OnManual, len(w.Inputs) != 3, !w.Inputs[2].Optional:
		t.Errorf("%+v", w)
	case a.Timeout != 90*time.Minute, a.Backoff != 10*time.Second, a.Fallback.Skill != "write", a.OnError != engine.OnErrorFallback:
		t.Errorf("%+v", a)
	case b.Parallel != 2, len(b.Message) != 4, b.If.At != Pos{22, 9}, b.ForEach.Text.exprs()[0].At != Pos{23, 19}:
		t.Errorf("%+v %+v %+v", b, b.If, b.ForEach.Text.exprs()[0])
	case l.Join != engine.JoinQuorum, l.Quorum != 2, l.Loop != 4, w.Steps[3].Approve.Src != "Go on with sub?":
		t.Errorf("%+v", l)
	}
	again := want(t, string(w.YAML()))
	if d := cmp.Diff(w, again, ignoring); d != "" {
		t.Errorf("printed and read again:\n%s\n%s", d, w.YAML())
	}
	g, err := w.Graph(map[string]json.RawMessage{"topic": json.RawMessage(`"tea"`)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := g.Nodes[1]; n.Kind != engine.NodeCall || n.Parallel != 2 || !n.Undo || n.Needs[0] != "a" || g.Timeout != 172_800_000 {
		t.Errorf("%+v", n)
	}
	var kinds []engine.NodeKind
	for _, n := range g.Nodes {
		kinds = append(kinds, n.Kind)
	}
	if d := cmp.Diff(kinds, []engine.NodeKind{engine.NodeCall, engine.NodeCall, engine.NodeAsk, engine.NodeCall, engine.NodeCall, engine.NodeNone}); d != "" {
		t.Error(d)
	}
	valid(t, everything, true)
}

// valid checks a file against the schema for editors.
func valid(t testing.TB, src string, ok bool) {
	t.Helper()
	s, err := compileSchema(Schema())
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{src: []byte(src)}
	n := r.yaml()
	if n == nil {
		t.Fatal(r.problems)
	}
	b, err := json.Marshal(n.json())
	if err != nil {
		t.Fatal(err)
	}
	v, err := plain(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); (err == nil) != ok {
		t.Errorf("the schema says %v of\n%s", err, src)
	}
}

// What the tables say of shapes, the schema and the parser say alike.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	step := func(s string) string { return "name: n\nsteps:\n  - id: a\n" + s }
	call := func(s string) string { return step("    agent: x\n    message: m\n" + s) }
	for _, tt := range []struct {
		src string
		ok  bool
	}{
		{call(""), true},
		{"name: n\n", false},
		{"steps: []\nname: n", false},
		{call("    needz: []\n"), false},
		{call("    retry: {attempts: 10}\n"), true},
		{call("    retry: {attempts: 11}\n"), false},
		{call("    retry: {attempts: 0}\n"), false},
		{call("    retry: {}\n"), false},
		{call("    loop: {max: 100}\n"), true},
		{call("    loop: {max: 101}\n"), false},
		{call("    timeout: 5m\n"), true},
		{call("    timeout: 5\n"), false},
		{call("    timeout: 5 minutes\n"), false},
		{call("    on-error: skip\n"), true},
		{call("    on-error: fallback\n"), false},
		{call("    on-error: {fallback: y}\n"), true},
		{call("    on-error: {fallback: {}}\n"), false},
		{call("    approve: yes please\n"), true},
		{call("    approve: 3\n"), true},
		{call("    approve: [x]\n"), false},
		{call("    outputs: {a-b: 1}\n"), false},
		{call("    for-each: [1, 2]\n"), true},
		{call("    for-each: {}\n"), false},
		{step("    agent: {tagz: x}\n    message: m\n"), false},
		{step("    agent: {tags: x}\n    message: m\n"), true},
		{step("    agent: x\n    message: []\n"), false},
		{step("    agent: x\n    message: [{txt: 1}]\n"), false},
		{step("    ask: {prompt: q, choices: [a]}\n"), false},
		{step("    ask: {prompt: q, choices: [a, b]}\n"), true},
		{step("    ask: {prompt: q, schema: {type: string}}\n"), true},
		{step("    ask: {choices: [a, b]}\n"), false},
		{call("on: a2a\n"), true},
		{call("on: [push]\n"), false},
		{call("budget: {calls: 1000}\n"), true},
		{call("budget: {calls: 1001}\n"), false},
		{call("budget: {cost: 0.25}\n"), true},
		{call("budget: {cost: 0}\n"), false},
		{call("budget: {cost: much}\n"), false},
		{call("inputs: {a: {type: string}, b: }\n"), true},
		{call("inputs: {a: string}\n"), false},
		{call("inputs: {a-b: {}}\n"), false},
	} {
		_, ps := Parse("w", []byte(tt.src))
		if (ps == nil) != tt.ok {
			t.Errorf("the parser says %v of\n%s", ps, tt.src)
		}
		if !strings.Contains(tt.src, "approve: 3") { // text that looks like a number is read as text
			valid(t, tt.src, tt.ok)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	file := func(steps int, more string) string {
		var b strings.Builder
		b.WriteString("name: n\n" + more + "steps:\n")
		for i := range steps {
			fmt.Fprintf(&b, "- {id: s%d, agent: x, message: m}\n", i)
		}
		return b.String()
	}
	sized := func(n int) string {
		f := file(1, "")
		return f + strings.Repeat("#", n-len(f))
	}
	listed := func(n int) string {
		return "name: n\nsteps:\n- id: a\n  agent: x\n  message: m\n  for-each:\n" + strings.Repeat("  - 1\n", n)
	}
	worded := func(n int) string {
		return "name: n\nsteps:\n- id: a\n  agent: x\n  message: ${{ '" + strings.Repeat("x", n-2) + "' }}\n"
	}
	for _, tt := range []struct {
		what string
		make func(n int) string
		n    int
	}{
		{"bytes", sized, MaxSize},
		{"steps", func(n int) string { return file(n, "") }, engine.MaxNodes},
		{"budgeted steps", func(n int) string { return file(n, "budget: {steps: 7}\n") }, 7},
		{"items", listed, engine.MaxItems},
		{"bytes of an expression", worded, maxExpr},
		{"characters of a name", func(n int) string {
			return strings.Replace(file(1, ""), "name: n", "name: "+strings.Repeat("é", n), 1)
		}, 100},
		{"days", func(n int) string { return file(1, fmt.Sprintf("timeout: %dd\n", n)) }, 365},
		{"letters of an id", func(n int) string { return strings.Replace(file(1, ""), "s0", strings.Repeat("s", n), 1) }, 64},
		{"nesting", func(n int) string {
			return file(1, "") + "outputs: {a: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "}\n"
		}, maxNesting - 1}, // with the map
		{"keys", func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "  k%d: 1\n", i)
			}
			return file(1, "") + "outputs:\n" + b.String()
		}, maxKeys},
	} {
		for _, n := range []int{tt.n - 1, tt.n, tt.n + 1} {
			if _, ps := Parse("w", []byte(tt.make(n))); (ps == nil) != (n <= tt.n) {
				t.Errorf("%d %s: %.200v", n, tt.what, ps)
			}
		}
	}
	// Of many problems the first are told.
	if _, ps := Parse("w", []byte("name: n\nsteps:\n"+strings.Repeat("- {idd: x}\n", 500))); len(ps) != maxProblems || ps[0].Line != 3 {
		t.Errorf("%d problems", len(ps))
	}
}

// What would keep a YAML parser busy is refused in no time.
func TestBombs(t *testing.T) {
	t.Parallel()
	var keys strings.Builder
	for i := range 30000 {
		fmt.Fprintf(&keys, "k%d: \n", i)
	}
	for _, piece := range []string{"[", "{", "- ", "? ", "a: ", "!a ", "&a ", "*a ", "\"", "<<: ", "{a: b, ", "k: v\n", "a,\n", "- [\n", "- - a\n", "|\n", "%a\n", "---\n", keys.String(), "'${{ a }}', ", "[a,b],\n"} {
		for _, before := range []string{"", "a: [\n"} {
			src := before + strings.Repeat(piece, (MaxSize-len(before))/len(piece))
			start := time.Now()
			if w, ps := Parse("w", []byte(src)); w != nil || len(ps) == 0 {
				t.Errorf("%.20q is a workflow", src)
			}
			if took := time.Since(start); took > 30*time.Second { // on a busy machine, with the race detector
				t.Errorf("%.20q took %v", src, took)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	names, _ := filepath.Glob("testdata/problems/*.txtar")
	for _, name := range names {
		if a, err := txtar.ParseFile(name); err == nil {
			for _, file := range a.Files {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		start := time.Now()
		w, ps := Parse("w", src)
		if took := time.Since(start); took > 10*time.Second {
			t.Fatalf("took %v", took)
		}
		if (w == nil) != (len(ps) > 0) {
			t.Fatalf("a workflow and problems, or neither: %v", ps)
		}
		for _, p := range ps {
			if p.Line < 1 || p.Column < 1 || p.What == "" || p.Line > 2+bytes.Count(src, []byte("\n")) {
				t.Fatalf("%+v", p)
			}
		}
		if w == nil {
			return
		}
		again, ps := Parse("w", w.YAML())
		if ps != nil {
			t.Fatalf("printed it has problems: %v\n%s", ps, w.YAML())
		}
		if d := cmp.Diff(w, again, ignoring); d != "" {
			t.Fatalf("%s\n%s", d, w.YAML())
		}
	})
}
