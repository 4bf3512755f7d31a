package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/orchestrator/engine"
)

// YAML prints the workflow as a file that Parse reads as the same workflow, but for where things stand and for comments.
func (w *Workflow) YAML() []byte {
	m := entries{{"name", w.Name}}
	m.add("description", w.Description)
	if !slices.Equal(w.On, []Trigger{OnManual, OnA2A}) {
		m.add("on", listOf(w.On))
	}
	inputs := entries{}
	for i := range w.Inputs {
		in := &w.Inputs[i]
		v, _ := tree(in.Schema).(entries)
		if in.Optional {
			v = append(v, entry{"required", false})
		}
		inputs = append(inputs, entry{in.Name, v})
	}
	m.add("inputs", inputs)
	if w.Timeout > 0 {
		m.add("timeout", printDuration(w.Timeout))
	}
	budget := entries{}
	budget.add("calls", w.Budget.Calls)
	budget.add("steps", w.Budget.Nodes)
	if w.Budget.Cost > 0 {
		budget = append(budget, entry{"cost", w.Budget.Cost})
	}
	m.add("budget", budget)
	steps := []any{}
	for i := range w.Steps {
		steps = append(steps, w.Steps[i].tree())
	}
	m.add("steps", steps)
	m.add("outputs", namedTree(w.Outputs))
	var b bytes.Buffer
	m.print(&b, 0)
	return b.Bytes()
}

func (s *Step) tree() entries {
	m := entries{{"id", s.ID}}
	m.add("name", s.Name)
	m.add("needs", listOf(s.Needs))
	switch s.Join {
	case engine.JoinAll:
	case engine.JoinQuorum:
		m.add("join", entries{{"quorum", s.Quorum}})
	default:
		m.add("join", string(s.Join))
	}
	m.addExpr("if", s.If)
	if s.ForEach != nil {
		if s.ForEach.Text != nil {
			m.add("for-each", s.ForEach.Text.Src)
		} else {
			m = append(m, entry{"for-each", s.ForEach.tree()})
		}
	}
	m.add("max-parallel", s.Parallel)
	loop := entries{}
	loop.addExpr("while", s.While)
	loop.add("max", s.Loop)
	m.add("loop", loop)
	if s.Approve != nil {
		m.add("approve", s.Approve.Src)
	}
	m.add("answer", s.Answer)
	m.add("agent", s.Agent.tree())
	m.add("message", messageTree(s.Message))
	m.add("use", s.Use)
	m.add("with", namedTree(s.With))
	if s.Ask != nil {
		ask := entries{{"prompt", s.Ask.Prompt.Src}}
		ask.add("choices", listOf(s.Ask.Choices))
		if s.Ask.Schema != nil {
			ask = append(ask, entry{"schema", tree(s.Ask.Schema)})
		}
		m.add("ask", ask)
	}
	retry := entries{}
	retry.add("attempts", s.Attempts)
	if s.Backoff > 0 {
		retry.add("backoff", printDuration(s.Backoff))
	}
	m.add("retry", retry)
	if s.Timeout > 0 {
		m.add("timeout", printDuration(s.Timeout))
	}
	switch s.OnError {
	case engine.OnErrorSkip:
		m.add("on-error", "skip")
	case engine.OnErrorFallback:
		m.add("on-error", entries{{"fallback", s.Fallback.tree()}})
	}
	if s.Undo != nil {
		undo := entries{}
		undo.add("agent", s.Undo.Agent.tree())
		undo.add("message", messageTree(s.Undo.Message))
		m.add("undo", undo)
	}
	m.add("outputs", namedTree(s.Outputs))
	return m
}

func (a *Agent) tree() any {
	switch {
	case a == nil:
		return nil
	case a.ID != "":
		return a.ID
	}
	m := entries{}
	m.add("skill", a.Skill)
	m.add("tags", listOf(a.Tags))
	return m
}

func messageTree(ps []Part) any {
	if len(ps) == 1 && ps[0].Text != nil && ps[0].MediaType == "" && ps[0].Filename == "" {
		return ps[0].Text.Src
	}
	var l []any
	for i := range ps {
		p := &ps[i]
		m := entries{}
		switch {
		case p.Text != nil:
			m.add("text", p.Text.Src)
		case p.URL != nil:
			m.add("url", p.URL.Src)
		case p.Data != nil:
			m = append(m, entry{"data", p.Data.tree()})
		}
		m.addExpr("artifacts", p.Artifacts)
		m.add("media-type", p.MediaType)
		m.add("filename", p.Filename)
		l = append(l, m)
	}
	return l
}

func namedTree(ns []Named) entries {
	m := entries{}
	for _, n := range ns {
		m = append(m, entry{n.Name, n.Value.tree()})
	}
	return m
}

func (v *Value) tree() any {
	switch {
	case v.Text != nil:
		return v.Text.Src
	case v.List != nil:
		l := []any{}
		for _, e := range v.List {
			l = append(l, e.tree())
		}
		return l
	case v.Map != nil:
		return namedTree(v.Map)
	}
	return v.JSON
}

// tree makes of JSON what can be printed.
func tree(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return entries{}
	}
	var sorted func(v any) any
	sorted = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			m := entries{}
			for _, k := range slices.Sorted(maps.Keys(v)) {
				m = append(m, entry{k, sorted(v[k])})
			}
			return m
		case []any:
			for i := range v {
				v[i] = sorted(v[i])
			}
		}
		return v
	}
	return sorted(v)
}

// entries are a map in its order. Values are entries, []any, string, and what JSON prints.
type entries []entry

type entry struct {
	key   string
	value any
}

// add leaves out what is empty.
func (m *entries) add(key string, v any) {
	switch v := v.(type) {
	case nil:
		return
	case string:
		if v == "" {
			return
		}
	case int:
		if v == 0 {
			return
		}
	case []any:
		if len(v) == 0 {
			return
		}
	case entries:
		if len(v) == 0 {
			return
		}
	}
	*m = append(*m, entry{key, v})
}

func (m *entries) addExpr(key string, e *Expr) {
	if e != nil {
		m.add(key, "${{ "+e.Src+" }}")
	}
}

func listOf[T ~string](l []T) []any {
	var out []any
	for _, s := range l {
		out = append(out, string(s))
	}
	return out
}

func (m entries) print(b *bytes.Buffer, indent int) {
	for i, e := range m {
		if i > 0 || indent == 0 {
			b.WriteString(strings.Repeat(" ", indent))
		}
		printScalar(b, e.key, indent)
		b.WriteByte(':')
		printValue(b, e.value, indent, true)
	}
}

// printValue prints what follows a key, or a dash, of that indentation.
func printValue(b *bytes.Buffer, v any, indent int, key bool) {
	switch v := v.(type) {
	case entries:
		switch {
		case len(v) == 0:
			b.WriteString(" {}\n")
		case key:
			b.WriteString("\n" + strings.Repeat(" ", indent+2))
			v.print(b, indent+2)
		default:
			b.WriteByte(' ')
			v.print(b, indent+2)
		}
	case []any:
		if len(v) == 0 {
			b.WriteString(" []\n")
			return
		}
		b.WriteByte('\n')
		for _, e := range v {
			b.WriteString(strings.Repeat(" ", indent+2) + "-")
			printValue(b, e, indent+2, false)
		}
	default:
		b.WriteByte(' ')
		printScalar(b, v, indent)
		b.WriteByte('\n')
	}
}

var (
	plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$`)
	reserved  = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null|nan|inf|infinity)$`)
	blockText = regexp.MustCompile(`^[^\s](.*\n)+.*$`)
)

func printScalar(b *bytes.Buffer, v any, indent int) {
	s, isText := v.(string)
	switch {
	case isText && (plainText.MatchString(s) && !reserved.MatchString(s) || s == "on"):
		b.WriteString(s)
	case isText && blockText.MatchString(s) && strings.HasSuffix(s, "\n") && !strings.HasSuffix(s, "\n\n") && blockSafe(s):
		b.WriteString("|")
		for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
			b.WriteByte('\n')
			if line != "" {
				b.WriteString(strings.Repeat(" ", indent+2) + line)
			}
		}
	case isText:
		quote(b, s)
	default:
		j, err := json.Marshal(v)
		if err != nil {
			panic("workflow: " + err.Error()) // numbers, booleans and null
		}
		b.Write(j)
	}
}

// blockSafe tells whether a text keeps its shape in a block of lines.
func blockSafe(s string) bool {
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasSuffix(line, " ") || strings.HasPrefix(line, " ") {
			return false
		}
		for _, c := range line {
			if c < ' ' || c == 0x7f || c == 0x85 || c == 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff {
				return false
			}
		}
	}
	return true
}

// quote prints a text between double quotes.
func quote(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < ' ' || c == 0x7f || c == 0x85 || c == 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff:
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
}

func printDuration(d time.Duration) string {
	var b strings.Builder
	for _, u := range units {
		if n := d / u.d; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.d
		}
	}
	return b.String()
}
