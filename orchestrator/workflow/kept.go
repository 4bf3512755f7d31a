package workflow

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"parley/orchestrator"
)

// KeptID returns the id of the kept workflow that `use:` means where there are no files beside: a path means the one
// whose id its file's name is.
func KeptID(use string) string {
	if !strings.HasPrefix(use, "./") && !strings.HasPrefix(use, "../") {
		return use
	}
	name := path.Base(use)
	return strings.TrimSuffix(name, path.Ext(name))
}

// Agents returns the ids of all agents that the file names, each once, in its order. Those that are found when a step
// runs are not among them.
func (w *Workflow) Agents() []string {
	var ids []string
	add := func(a *Agent) {
		if a != nil && a.ID != "" && !slices.Contains(ids, a.ID) {
			ids = append(ids, a.ID)
		}
	}
	for i := range w.Steps {
		s := &w.Steps[i]
		add(s.Agent)
		add(s.Fallback)
		if s.Undo != nil {
			add(s.Undo.Agent)
		}
	}
	return ids
}

// Missing returns the names of inputs that a run needs and was not given. The error is Given's for what was given.
func (w *Workflow) Missing(given map[string]json.RawMessage) ([]string, error) {
	var names []string
	rest := *w
	rest.Inputs = nil
	for _, in := range w.Inputs {
		if _, has := in.standard(); given[in.Name] == nil && !has && !in.Optional {
			names = append(names, in.Name)
			continue
		}
		rest.Inputs = append(rest.Inputs, in)
	}
	_, err := rest.Given(given)
	return names, err
}

// Asking returns the source of a workflow that asks a person for the inputs of a kept one that are missing, and then
// carries that out. What was given becomes its own inputs, so that nothing of it is read as part of a file.
func (w *Workflow) Asking(id string, given map[string]json.RawMessage, missing []string) []byte {
	properties, inputs, with := map[string]json.RawMessage{}, object{}, object{}
	for name := range given {
		inputs[name] = object{}
		with[name] = "${{ inputs." + name + " }}"
	}
	var what []string
	for i := range w.Inputs {
		in := &w.Inputs[i]
		if !slices.Contains(missing, in.Name) {
			continue
		}
		properties[in.Name] = in.Schema
		with[in.Name] = "${{ steps.inputs.data." + in.Name + " }}"
		if len(missing) == 1 && in.words() { // it may be answered in words, too
			with[in.Name] = "${{ steps.inputs.data?." + in.Name + " ?? steps.inputs.text }}"
		}
		what = append(what, in.label())
	}
	outputs := object{}
	for _, o := range w.Outputs {
		outputs[o.Name] = "${{ steps.run.data." + o.Name + " }}"
	}
	steps := []object{
		{"id": "inputs", "name": "Ask what it needs", "ask": object{
			"prompt": wanting(w.Name, strings.Join(what, ", ")),
			"schema": object{"type": "object", "title": w.Name, "properties": properties, "required": missing, "additionalProperties": false},
		}},
		{"id": "run", "name": w.Name, "needs": "inputs", "use": id, "with": with},
	}
	whole := object{"name": w.Name, "steps": steps}
	if len(inputs) > 0 {
		whole["inputs"] = inputs
	}
	if len(outputs) > 0 {
		whole["outputs"] = outputs
	}
	b, err := marshal(whole) // JSON is YAML
	if err != nil {
		panic("workflow: " + err.Error()) // it is made of what was read
	}
	return b
}

// label is what people call an input, in words that are no expression.
func (in *Input) label() string {
	var s struct {
		Title       string `json:"title"`
		Description string `json:"description"`
	}
	_ = json.Unmarshal(in.Schema, &s)
	switch {
	case strings.Contains(s.Title+s.Description, "${{"):
		return in.Name
	case s.Title != "":
		return s.Title
	case s.Description != "":
		return in.Name + " (" + strings.TrimSuffix(s.Description, ".") + ")"
	}
	return in.Name
}

// words reports whether an input is text.
func (in *Input) words() bool {
	var s struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(in.Schema, &s) == nil && s.Type == "string"
}

// Typed reads what somebody typed as the value of an input: as it is for one that is text, a list of texts also divided
// by commas, else JSON. An input that is not there takes JSON where it is that, else text; Given tells of it.
func (w *Workflow) Typed(name, text string) (json.RawMessage, error) {
	i := slices.IndexFunc(w.Inputs, func(in Input) bool { return in.Name == name })
	asText := func() json.RawMessage { b, _ := json.Marshal(text); return b }
	if i < 0 {
		if json.Valid([]byte(text)) {
			return json.RawMessage(text), nil
		}
		return asText(), nil
	}
	in := &w.Inputs[i]
	if in.words() {
		return asText(), nil
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	var s struct {
		Type  any `json:"type"`
		Items struct {
			Type any `json:"type"`
		} `json:"items"`
	}
	_ = json.Unmarshal(in.Schema, &s)
	if s.Type == "array" && s.Items.Type == "string" {
		var list []string
		for t := range strings.SplitSeq(text, ",") {
			if t = strings.TrimSpace(t); t != "" {
				list = append(list, t)
			}
		}
		b, err := json.Marshal(list)
		return b, err
	}
	if in.fits(asText()) == nil {
		return asText(), nil
	}
	return nil, &orchestrator.Fault{
		Kind: "inputs", Where: orchestrator.WhereUs, What: fmt.Sprintf("The input `%s` is no JSON, and its schema wants more than text.", name),
		Do: "Write it as JSON: " + string(in.Schema),
	}
}

// FreeInput returns the first input that is text and was not given, to take what somebody says beside; "" when there is
// none.
func (w *Workflow) FreeInput(given map[string]json.RawMessage) string {
	for _, must := range []bool{true, false} {
		for i := range w.Inputs {
			in := &w.Inputs[i]
			_, has := in.standard()
			if in.words() && given[in.Name] == nil && (!must || !has && !in.Optional) {
				return in.Name
			}
		}
	}
	return ""
}

// Worded reads what somebody typed as what a form wants: JSON, or the one text that it asks for. It is nil when it is
// neither; JSON is not checked.
func Worded(schema json.RawMessage, text string) json.RawMessage {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	words, err := json.Marshal(text)
	if err != nil || strings.TrimSpace(text) == "" {
		return nil
	}
	valid := json.Valid([]byte(text))
	if valid && (strings.ContainsAny(strings.TrimSpace(text)[:1], "{[") || Fits(schema, json.RawMessage(text)) == nil) {
		return json.RawMessage(text)
	}
	if Fits(schema, words) == nil {
		return words
	}
	if json.Unmarshal(schema, &s) == nil && len(s.Properties) == 1 {
		for name := range s.Properties {
			one, err := json.Marshal(map[string]json.RawMessage{name: words})
			if err == nil && Fits(schema, one) == nil {
				return one
			}
		}
	}
	if valid {
		return json.RawMessage(text)
	}
	return nil
}

// wanting is the question for the inputs that a workflow was not given.
func wanting(name, what string) string { return name + " still needs: " + what + "." }
