package workflow

import (
	"encoding/json"
	"path"
	"strings"

	"parley/orchestrator/engine"
)

// CheckUses looks at the workflows that w uses by file (./ and ../), which open reads, and at theirs: whether they are
// there and without problems, take the inputs they are given, and do not use each other in a circle or too deep. What
// is used by name is known only where it runs. File names are slash-separated.
func (w *Workflow) CheckUses(open func(file string) ([]byte, error)) Problems {
	r := &reader{}
	u := &usage{open: open, read: map[string]*Workflow{}, checked: map[level]*Problem{}}
	u.check(r, w, []string{path.Clean(w.File)})
	return r.sorted()
}

// usage remembers what was looked at, so that files which use each other many times cost no more than once.
type usage struct {
	open    func(file string) ([]byte, error)
	read    map[string]*Workflow // nil: it has problems, which were told
	checked map[level]*Problem   // the first of what it uses; nil: there is none
}

// level is a file and how deep it was met.
type level struct {
	file  string
	depth int
}

// UsedFile returns the file that a step uses, "" when it uses none.
func (w *Workflow) UsedFile(s *Step) string {
	if !strings.HasPrefix(s.Use, "./") && !strings.HasPrefix(s.Use, "../") {
		return ""
	}
	return path.Join(path.Dir(w.File), s.Use)
}

// check looks at the steps of w, which is the last of files.
func (u *usage) check(r *reader, w *Workflow, files []string) {
	for i := range w.Steps {
		s := &w.Steps[i]
		file := w.UsedFile(s)
		if file == "" {
			continue
		}
		bad := func(do, format string, args ...any) { r.bad(s.At, do, "step `"+s.ID+"`: "+format, args...) }
		circle := false
		for _, f := range files {
			circle = circle || f == file
		}
		switch {
		case circle:
			bad("take one of them out", "workflows use each other in a circle: %s", strings.Join(append(files, file), " → "))
			continue
		case len(files) > engine.MaxDepth:
			bad("join some of them", "workflows use each other more than %d deep", engine.MaxDepth)
			continue
		}
		used, known := u.read[file]
		if !known {
			src, err := u.open(file)
			if err != nil {
				bad("see the path: it is relative to this file", "%s cannot be read", file)
			} else if w, ps := Parse(file, src); ps != nil {
				bad("correct them first", "%s has problems of its own, the first in line %d", file, ps[0].Line)
			} else {
				used = w
			}
			u.read[file] = used
		}
		if used == nil {
			continue
		}
		r.given(s, used)
		at := level{file, len(files)}
		first, known := u.checked[at]
		if !known {
			inner := &reader{}
			if u.check(inner, used, append(files[:len(files):len(files)], file)); len(inner.problems) > 0 {
				first = &inner.problems[0]
			}
			u.checked[at] = first
		}
		if first != nil {
			bad(first.Do, "%s, line %d: %s", file, first.Line, first.What)
		}
	}
}

// given checks what a step gives to the workflow it uses, as far as that is known before a run.
func (r *reader) given(s *Step, used *Workflow) {
	has := map[string]*Value{}
	for _, n := range s.With {
		has[n.Name] = n.Value
	}
	var names []string
	for i := range used.Inputs {
		in := &used.Inputs[i]
		names = append(names, in.Name)
		v, given := has[in.Name]
		if _, standard := in.standard(); !given && !standard && !in.Optional {
			r.bad(s.At, "add it to `with`", "step `%s`: the input `%s` of %s is needed", s.ID, in.Name, used.File)
		}
		if given && len(v.exprs()) == 0 {
			if b, err := json.Marshal(v.literal()); err == nil {
				if err := in.fits(b); err != nil {
					r.bad(s.At, "correct it", "step `%s`: the input `%s` of %s does not fit: %s", s.ID, in.Name, used.File, err)
				}
			}
		}
		delete(has, in.Name)
	}
	for _, n := range s.With {
		if has[n.Name] != nil {
			r.bad(s.At, didYouMean(n.Name, names), "step `%s`: %s has no input `%s`", s.ID, used.File, n.Name)
		}
	}
}

// literal is a value without expressions.
func (v *Value) literal() any {
	switch {
	case v.Text != nil:
		return v.Text.Src
	case v.List != nil:
		l := make([]any, len(v.List))
		for i, e := range v.List {
			l[i] = e.literal()
		}
		return l
	case v.Map != nil:
		m := make(map[string]any, len(v.Map))
		for _, n := range v.Map {
			m[n.Name] = n.Value.literal()
		}
		return m
	}
	return v.JSON
}
