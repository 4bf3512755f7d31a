package app

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"

	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/workflow"
)

// runner is the driver as people reach it: what is said as `/id …` begins the kept workflow of that id.
type runner struct {
	*local.Driver
	library *library
}

// Say is orchestrator.Runner's.
func (r *runner) Say(ctx context.Context, s *orchestrator.Say) (*orchestrator.Run, error) {
	l, err := r.library.said(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case l != nil:
		return r.Launch(ctx, l)
	}
	return r.Driver.Say(ctx, s)
}

// said reads `/id name=value … words`: the values are inputs, and the words the first input that is text and was not given.
// What begins with a slash and is the id of no workflow is said like anything else: nil.
func (l *library) said(ctx context.Context, s *orchestrator.Say) (*orchestrator.Launch, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s.Text), "/")
	if !ok {
		return nil, nil
	}
	id, rest, _ := cutSpace(rest)
	kept, err := l.store.Workflow(ctx, id)
	if errors.Is(err, orchestrator.ErrNotFound) || id == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w, err := l.ready(ctx, kept.Name, kept.Source)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(w.On, workflow.OnManual) {
		return nil, &orchestrator.Fault{
			Kind: "workflow", Where: orchestrator.WhereUs, What: "The file of " + w.Name + " says that only A2A clients start it.", Do: "Write `on: [manual, a2a]`.",
		}
	}
	if len(s.Files) > 0 || s.Data != nil {
		return nil, &orchestrator.Fault{
			Kind: "inputs", Where: orchestrator.WhereUs, What: "A workflow takes inputs, and no files.", Do: "Take the files off the message.",
		}
	}
	given, err := typedInputs(w, rest)
	if err != nil {
		return nil, err
	}
	launch, err := complete(kept.ID, w, given)
	if err != nil {
		return nil, err
	}
	launch.Text, launch.ConversationID, launch.MessageID = s.Text, s.ConversationID, s.MessageID
	return launch, nil
}

// complete begins a kept workflow, or, where it needs more than was given, the one that asks for the rest first.
func complete(id string, w *workflow.Workflow, given map[string]json.RawMessage) (*orchestrator.Launch, error) {
	missing, err := w.Missing(given)
	switch {
	case err != nil:
		return nil, err
	case len(missing) > 0:
		return &orchestrator.Launch{Source: w.Asking(id, given, missing), As: id, Inputs: given}, nil
	}
	return &orchestrator.Launch{Workflow: id, Inputs: given}, nil
}

// typedInputs reads `name=value …` amid words. A value may stand in quotation marks.
func typedInputs(w *workflow.Workflow, text string) (map[string]json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	var words []string
	for text = strings.TrimSpace(text); text != ""; {
		word, after, _ := cutSpace(text)
		name, value, ok := strings.Cut(word, "=")
		if !ok || !slices.ContainsFunc(w.Inputs, func(in workflow.Input) bool { return in.Name == name }) {
			words, text = append(words, word), after
			continue
		}
		if value != "" && strings.ContainsRune(`"'`, rune(value[0])) {
			inner := text[len(name)+2:]
			if quoted, behind, closed := strings.Cut(inner, value[:1]); closed {
				value, after = quoted, strings.TrimSpace(behind)
			}
		}
		raw, err := w.Typed(name, value)
		if err != nil {
			return nil, err
		}
		given[name], text = raw, after
	}
	if len(words) == 0 {
		return given, nil
	}
	free := w.FreeInput(given)
	if free == "" {
		return nil, &orchestrator.Fault{
			Kind: "inputs", Where: orchestrator.WhereUs, What: w.Name + " has no input left that could take “" + strings.Join(words, " ") + "”.",
			Do: "Write each as name=value: " + inputNames(w) + ".",
		}
	}
	raw, err := w.Typed(free, strings.Join(words, " "))
	given[free] = raw
	return given, err
}

func inputNames(w *workflow.Workflow) string {
	if len(w.Inputs) == 0 {
		return "it takes none"
	}
	names := make([]string, len(w.Inputs))
	for i := range w.Inputs {
		names[i] = w.Inputs[i].Name
	}
	return strings.Join(names, ", ")
}

// cutSpace divides s at its first white space.
func cutSpace(s string) (word, rest string, found bool) {
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, "", false
	}
	return s[:i], strings.TrimSpace(s[i:]), true
}
