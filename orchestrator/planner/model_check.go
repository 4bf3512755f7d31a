package planner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/planner/completions"
)

// Whatever a model answers counts only as far as this file lets it: it names agents that may be named, artifacts that there
// are, and keeps to the bounds. What the prompts say of that is help for the model; this is the rule.

// problem is what is wrong with what a model answered, in words for the model.
type problem string

func (p problem) Error() string { return string(p) }

func problemf(format string, args ...any) error { return problem(fmt.Sprintf(format, args...)) }

// decision makes of the calls of tools what is to be done, or says what is wrong with them.
func (b *Brief) decision(calls []completions.Call, tools []completions.Tool) (*Decision, error) {
	if len(calls) == 0 {
		return nil, problemf("No tool was called. Call %s.", names(tools))
	}
	for _, c := range calls {
		if !slices.ContainsFunc(tools, func(t completions.Tool) bool { return t.Name == c.Name }) {
			return nil, problemf("There is no tool %s here. Call %s.", quoted(c.Name, 60), names(tools))
		}
		if c.Name != calls[0].Name || c.Name != toolDelegate && len(calls) > 1 {
			return nil, problemf("Several tools were called. Call only one: %s.", names(tools))
		}
	}
	d := &Decision{}
	for _, c := range calls {
		var err error
		switch c.Name {
		case toolDelegate:
			err = b.delegate(d, c.Arguments)
		case toolAsk:
			err = ask(d, c.Arguments)
		default:
			err = b.finish(d, c.Arguments)
		}
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// arguments reads the arguments of a call.
func arguments(tool, raw string, into any) error {
	if strings.TrimSpace(raw) == "" {
		raw = "{}"
	}
	if err := json.Unmarshal([]byte(raw), into); err != nil {
		return problemf("The arguments of %s are not the JSON that is wanted: %s.", tool, cutRunes(err.Error(), 200))
	}
	return nil
}

func (b *Brief) delegate(d *Decision, raw string) error {
	var args delegateArgs
	if err := arguments(toolDelegate, raw, &args); err != nil {
		return err
	}
	if len(args.Tasks) == 0 { // one task, without the list around it
		var one taskArgs
		if json.Unmarshal([]byte(raw), &one) == nil && one.Agent != "" {
			args.Tasks = oneOrMore[taskArgs]{one}
		}
	}
	if d.Why == "" {
		d.Why = cutRunes(strings.Join(strings.Fields(clean(args.Why)), " "), maxWhy)
	}
	if len(args.Tasks) == 0 {
		return problemf(`delegate needs "tasks": a list of {"agent", "message"}.`)
	}
	for _, t := range args.Tasks {
		if len(d.Delegate) == MaxDelegations {
			return problemf("These are more than %d tasks at once. Begin with the most important ones.", MaxDelegations)
		}
		agent, err := b.agentOf(t.Agent)
		if err != nil {
			return err
		}
		message := strings.TrimSpace(t.Message)
		switch {
		case message == "":
			return problemf("The task for %s has no message.", agent)
		case len(message) > MaxMessage:
			return problemf("The message to %s has %d bytes; at most %d are allowed. Pass on artifacts, or shorten it.", agent, len(message), MaxMessage)
		case slices.ContainsFunc(d.Delegate, func(o Delegation) bool { return o.Agent == agent && o.Message == message }):
			return problemf("%s is given the same task twice.", agent)
		case b.gave(agent, message):
			return problemf("%s was given this very task before. Use its result, or ask for something else.", agent)
		}
		refs, err := b.artifacts(t.Artifacts)
		if err != nil {
			return err
		}
		d.Delegate = append(d.Delegate, Delegation{ID: b.delegationID(len(d.Delegate) + 1), Agent: agent, Message: message, Artifacts: refs})
	}
	return nil
}

// agentOf returns the id of the agent that a model means: one that may be named, by its id, or by a name that only it has.
func (b *Brief) agentOf(said string) (string, error) {
	usable := b.usable()
	if has(usable, said) {
		return said, nil
	}
	found := ""
	for _, a := range usable {
		if !strings.EqualFold(a.ID, said) && !strings.EqualFold(a.Name, said) {
			continue
		}
		if found != "" {
			found = ""
			break
		}
		found = a.ID
	}
	if found != "" {
		return found, nil
	}
	if _, declined := b.Decline[said]; declined {
		return "", problemf("The agent %s declined, and cannot be asked again.", quoted(said, 128))
	}
	ids := make([]string, len(usable))
	for i, a := range usable {
		ids[i] = a.ID
	}
	return "", problemf("There is no agent %s. The ids of the agents are: %s.", quoted(said, 128), strings.Join(ids, ", "))
}

// gave reports whether an agent was given a task before, and did it, or failed at it twice.
func (b *Brief) gave(agent, message string) bool {
	failed := 0
	for i := range b.Rounds {
		r := &b.Rounds[i]
		for j := range r.Decision.Delegate {
			if d := &r.Decision.Delegate[j]; d.Agent != agent || strings.TrimSpace(d.Message) != message {
				continue
			}
			if j >= len(r.Results) || r.Results[j].ok() {
				return true
			}
			failed++
		}
	}
	return failed > 1
}

// artifacts finds what a model passes on.
func (b *Brief) artifacts(said []string) ([]ArtifactRef, error) {
	if len(said) > MaxPassed {
		return nil, problemf("These are more than %d artifacts at once.", MaxPassed)
	}
	order, by := b.handles()
	var refs []ArtifactRef
	for _, h := range said {
		ref, ok := by[strings.TrimSpace(h)]
		switch {
		case !ok && len(order) == 0:
			return nil, problemf("There is no artifact %s: there are none yet.", quoted(h, 128))
		case !ok:
			return nil, problemf("There is no artifact %s. There are: %s.", quoted(h, 128), strings.Join(order, ", "))
		case !slices.Contains(refs, ref):
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

func ask(d *Decision, raw string) error {
	var args askArgs
	if err := arguments(toolAsk, raw, &args); err != nil {
		return err
	}
	q := &Question{Prompt: strings.TrimSpace(args.Question)}
	switch {
	case q.Prompt == "":
		return problemf(`ask_person needs a "question".`)
	case len(q.Prompt) > MaxQuestion:
		return problemf("The question has %d bytes; at most %d are allowed.", len(q.Prompt), MaxQuestion)
	case len(args.Choices) > MaxChoices:
		return problemf("These are %d choices; at most %d are allowed.", len(args.Choices), MaxChoices)
	}
	for _, c := range args.Choices {
		c = strings.TrimSpace(c)
		if c == "" || len(c) > MaxChoice {
			return problemf("A choice has to have 1 to %d bytes.", MaxChoice)
		}
		if !slices.ContainsFunc(q.Choices, func(o orchestrator.Choice) bool { return o.ID == c }) {
			q.Choices = append(q.Choices, orchestrator.Choice{ID: c, Label: c})
		}
	}
	d.Ask = q
	return nil
}

func (b *Brief) finish(d *Decision, raw string) error {
	var args finishArgs
	if err := arguments(toolFinish, raw, &args); err != nil {
		return err
	}
	refs, err := b.artifacts(args.Artifacts)
	if err != nil {
		return err
	}
	return b.finished(d, args.Answer, refs)
}

// finished ends the plan with an answer.
func (b *Brief) finished(d *Decision, answer string, refs []ArtifactRef) error {
	answer = strings.TrimSpace(answer)
	switch {
	case answer == "":
		return problemf(`finish needs an "answer".`)
	case len(answer) > MaxFinish:
		return problemf("The answer has %d bytes; at most %d are allowed.", len(answer), MaxFinish)
	}
	d.Finish = &Finish{Text: answer, Artifacts: refs}
	return nil
}

// said is what the person said: to begin with, before, and in answer to questions.
func (b *Brief) said() []string {
	var all []string
	for _, t := range b.Earlier {
		if t.AgentID == "" {
			all = append(all, t.Text)
		}
	}
	all = append(all, a2a.Text(b.Request))
	for i := range b.Rounds {
		if r := &b.Rounds[i]; r.Decision.Ask != nil {
			all = append(all, r.Answer)
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return strings.TrimSpace(s) == "" })
}
