package local

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/workflow"
)

// files keeps the workflows that were read last: one that is run again and again is read once. What is kept is never
// changed.
type files struct {
	mu  sync.Mutex
	all []*file // the one that was used last is the last
}

// file is a workflow as it was read.
type file struct {
	name, source string
	workflow     *workflow.Workflow
}

// keptFiles is how many workflows are kept.
const keptFiles = 16

// read is workflow.Parse.
func (k *files) read(name string, source []byte) (*workflow.Workflow, workflow.Problems) {
	if w := k.kept(name, source); w != nil {
		return w, nil
	}
	w, problems := workflow.Parse(name, source)
	if problems != nil {
		return nil, problems
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) == keptFiles {
		k.all = slices.Delete(k.all, 0, 1)
	}
	k.all = append(k.all, &file{name: name, source: string(source), workflow: w})
	return w, nil
}

// kept returns a workflow that was read before, or nil.
func (k *files) kept(name string, source []byte) *workflow.Workflow {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.all, func(f *file) bool { return f.name == name && f.source == string(source) })
	if i < 0 {
		return nil
	}
	f := k.all[i]
	k.all = append(slices.Delete(k.all, i, i+1), f)
	return f.workflow
}

// planOf reads a workflow file into a plan for the inputs of one run.
func (d *Driver) planOf(file string, source []byte, inputs map[string]json.RawMessage, depth int) (*engine.Planned, error) {
	w, problems := d.files.read(file, source)
	if len(problems) > 0 {
		p := problems[0]
		f := &orchestrator.Fault{
			Kind: "workflow", Where: orchestrator.WhereUs, Do: "Correct the workflow file.",
			What: fmt.Sprintf("The workflow cannot be run (%s, line %d, column %d): %s.", file, p.Line, p.Column, strings.TrimSuffix(p.What, ".")),
		}
		if file == workflow.Unnamed {
			f.What = fmt.Sprintf("The workflow cannot be run (line %d, column %d): %s.", p.Line, p.Column, strings.TrimSuffix(p.What, "."))
		}
		return nil, f
	}
	g, err := w.Graph(inputs, depth)
	if err != nil {
		return nil, err
	}
	p := &engine.Planned{Graph: g, Source: string(source)}
	if len(inputs) > 0 {
		p.Inputs = mustJSON(inputs)
	}
	return p, nil
}
