package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/steps"
	"parley/orchestrator/workflow"
)

// conclude carries out engine.Finish for a plan: what it gives is told, and how it ended.
func (c *change) conclude(ctx context.Context, cmd *engine.Finish) error {
	if cmd.State != a2a.TaskStateCompleted {
		c.finish(cmd)
		return nil
	}
	parts, err := c.gives(ctx)
	var f *orchestrator.Fault
	if errors.As(err, &f) {
		c.log(&engine.Faulted{Class: engine.Noted, Fault: f})
		c.finish(&engine.Finish{State: a2a.TaskStateFailed, Fault: f})
		return nil
	}
	if err != nil {
		return err
	}
	c.say(cmd.State, parts...)
	return nil
}

// outputsID is the artifact that holds what a workflow gives, as one data part.
const outputsID = "outputs"

// gives tells what a plan made, and returns what is said at its end.
func (c *change) gives(ctx context.Context) ([]a2a.Part, error) {
	r, f := c.r, c.r.flow
	if n := len(f.decisions); n > 0 && f.decisions[n-1].Finish != nil {
		fin := f.decisions[n-1].Finish
		for _, a := range fin.Artifacts {
			ref, err := r.artifactOf(ctx, a)
			if err != nil {
				return nil, err
			}
			if err := c.give(ctx, ref.Step, ref.Index); err != nil {
				return nil, err
			}
		}
		if strings.TrimSpace(fin.Text) == "" {
			return nil, nil
		}
		for i := range f.Graph.Nodes {
			if f.Graph.Nodes[i].Kind != engine.NodeCall {
				continue
			}
			res, err := r.result(ctx, f.Graph.Nodes[i].ID)
			if err != nil {
				return nil, err
			}
			c.echoes = c.echoes || same(res.Text, fin.Text)
		}
		return []a2a.Part{a2a.TextPart(fin.Text)}, nil
	}
	if len(f.plan.Outputs) > 0 {
		env, err := r.env(ctx, nil, 1, nil)
		if err != nil {
			return nil, err
		}
		outputs, err := workflow.Outputs(f.Graph.Spec, env)
		if err != nil {
			return nil, err
		}
		c.tell(&a2a.ArtifactUpdate{TaskID: r.row.ID, ContextID: r.row.ContextID, Artifact: a2a.Artifact{
			ID: outputsID, Name: "Outputs", Parts: []a2a.Part{{Kind: a2a.PartData, Data: mustJSON(outputs)}},
		}})
		if text := outputText(f.plan.Outputs, outputs); text != "" {
			for _, res := range env.Steps {
				c.echoes = c.echoes || same(res.Text, text)
			}
			return []a2a.Part{a2a.TextPart(text)}, nil
		}
		return nil, nil
	}
	// What a plan gives that does not say so is what its last steps gave.
	c.echoes = true
	var texts []string
	for i := range f.Graph.Nodes {
		n := &f.Graph.Nodes[i]
		if f.Nodes[i].State != engine.NodeDone || n.Kind == engine.NodeAsk || f.Dependants(n.ID) > 0 {
			continue
		}
		res, err := r.result(ctx, n.ID)
		if err != nil {
			return nil, err
		}
		if res.Text != "" {
			texts = append(texts, res.Text)
		}
		if r.conversation() && r.parent == "" {
			continue // they stand in the transcript
		}
		for j := range res.Artifacts {
			if err := c.give(ctx, n.ID, j); err != nil {
				return nil, err
			}
		}
	}
	if len(texts) == 0 {
		return nil, nil
	}
	return []a2a.Part{a2a.TextPart(strings.Join(texts, "\n\n"))}, nil
}

// give tells an artifact of a step as one of the run.
func (c *change) give(ctx context.Context, step string, i int) error {
	res, err := c.r.result(ctx, step)
	if err != nil {
		return err
	}
	a := res.Artifacts[i]
	a.ID = step + "/" + a.ID
	c.tell(&a2a.ArtifactUpdate{TaskID: c.r.row.ID, ContextID: c.r.row.ContextID, Artifact: a})
	return nil
}

// outputText tells outputs to people, in the order of the file: the one there is as it is, several under their names.
func outputText(names []workflow.Named, outputs map[string]json.RawMessage) string {
	words := func(raw json.RawMessage) string {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
		if string(raw) == "null" {
			return ""
		}
		return "```json\n" + string(raw) + "\n```"
	}
	if len(names) == 1 {
		return words(outputs[names[0].Name])
	}
	var b strings.Builder
	for _, n := range names {
		if w := words(outputs[n.Name]); w != "" {
			fmt.Fprintf(&b, "**%s**\n\n%s\n\n", n.Name, w)
		}
	}
	return strings.TrimSpace(b.String())
}

// flowItems adds what the ended plan leaves in the transcript, beside what its calls left there: what it says that none
// of them said, and how it ended, where that is not plain success.
func (c *change) flowItems() {
	r := c.r
	said := ""
	if m := r.fold.Status.Message; m != nil {
		said = m.ID
	}
	took := c.at.Sub(r.row.Created)
	for _, it := range steps.Items(orchestrator.OwnAgent, r.fold, r.state.Fault, took) {
		var end orchestrator.EndData
		var made orchestrator.ArtifactData
		if it.Kind == orchestrator.ItemArtifact && json.Unmarshal(it.Data, &made) != nil {
			continue
		}
		switch words := it.Kind == orchestrator.ItemAgent || it.Kind == orchestrator.ItemArtifact && made.ArtifactID == said; {
		case words && c.echoes:
			continue
		case made.ArtifactID == outputsID:
			continue // it is said in words
		case it.Kind == orchestrator.ItemEnd && json.Unmarshal(it.Data, &end) == nil && end.State == string(a2a.TaskStateCompleted):
			continue
		case r.parent != "" && it.Kind != orchestrator.ItemEnd && !words:
			continue // the plan it is within gives it
		}
		c.item(it)
	}
}

// same reports whether two texts say the same.
func same(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }
