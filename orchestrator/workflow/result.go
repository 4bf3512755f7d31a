package workflow

import (
	"reflect"
	"strings"

	"parley/a2a"
	"parley/orchestrator/engine"
)

// Result is what became of a step, for the expressions of others.
type Result struct {
	Text      string
	Data      any // JSON as encoding/json decodes it, whole numbers as int
	Artifacts []a2a.Artifact
	State     engine.NodeState // "done", "failed", "skipped" or "canceled"
}

// ResultOf reads the task of a call that ended. Its text is that of its artifacts, and where they have none that of its
// last message; its data are the data parts, likewise: a list when there are several.
func ResultOf(t *a2a.Task, state engine.NodeState) *Result {
	r := &Result{Artifacts: t.Artifacts, State: state}
	var texts []string
	var data []any
	contents := make([][]a2a.Part, 0, len(t.Artifacts)+1)
	for i := range t.Artifacts {
		contents = append(contents, t.Artifacts[i].Parts)
	}
	made := len(contents)
	if m := t.Status.Message; m != nil {
		contents = append(contents, m.Parts)
	}
	var saidText, saidData bool
	for k, parts := range contents {
		if s := a2a.Text(parts); s != "" && (k < made || !saidText) {
			texts, saidText = append(texts, s), true
		}
		for i := range parts {
			if parts[i].Kind != a2a.PartData || k == made && saidData {
				continue
			}
			if v, err := plain(parts[i].Data); err == nil {
				data = append(data, v)
			}
		}
		saidData = saidData || len(data) > 0
	}
	r.Text = strings.Join(texts, "\n\n")
	switch len(data) {
	case 0:
	case 1:
		r.Data = data[0]
	default:
		r.Data = data
	}
	return r
}

// Joined makes one result of those of a step with for-each: their texts below one another, the list of their data, and
// all their artifacts.
func Joined(rs []*Result, state engine.NodeState) *Result {
	all := &Result{State: state}
	var texts []string
	data := make([]any, 0, len(rs))
	for _, r := range rs {
		if r.Text != "" {
			texts = append(texts, r.Text)
		}
		data = append(data, r.Data)
		all.Artifacts = append(all.Artifacts, r.Artifacts...)
	}
	all.Text, all.Data = strings.Join(texts, "\n\n"), data
	return all
}

// view is what expressions see of a result. The content of files is not among it; refs remembers which artifact is which.
func (r *Result) view(id string, refs map[uintptr]ArtifactRef) map[string]any {
	artifacts := make([]any, len(r.Artifacts))
	for i := range r.Artifacts {
		a := &r.Artifacts[i]
		parts := make([]any, len(a.Parts))
		var data any
		for j := range a.Parts {
			p := &a.Parts[j]
			part := map[string]any{"filename": p.Filename, "mediaType": p.MediaType, "text": p.Text, "url": p.URL, "data": nil, "size": len(p.Text) + len(p.Raw) + len(p.Data)}
			if p.Kind == a2a.PartData {
				part["data"], _ = plain(p.Data)
				if data == nil {
					data = part["data"]
				}
			}
			parts[j] = part
		}
		m := map[string]any{"id": a.ID, "name": a.Name, "description": a.Description, "text": a2a.Text(a.Parts), "data": data, "parts": parts}
		if refs != nil {
			refs[reflect.ValueOf(m).Pointer()] = ArtifactRef{Step: id, Index: i}
		}
		artifacts[i] = m
	}
	return map[string]any{"text": r.Text, "data": r.Data, "artifacts": artifacts, "state": string(r.State)}
}

// ItemPart is one part of a message. Exactly one of the fields is set.
type ItemPart struct {
	Part     *a2a.Part    `json:"part,omitempty"`
	Artifact *ArtifactRef `json:"artifact,omitempty"` // all parts of what an earlier step made
}

// ArtifactRef names an artifact: Result.Artifacts[Index] of a step.
type ArtifactRef struct {
	Step  string `json:"step"`
	Index int    `json:"index"`
}

// parts makes the parts of a message.
func (v *evaluation) parts(ps []Part) ([]ItemPart, error) {
	var out []ItemPart
	for i := range ps {
		p := &ps[i]
		part := &a2a.Part{MediaType: p.MediaType, Filename: p.Filename}
		var err error
		switch {
		case p.Text != nil:
			part.Text, err = v.text(p.Text)
		case p.URL != nil:
			part.Kind = a2a.PartURL
			part.URL, err = v.text(p.URL)
		case p.Data != nil:
			var d any
			part.Kind = a2a.PartData
			if d, err = v.data(p.Data); err == nil {
				part.Data, err = v.json(d, p.Data.at(v.spec.At))
			}
		default:
			refs, err := v.passed(p.Artifacts)
			if err != nil {
				return nil, err
			}
			for i := range refs {
				out = append(out, ItemPart{Artifact: &refs[i]})
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, ItemPart{Part: part})
	}
	if len(out) == 0 {
		return nil, v.fault(v.spec.At, "the message has no parts")
	}
	return out, nil
}

// passed finds the artifacts that an expression gives. Only those of steps count, not what looks like them: what an
// agent says cannot make another step's artifact be passed on.
func (v *evaluation) passed(e *Expr) ([]ArtifactRef, error) {
	out, err := v.eval(e)
	if err != nil {
		return nil, err
	}
	list, ok := out.([]any)
	if !ok {
		list = []any{out}
	}
	refs := make([]ArtifactRef, 0, len(list))
	for _, a := range list {
		m, ok := a.(map[string]any)
		var ref ArtifactRef
		if ok {
			ref, ok = v.artifacts[reflect.ValueOf(m).Pointer()]
		}
		if !ok {
			return nil, v.fault(e.At, "`artifacts` gives %s that is no artifact of a step", kindOf(a))
		}
		refs = append(refs, ref)
	}
	return refs, nil
}
