package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/orchestrator/engine"
)

// check finds what is wrong between the parts of a file that were each read.
func (r *reader) check(w *Workflow) {
	if len(w.On) == 0 {
		w.On = []Trigger{OnManual, OnA2A}
	}
	at := map[string]int{}
	for i := range w.Steps {
		s := &w.Steps[i]
		if s.ID == "" {
			// It has been told.
		} else if first, twice := at[s.ID]; twice {
			r.bad(s.At, "give one of them another", "the id `%s` is there twice; the first is in line %d", s.ID, w.Steps[first].At.Line)
		} else {
			at[s.ID] = i
		}
		if s.Approve != nil && s.Approve.Src == "" {
			s.Approve.Src = "Go on with " + title(s) + "?"
			s.Approve.At = s.Approve.At[:1]
		}
		if !r.broken[i] { // what is missing may be what could not be read
			r.checkKind(s)
		}
	}
	if n := w.Budget.Nodes; n > 0 && len(w.Steps) > n {
		r.bad(w.Steps[0].At, "allow more, or take some out", "there are %d steps; the budget allows %d", len(w.Steps), n)
	}
	ids := slices.Sorted(maps.Keys(at))
	before := r.checkNeeds(w, at, ids)
	r.checkExprs(w, at, ids, before)
}

// title is what people call a step.
func title(s *Step) string {
	if s.Name != "" {
		return s.Name
	}
	return s.ID
}

// checkKind finds keys that do not go together.
func (r *reader) checkKind(s *Step) {
	bad := func(do, format string, args ...any) { r.bad(s.At, do, "step `"+s.ID+"`: "+format, args...) }
	var does []string
	for _, k := range []struct {
		name string
		set  bool
	}{{"agent", s.Agent != nil}, {"use", s.Use != ""}, {"ask", s.Ask != nil}} {
		if k.set {
			does = append(does, k.name)
		}
	}
	if len(does) > 1 {
		bad("divide it into steps", "%s do not go together", quoted(does, "and"))
		return
	}
	kind := s.Kind()
	switch {
	case s.Agent != nil && s.Message == nil:
		bad("add a `message`", "the agent gets no message")
	case s.Agent == nil && s.Message != nil:
		bad("add an `agent`", "the `message` is for nobody")
	case len(does) == 0 && len(s.Outputs) == 0 && len(s.Needs) == 0:
		bad("give it an `agent`, a `use`, an `ask`, or `outputs` to compute", "it does nothing")
	}
	if s.With != nil && s.Use == "" {
		bad("add `use`", "`with` is for the workflow that `use` names")
	}
	if s.Ask != nil && s.Ask.Choices != nil && s.Ask.Schema != nil {
		bad("take one of them out", "`choices` and `schema` do not go together")
	}
	for _, k := range []struct {
		name string
		set  bool
	}{
		{"for-each", s.ForEach != nil},
		{"retry", s.Attempts > 0},
		{"on-error: {fallback}", s.Fallback != nil},
		{"undo", s.Undo != nil},
	} {
		if k.set && kind != engine.NodeCall {
			bad("take it out", "`%s` is for steps with an `agent` or `use`", k.name)
		}
	}
	switch {
	case s.Loop > 0 && kind == engine.NodeNone:
		bad("take it out", "`loop` is for steps that do something")
	case s.Approve != nil && kind != engine.NodeCall:
		bad("take it out", "`approve` is for steps with an `agent` or `use`")
	case s.Answer != "" && s.Agent == nil:
		bad("take it out", "`answer` is for steps with an `agent`")
	case s.Parallel > 0 && s.ForEach == nil:
		bad("add `for-each`, or take it out", "`max-parallel` is for steps with `for-each`")
	case s.Join != engine.JoinAll && len(s.Needs) == 0:
		bad("say what it needs", "`join` is for steps with `needs`")
	case s.Join == engine.JoinQuorum && s.Quorum > len(s.Needs):
		bad(fmt.Sprintf("write at most %d", len(s.Needs)), "a quorum of %d, and it needs %d", s.Quorum, len(s.Needs))
	case s.Fallback != nil && s.Use != "":
		bad("use `fail` or `skip`", "another agent cannot get a workflow")
	case s.Undo != nil && s.Undo.Agent == nil && s.Use != "":
		bad("add its `agent`", "`undo` of a workflow must say who undoes it")
	}
}

// checkNeeds finds steps that are needed and are not there, or that need themselves, and returns what comes before each:
// before[i][j] says that step i comes after step j.
func (r *reader) checkNeeds(w *Workflow, at map[string]int, ids []string) [][]bool {
	needs := make([][]int, len(w.Steps))
	for i := range w.Steps {
		s := &w.Steps[i]
		for _, id := range s.Needs {
			j, ok := at[id]
			switch {
			case !ok:
				r.bad(s.At, didYouMean(id, ids), "step `%s` needs `%s`, which is not there", s.ID, id)
			case j == i:
				r.bad(s.At, "take it out of `needs`", "step `%s` needs itself", s.ID)
			default:
				needs[i] = append(needs[i], j)
			}
		}
	}
	const (
		unseen = iota
		open
		closed
	)
	mark := make([]byte, len(w.Steps))
	before := make([][]bool, len(w.Steps))
	var path []int
	var visit func(i int)
	visit = func(i int) {
		mark[i], path = open, append(path, i)
		before[i] = make([]bool, len(w.Steps))
		for _, j := range needs[i] {
			switch mark[j] {
			case open:
				var circle []string
				for k := len(path) - 1; path[k] != j; k-- {
					circle = append(circle, w.Steps[path[k]].ID)
				}
				r.bad(w.Steps[i].At, "take one of them out of `needs`", "steps need each other in a circle: %s",
					strings.Join(append(append([]string{w.Steps[j].ID}, reversed(circle)...), w.Steps[j].ID), " ← "))
				continue
			case unseen:
				visit(j)
			}
			before[i][j] = true
			for k, comes := range before[j] {
				before[i][k] = before[i][k] || comes
			}
		}
		mark[i], path = closed, path[:len(path)-1]
	}
	for i := range w.Steps {
		if mark[i] == unseen {
			visit(i)
		}
	}
	return before
}

func reversed(s []string) []string {
	out := make([]string, 0, len(s))
	for i := len(s) - 1; i >= 0; i-- {
		out = append(out, s[i])
	}
	return out
}

// checkExprs looks at every expression.
func (r *reader) checkExprs(w *Workflow, at map[string]int, ids []string, before [][]bool) {
	every := &scope{inputs: w.Inputs, ids: ids, steps: func(id string) (may, known bool) {
		_, known = at[id]
		return known, known
	}}
	for i := range w.Steps {
		s := &w.Steps[i]
		sees := func(itself, item bool) *scope {
			return &scope{inputs: w.Inputs, ids: ids, item: item && s.ForEach != nil, steps: func(id string) (may, known bool) {
				j, known := at[id]
				return known && (before[i][j] || itself && id == s.ID), known
			}, hint: func(id string) string {
				if id == s.ID {
					return "only `loop.while`, `undo` and `outputs` see the step itself, and what one with `loop` says"
				}
				return "add it to the `needs` of `" + s.ID + "`"
			}}
		}
		begin, end, said := sees(false, false), sees(true, false), sees(s.Loop > 0, true)
		r.examine(begin, s.If.all()...)
		r.examine(begin, s.ForEach.exprs()...)
		r.examine(begin, s.Approve.all()...)
		r.examine(said, partExprs(s.Message)...)
		r.examine(said, namedExprs(s.With)...)
		if s.Ask != nil {
			r.examine(said, s.Ask.Prompt.all()...)
		}
		r.examine(end, s.While.all()...)
		if s.Undo != nil {
			r.examine(end, partExprs(s.Undo.Message)...)
		}
		r.examine(end, namedExprs(s.Outputs)...)
	}
	r.examine(every, namedExprs(w.Outputs)...)
}

func (r *reader) examine(sc *scope, es ...*Expr) {
	for _, e := range es {
		if len(r.problems) > 2*maxProblems {
			return
		}
		for _, f := range examine(e.Src, sc) {
			r.bad(e.place(f.at), f.do, "%s", f.what)
		}
	}
}

// place is where the nth character of the expression stands.
func (e *Expr) place(n int) Pos {
	rs := []rune(e.Src)
	return advance(e.At, string(rs[:min(n, len(rs))]))
}

func (e *Expr) all() []*Expr {
	if e == nil {
		return nil
	}
	return []*Expr{e}
}

func (t *Text) all() []*Expr {
	if t == nil {
		return nil
	}
	return t.exprs()
}

// exprs returns the expressions of a value.
func (v *Value) exprs() []*Expr {
	if v == nil {
		return nil
	}
	es := v.Text.all()
	for _, e := range v.List {
		es = append(es, e.exprs()...)
	}
	return append(es, namedExprs(v.Map)...)
}

func namedExprs(ns []Named) (es []*Expr) {
	for _, n := range ns {
		es = append(es, n.Value.exprs()...)
	}
	return es
}

func partExprs(ps []Part) (es []*Expr) {
	for i := range ps {
		p := &ps[i]
		es = append(append(append(append(es, p.Text.all()...), p.Data.exprs()...), p.URL.all()...), p.Artifacts.all()...)
	}
	return es
}
