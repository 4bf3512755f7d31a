package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/workflow"
)

// The skills of our own agent by which A2A clients have workflows carried out:
//
//   - run-workflow: a data part {"workflow": the id of a kept one, or the text of a file, "inputs": {…}}. For tokens with the
//     scope `workflows`, or for workflows that are exposed;
//   - workflow-ID: one for each exposed workflow, named by `skillId` in the metadata of the message (or of the request). Its
//     inputs are a data part, and what is said in words is its first input of text.
//
// Either way a workflow sends to no agent that the caller's token does not reach.
const (
	runWorkflowSkill = "run-workflow"
	workflowSkill    = "workflow-" // before the id
)

// workflowsExtension is where our card has the JSON Schemas of the inputs, by skill: AgentSkill has no place for them.
const workflowsExtension = "urn:parley:workflows"

// launchOf reads what workflow a message to our own agent asks for; nil when it is a message like any other. Errors are
// *a2a.Error.
func (a *App) launchOf(ctx context.Context, principal string, r *a2a.SendRequest) (*orchestrator.Launch, error) {
	ask, err := readLaunch(r)
	if ask == nil || err != nil {
		return nil, err
	}
	l, err := a.launchFor(ctx, principal, ask)
	var f *orchestrator.Fault
	if errors.As(err, &f) {
		return nil, &a2a.Error{Kind: a2a.KindInvalidParams, Field: "message.parts", Message: f.What, Err: f}
	}
	return l, err
}

// launchRequest is a workflow as an A2A client asks for it.
type launchRequest struct {
	kept   string // an id
	source []byte
	inputs map[string]json.RawMessage
	text   string // what was said beside
}

// readLaunch finds it in a message; nil when there is none.
func readLaunch(r *a2a.SendRequest) (*launchRequest, error) {
	m := &r.Message
	if m.TaskID != "" && !r.NewTask {
		return nil, nil
	}
	skill := skillNamed(m.Metadata)
	if skill == "" {
		skill = skillNamed(r.Metadata)
	}
	ask := &launchRequest{text: strings.TrimSpace(a2a.Text(m.Parts))}
	named, one := strings.CutPrefix(skill, workflowSkill)
	switch {
	case one:
		ask.kept = named
	case skill != "" && skill != runWorkflowSkill:
		return nil, nil
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != a2a.PartData || !one && !bytes.Contains(p.Data, []byte(`"workflow"`)) {
			continue
		}
		var v map[string]json.RawMessage
		if json.Unmarshal(p.Data, &v) != nil {
			continue
		}
		if err := ask.take(v, one); err != nil {
			return nil, err
		}
	}
	if ask.kept == "" && ask.source == nil {
		if skill == runWorkflowSkill {
			return nil, invalidPart(`a data part {"workflow": …, "inputs": {…}} is wanted`)
		}
		return nil, nil
	}
	return ask, nil
}

// take reads a data part. one: the skill says which workflow, and the part may be the inputs themselves.
func (ask *launchRequest) take(v map[string]json.RawMessage, one bool) error {
	for name := range v {
		if name != "workflow" && name != "inputs" {
			if one && ask.inputs == nil {
				ask.inputs = v
			}
			return nil
		}
	}
	if raw := v["workflow"]; raw != nil && !one {
		var text string
		switch err := json.Unmarshal(raw, &text); {
		case err != nil && raw[0] == '{': // a file in JSON, which is YAML
			ask.source = raw
		case err != nil || text == "":
			return invalidPart("`workflow` is neither an id nor a file")
		case strings.ContainsAny(text, "\n:{"):
			ask.source = []byte(text)
		default:
			ask.kept = text
		}
	}
	if raw := v["inputs"]; raw != nil {
		if json.Unmarshal(raw, &ask.inputs) != nil {
			return invalidPart("`inputs` is no object")
		}
	}
	return nil
}

// skillNamed returns the skill that metadata names.
func skillNamed(m a2a.Metadata) string {
	var v struct {
		Skill string `json:"skillId"`
	}
	if !bytes.Contains(m, []byte(`"skillId"`)) || json.Unmarshal(m, &v) != nil {
		return ""
	}
	return v.Skill
}

func invalidPart(what string) *a2a.Error {
	return &a2a.Error{Kind: a2a.KindInvalidParams, Field: "message.parts", Message: what}
}

// launchFor makes the launch that a caller may have.
func (a *App) launchFor(ctx context.Context, principal string, ask *launchRequest) (*orchestrator.Launch, error) {
	scope := a.tokens.mayRunWorkflows(principal)
	if ask.source != nil {
		if !scope {
			return nil, errNoWorkflows
		}
		w, err := a.library.ready(ctx, "", ask.source)
		if err != nil {
			return nil, err
		}
		if id := a.unreached(ctx, principal, w); id != "" {
			return nil, invalidPart("there is no agent " + id + " for this token")
		}
		if _, err := w.Given(ask.inputs); err != nil {
			return nil, err
		}
		return &orchestrator.Launch{Source: ask.source, Inputs: ask.inputs}, nil
	}
	kept, err := a.library.find(ctx, ask.kept)
	var fault *orchestrator.Fault
	if err != nil && !errors.As(err, &fault) {
		return nil, err
	}
	if err != nil || !kept.Exposed && !scope {
		return nil, invalidPart("there is no workflow " + ask.kept + " for this token")
	}
	w, err := a.library.ready(ctx, kept.Name, kept.Source)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(w.On, workflow.OnA2A) {
		return nil, invalidPart("the file of " + w.Name + " says that only people start it")
	}
	if id := a.unreached(ctx, principal, w); id != "" {
		return nil, invalidPart(w.Name + " needs the agent " + id + ", which this token does not reach")
	}
	given := ask.inputs
	if free := w.FreeInput(given); ask.text != "" && free != "" {
		raw, err := w.Typed(free, ask.text)
		if err != nil {
			return nil, err
		}
		given = map[string]json.RawMessage{free: raw}
		for name, v := range ask.inputs {
			given[name] = v
		}
	}
	return complete(kept.ID, w, given)
}

var errNoWorkflows = &a2a.Error{
	Kind: a2a.KindForbidden, Message: "this token may not have workflow files carried out: it lacks the scope `workflows`",
}

// unreached returns an agent that a workflow names and its caller may not reach, "" when there is none.
func (a *App) unreached(ctx context.Context, principal string, w *workflow.Workflow) string {
	for _, id := range w.Agents() {
		if a.forCaller(ctx, principal, id) == nil {
			return id
		}
	}
	return ""
}

// offered returns the workflows that are skills for a caller: those of which it reaches every agent.
func (a *App) offered(ctx context.Context, principal string) []offered {
	all, err := a.library.exposed(ctx)
	if err != nil {
		a.log.ErrorContext(ctx, "the workflows could not be read", "err", err)
	}
	return slices.DeleteFunc(all, func(w offered) bool { return a.unreached(ctx, principal, w.read) != "" })
}

// runWorkflow describes the skill that carries out whatever workflow it is given.
func runWorkflow() a2a.AgentSkill {
	return a2a.AgentSkill{
		ID: runWorkflowSkill, Name: "Carry out a workflow",
		Description: "Takes a data part {\"workflow\": …, \"inputs\": {…}}: a kept workflow by its id, or the text of a workflow file, which names " +
			"agents by their ids here. Streams what each step does, asks when a person is needed, and ends with the outputs as an artifact.",
		Tags: []string{"workflow", "orchestration", "plan"}, InputModes: []string{"application/json"},
		Examples: []string{`{"workflow": "publish", "inputs": {"topic": "tide tables"}}`},
	}
}

// withWorkflows adds a skill for each workflow to a card of its own, and the schemas of their inputs.
func withWorkflows(card *a2a.AgentCard, all []offered) {
	schemas := map[string]json.RawMessage{}
	for _, w := range all {
		id := workflowSkill + w.ID
		s := a2a.AgentSkill{
			ID: id, Name: w.Name, Description: w.Description, Tags: []string{"workflow"}, InputModes: []string{"application/json", "text/plain"},
		}
		if s.Description == "" {
			s.Description = w.Name
		}
		schemas[id] = w.read.InputSchema()
		card.Skills = append(card.Skills, s)
	}
	if len(all) == 0 {
		return
	}
	params, err := json.Marshal(map[string]any{"inputSchemas": schemas})
	if err != nil {
		panic("app: " + err.Error()) // they are JSON
	}
	card.Capabilities.Extensions = append(slices.Clone(card.Capabilities.Extensions), a2a.AgentExtension{
		URI: workflowsExtension, Description: "The JSON Schema of each workflow's inputs, by skill. Name the skill in the message's metadata as skillId.", Params: params,
	})
}
