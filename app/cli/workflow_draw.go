package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/orchestrator/workflow"
)

// does says in a few words what a step does.
func does(s *workflow.Step) string {
	switch {
	case s.Agent != nil:
		return agentWords(s.Agent)
	case s.Use != "":
		return "use " + s.Use
	case s.Ask != nil:
		return "ask a person"
	case s.Outputs != nil:
		return "compute"
	}
	return "join"
}

func agentWords(a *workflow.Agent) string {
	if a.ID != "" {
		return a.ID
	}
	var words []string
	if a.Skill != "" {
		words = append(words, "skill "+a.Skill)
	}
	if len(a.Tags) > 0 {
		words = append(words, "tags "+strings.Join(a.Tags, ", "))
	}
	return "any with " + strings.Join(words, ", ")
}

// marks says what else is to be known of a step.
func marks(s *workflow.Step) []string {
	var m []string
	add := func(set bool, format string, args ...any) {
		if set {
			m = append(m, fmt.Sprintf(format, args...))
		}
	}
	add(s.Approve != nil, "approve")
	if s.If != nil {
		add(true, "if %s", clip(s.If.Src))
	}
	add(s.ForEach != nil, "for each")
	add(s.Loop > 0, "loop up to %d", s.Loop)
	add(s.Attempts > 1, "try %d times", s.Attempts)
	add(s.Join == "any", "when any is done")
	add(s.Join == "quorum", "when %d are done", s.Quorum)
	add(s.Join == "collect", "whatever became of them")
	add(s.OnError == "skip", "may fail")
	if s.Fallback != nil {
		add(true, "else %s", agentWords(s.Fallback))
	}
	add(s.Undo != nil, "undo")
	return m
}

// clip keeps a condition to one short line.
func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > 40 {
		return string([]rune(s)[:39]) + "…"
	}
	return s
}

// drawText draws a tree: each step below that of its needs which is farthest from the beginning; the others are named.
func drawText(out io.Writer, w *workflow.Workflow) {
	at := map[string]int{}
	for i := range w.Steps {
		at[w.Steps[i].ID] = i
	}
	depth := make([]int, len(w.Steps)) // from 1; 0 = not known yet
	var measure func(i int) int
	measure = func(i int) int {
		if depth[i] == 0 {
			d := 1
			for _, id := range w.Steps[i].Needs {
				d = max(d, 1+measure(at[id]))
			}
			depth[i] = d
		}
		return depth[i]
	}
	const top = -1
	children := map[int][]int{}
	for i := range w.Steps {
		measure(i)
		parent := top
		for _, id := range w.Steps[i].Needs {
			if j := at[id]; parent == top || measure(j) > depth[parent] {
				parent = j
			}
		}
		children[parent] = append(children[parent], i)
	}
	fmt.Fprintln(out, w.Name)
	var draw func(of int, indent string)
	draw = func(of int, indent string) {
		for k, i := range children[of] {
			s := &w.Steps[i]
			branch, below := "├─ ", "│  "
			if k == len(children[of])-1 {
				branch, below = "└─ ", "   "
			}
			line := s.ID + ": " + does(s)
			if m := marks(s); m != nil {
				line += " [" + strings.Join(m, "; ") + "]"
			}
			var also []string
			for _, id := range s.Needs {
				if at[id] != of {
					also = append(also, id)
				}
			}
			if also != nil {
				line += " (also after " + strings.Join(also, ", ") + ")"
			}
			fmt.Fprintln(out, indent+branch+line)
			draw(i, indent+below)
		}
	}
	draw(top, "")
}

// label is what a box says, its lines divided by br.
func label(s *workflow.Step, br string) string {
	lines := append([]string{s.ID, does(s)}, marks(s)...)
	return strings.Join(lines, br)
}

func drawMermaid(out io.Writer, w *workflow.Workflow) {
	fmt.Fprintln(out, "flowchart TD")
	names := map[string]string{}
	for i := range w.Steps {
		s := &w.Steps[i]
		names[s.ID] = "n" + strconv.Itoa(i)
		shape := [2]string{"[", "]"}
		switch s.Kind() {
		case "ask":
			shape = [2]string{"{{", "}}"}
		case "none":
			shape = [2]string{"([", "])"}
		}
		text := strings.NewReplacer(`#`, "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace(label(s, "\n"))
		fmt.Fprintf(out, "  %s%s\"%s\"%s\n", names[s.ID], shape[0], strings.ReplaceAll(text, "\n", "<br>"), shape[1])
	}
	for i := range w.Steps {
		for _, id := range w.Steps[i].Needs {
			fmt.Fprintf(out, "  %s --> %s\n", names[id], names[w.Steps[i].ID])
		}
	}
}

func drawDot(out io.Writer, w *workflow.Workflow) {
	quote := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
	}
	fmt.Fprintf(out, "digraph %s {\n  node [shape=box];\n", quote(w.Name))
	for i := range w.Steps {
		s := &w.Steps[i]
		shape := ""
		switch s.Kind() {
		case "ask":
			shape = ", shape=hexagon"
		case "none":
			shape = ", shape=ellipse"
		}
		fmt.Fprintf(out, "  %s [label=%s%s];\n", quote(s.ID), quote(label(s, "\n")), shape)
	}
	for i := range w.Steps {
		for _, id := range w.Steps[i].Needs {
			fmt.Fprintf(out, "  %s -> %s;\n", quote(id), quote(w.Steps[i].ID))
		}
	}
	fmt.Fprintln(out, "}")
}
