package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// maxContent is the most that all messages of a step may have together, in bytes.
const maxContent = 4 << 20

// Env is what the expressions of a step see.
type Env struct {
	Inputs map[string]any     // PlanSpec.Inputs
	Steps  map[string]*Result // of the steps that came to their end; one that is missing is seen as empty
	Run    Run
	Round  int    // of the step, from 1
	Specs  *Specs // where specs that were read before are found; nil: each is read
}

// Run says which run it is.
type Run struct {
	ID    string
	Name  string // of the workflow
	Began time.Time
}

// Content is what a step does, now that its turn has come.
type Content struct {
	Skip    bool      // its condition does not hold; in a later round: its loop is over
	Items   []Item    // one for each call; of a step that calls nobody none
	Approve string    // what a person is to agree to, in Markdown; "" when nobody is asked
	Ask     *Question // of a step that asks
}

// Item is one call: a message to an agent, or a workflow to run. It stands in engine.Resolved.Items as JSON.
type Item struct {
	Agent    *Agent                     `json:"agent,omitempty"`
	Fallback *Agent                     `json:"fallback,omitempty"` // who gets it when engine.Begin says so
	Parts    []ItemPart                 `json:"parts,omitempty"`
	Use      string                     `json:"use,omitempty"`
	From     string                     `json:"from,omitempty"` // the file that Use is relative to
	With     map[string]json.RawMessage `json:"with,omitempty"`
	Item     json.RawMessage            `json:"item,omitempty"` // what it is done for, with for-each
}

// Question is what a person is asked.
type Question struct {
	Prompt  string
	Choices []orchestrator.Choice
	Schema  json.RawMessage
}

// Resolve makes the content of a step of its Node.Spec. It is pure: the same spec and env give the same. Errors are
// Faults that name the step and the place in the file.
func Resolve(spec json.RawMessage, env *Env) (*Content, error) {
	s, v, err := open(spec, env)
	if err != nil {
		return nil, err
	}
	if env.Round > 1 {
		if more, err := v.holds(s.While, "`loop.while`"); err != nil || !more {
			return &Content{Skip: true}, err
		}
	} else if go_, err := v.holds(s.If, "`if`"); err != nil || !go_ {
		return &Content{Skip: true}, err
	}
	c := &Content{}
	if s.Approve != nil {
		if c.Approve, err = v.text(s.Approve); err != nil {
			return nil, err
		}
	}
	if s.Ask != nil {
		c.Ask = &Question{Schema: s.Ask.Schema}
		if c.Ask.Prompt, err = v.text(s.Ask.Prompt); err != nil {
			return nil, err
		}
		for _, choice := range s.Ask.Choices {
			c.Ask.Choices = append(c.Ask.Choices, orchestrator.Choice{ID: choice, Label: choice})
		}
	}
	switch {
	case s.Agent == nil && s.Use == "":
		return c, nil
	case s.ForEach == nil:
		it, err := v.item(s)
		if err != nil {
			return nil, err
		}
		c.Items = []Item{*it}
		return c, nil
	}
	list, err := v.list(s.ForEach)
	if err != nil {
		return nil, err
	}
	c.Items = make([]Item, 0, len(list))
	for i, e := range list {
		v.seen()["item"] = e
		it, err := v.item(s)
		if err == nil {
			it.Item, err = v.json(e, s.At)
		}
		if err != nil {
			return nil, within(err, fmt.Sprintf("item %d of %d", i+1, len(list)))
		}
		c.Items = append(c.Items, *it)
	}
	return c, nil
}

// Undone makes the call that undoes a step which was done, nil when there is none. env has the step's own result.
func Undone(spec json.RawMessage, env *Env) (*Item, error) {
	s, v, err := open(spec, env)
	if err != nil || s.Undo == nil {
		return nil, err
	}
	it := &Item{Agent: s.Undo.Agent}
	if it.Agent == nil {
		it.Agent = s.Agent
	}
	it.Parts, err = v.parts(s.Undo.Message)
	return it, err
}

// Outputs computes what a step, by its Node.Spec, or a whole run, by its Graph.Spec, gives; nil when it says nothing of
// it. env has the step's own result. The error of a plan's outputs names the file.
func Outputs(spec json.RawMessage, env *Env) (map[string]json.RawMessage, error) {
	s, v, err := open(spec, env)
	if err != nil || s.Outputs == nil {
		return nil, err
	}
	return v.named(s.Outputs)
}

// evaluation is one look at a step.
type evaluation struct {
	spec      *Spec
	of        *Env
	meter     *meter
	options   []expr.Option  // made for the first expression: most steps have none
	env       map[string]any // see seen
	steps     map[string]any
	artifacts map[uintptr]ArtifactRef // by the map that an expression sees
	programs  map[string]*vm.Program
	size      int // of what was made
}

func open(spec json.RawMessage, env *Env) (*Spec, *evaluation, error) {
	s, err := env.Specs.read(spec)
	if err != nil {
		return nil, nil, err
	}
	return s, &evaluation{spec: s, of: env, meter: newMeter()}, nil
}

// seen is what expressions see, made for the first of them: most steps have none.
func (v *evaluation) seen() map[string]any {
	if v.env != nil {
		return v.env
	}
	v.steps, v.artifacts = map[string]any{}, map[uintptr]ArtifactRef{}
	for id, r := range v.of.Steps {
		v.steps[id] = r.view(id, v.artifacts)
	}
	inputs, run := v.of.Inputs, v.of.Run
	if inputs == nil {
		inputs = map[string]any{}
	}
	v.env = map[string]any{
		"inputs": inputs, "steps": v.steps,
		"run": map[string]any{"id": run.ID, "name": run.Name, "began": run.Began.UTC().Format(time.RFC3339)},
	}
	return v.env
}

// fault tells a person where an expression, or what it gives, is wrong.
func (v *evaluation) fault(at Pos, format string, args ...any) *orchestrator.Fault {
	who, file := "The workflow", v.spec.File
	if v.spec.ID != "" {
		who = "Step " + v.spec.ID
	}
	if file == Unnamed && v.of.Run.Name != "" {
		file = "“" + v.of.Run.Name + "”"
	}
	return &orchestrator.Fault{
		Kind: "expression", Where: orchestrator.WhereUs,
		What: fmt.Sprintf("%s (%s, line %d, column %d): %s.", who, file, at.Line, at.Column, fmt.Sprintf(format, args...)),
		Do:   "Correct the workflow file, or what it is given.",

		Final: len(v.of.Steps) == 0, // what steps gave may be another thing the next time
	}
}

// within says for which item it was.
func within(err error, item string) error {
	var f *orchestrator.Fault
	if errors.As(err, &f) {
		g := *f
		g.What = strings.TrimSuffix(f.What, ".") + ", for " + item + "."
		return &g
	}
	return err
}

// eval computes an expression.
func (v *evaluation) eval(e *Expr) (any, error) {
	env, p := v.seen(), v.programs[e.Src]
	if p == nil {
		var err error
		if v.options == nil {
			v.options, v.programs = v.meter.options(), map[string]*vm.Program{}
		}
		if p, err = expr.Compile(e.Src, v.options...); err != nil {
			return nil, v.explain(e, err)
		}
		v.programs[e.Src] = p
		node := p.Node()
		ast.Walk(&node, missing{v.steps})
	}
	out, err := expr.Run(p, env)
	if err != nil {
		return nil, v.explain(e, err)
	}
	if err := v.meter.spend(out, 1); err != nil {
		return nil, v.fault(e.At, "%s", err)
	}
	return out, nil
}

// missing makes steps without a result be seen as empty.
type missing struct{ steps map[string]any }

func (m missing) Visit(n *ast.Node) {
	of, ok := (*n).(*ast.MemberNode)
	if !ok {
		return
	}
	root, _ := of.Node.(*ast.IdentifierNode)
	name, _ := of.Property.(*ast.StringNode)
	if root != nil && name != nil && root.Value == "steps" && m.steps[name.Value] == nil {
		m.steps[name.Value] = (&Result{}).view(name.Value, nil)
	}
}

func (v *evaluation) explain(e *Expr, err error) error {
	for _, ours := range []error{errWork, errValue} {
		if errors.Is(err, ours) {
			return v.fault(e.At, "%s", ours)
		}
	}
	at, what := e.At, err.Error()
	var f *file.Error
	if errors.As(err, &f) {
		at, what = e.place(f.From), strings.TrimSuffix(f.Message, ".")
	}
	if strings.Contains(what, "memory budget exceeded") {
		what = "it makes too much at once"
	}
	told := v.fault(at, "%s", what)
	if strings.Contains(what, "nil") {
		told.Do = "Write `?.` and `??` where something may be missing."
	}
	return told
}

// holds computes a condition; none holds.
func (v *evaluation) holds(e *Expr, what string) (bool, error) {
	if e == nil {
		return true, nil
	}
	out, err := v.eval(e)
	if err != nil {
		return false, err
	}
	b, ok := out.(bool)
	if !ok {
		return false, v.fault(e.At, "%s gives %s, not true or false", what, kindOf(out))
	}
	return b, nil
}

// text computes words.
func (v *evaluation) text(t *Text) (string, error) {
	segs, err := t.segments()
	if err != nil {
		return "", v.fault(t.mark(0), "%s", err)
	}
	var b strings.Builder
	for _, s := range segs {
		b.WriteString(s.words)
		if s.expr != nil {
			out, err := v.eval(s.expr)
			if err != nil {
				return "", err
			}
			switch out := out.(type) {
			case nil:
			case string:
				b.WriteString(out)
			default:
				j, err := v.json(out, s.expr.At)
				if err != nil {
					return "", err
				}
				b.Write(j)
			}
		}
		if b.Len() > maxValue {
			return "", v.fault(t.mark(0), "the text has more than %d bytes", maxValue)
		}
	}
	return b.String(), v.grow(b.Len(), t.mark(0))
}

// grow counts what was made.
func (v *evaluation) grow(n int, at Pos) error {
	if v.size += n; v.size > maxContent {
		return v.fault(at, "what the step says has more than %d bytes", maxContent)
	}
	return nil
}

func (v *evaluation) json(out any, at Pos) (json.RawMessage, error) {
	b, err := marshal(out)
	if err != nil {
		return nil, v.fault(at, "%s", err)
	}
	return b, v.grow(len(b), at)
}

// data computes data: a text that is one expression becomes what that gives.
func (v *evaluation) data(d *Value) (any, error) {
	switch {
	case d.Text != nil:
		if e := d.Text.sole(); e != nil {
			return v.eval(e)
		}
		return v.text(d.Text)
	case d.List != nil:
		l := make([]any, len(d.List))
		for i, e := range d.List {
			var err error
			if l[i], err = v.data(e); err != nil {
				return nil, err
			}
		}
		return l, nil
	case d.Map != nil:
		m := make(map[string]any, len(d.Map))
		for _, n := range d.Map {
			var err error
			if m[n.Name], err = v.data(n.Value); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return plain(d.JSON)
}

func (v *evaluation) named(ns []Named) (map[string]json.RawMessage, error) {
	m := make(map[string]json.RawMessage, len(ns))
	for _, n := range ns {
		out, err := v.data(n.Value)
		if err == nil {
			m[n.Name], err = v.json(out, n.Value.at(v.spec.At))
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// at is where a value stands in the file, as far as that is known.
func (d *Value) at(otherwise Pos) Pos {
	if es := d.exprs(); len(es) > 0 {
		return es[0].At
	}
	if d.Text != nil {
		return d.Text.mark(0)
	}
	return otherwise
}

// list computes what a step is done for.
func (v *evaluation) list(d *Value) ([]any, error) {
	out, err := v.data(d)
	if err != nil {
		return nil, err
	}
	at := d.at(v.spec.At)
	rv := reflect.ValueOf(out)
	if !rv.IsValid() || rv.Kind() != reflect.Slice {
		return nil, v.fault(at, "`for-each` gives %s, not a list", kindOf(out))
	}
	if rv.Len() > engine.MaxItems {
		return nil, v.fault(at, "`for-each` gives %d items; at most %d are allowed", rv.Len(), engine.MaxItems)
	}
	l := make([]any, rv.Len())
	for i := range l {
		l[i] = rv.Index(i).Interface()
	}
	return l, nil
}

func (v *evaluation) item(s *Spec) (it *Item, err error) {
	if s.Use != "" {
		it = &Item{Use: s.Use, From: s.File}
		it.With, err = v.named(s.With)
		return it, err
	}
	it = &Item{Agent: s.Agent, Fallback: s.Fallback}
	it.Parts, err = v.parts(s.Message)
	return it, err
}

func kindOf(v any) string {
	if v == nil {
		return "nothing"
	}
	switch reflect.ValueOf(v).Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "a map"
	}
	return "a number"
}
