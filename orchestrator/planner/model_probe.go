package planner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"parley/orchestrator"
	"parley/orchestrator/planner/completions"
)

// Probe asks a model for the smallest plan there is, and says to a person what came of it.
func Probe(ctx context.Context, c *completions.Client, name string) *orchestrator.ModelTest {
	t := &orchestrator.ModelTest{}
	fail := func(f *orchestrator.Fault) *orchestrator.ModelTest {
		t.What, t.Do, t.Raw = f.What, f.Do, f.Raw
		return t
	}
	models, err := c.Models(ctx)
	var e *completions.Error
	if errors.As(err, &e) {
		switch e.Kind {
		case completions.Unreachable, completions.Blocked, completions.BadKey:
			return fail(faultOf(err, name))
		}
	}
	t.Models = models // a server that does not say which models it has may have this one
	if name == "" {
		f := &orchestrator.Fault{What: "The endpoint answers, but no model is chosen.", Do: "Choose a model."}
		if err != nil {
			f = faultOf(err, name)
		}
		return fail(f)
	}
	echo := []*orchestrator.Agent{{ID: "echo", Name: "echo", Trust: orchestrator.TrustApproved}}
	offered := tools(echo, nil, 2)[:1]
	b := &Brief{Agents: echo, Left: 2}
	begun := time.Now()
	for written := false; ; written = true {
		r := &completions.Request{Model: name, Messages: []completions.Message{{Role: completions.User, Content: prompt("probe", nil)}}, Tools: offered, Must: true}
		if written {
			r.Messages[0].Content, r.Tools = prompt("probe", nil)+"\n\n"+prompt("probe_text", nil), nil
		}
		reply, err := c.Complete(ctx, r)
		t.Took = time.Since(begun)
		if !written && errors.As(err, &e) && e.Kind == completions.NoTools {
			continue
		}
		if err != nil {
			f := faultOf(err, name)
			if errors.As(err, &e) && e.Kind == completions.NoModel && len(models) > 0 {
				f.Do = "Choose one that it has: " + listed(models) + "."
			}
			return fail(f)
		}
		t.Tools = len(reply.Calls) > 0
		calls := reply.Calls
		if len(calls) == 0 {
			calls = writtenCalls(spoken(reply.Content), offered, true)
		}
		_, err = b.decision(calls, offered)
		switch {
		case err == nil && t.Tools:
			t.OK, t.What = true, "The model "+name+" answers, and calls tools."
		case err == nil:
			t.OK, t.What = true, "The model "+name+" answers. It calls no tools here: it is told to write its plans as text, which goes wrong more often."
			t.Do = "Choose a model that calls tools if plans go wrong."
		case !written && len(reply.Calls) == 0: // it was offered a tool, and talked
			continue
		default:
			t.What, t.Do = "The model "+name+" answers, but did not manage the simplest plan.", "Choose a larger model, or one that calls tools."
			t.Raw = cutRunes(wrote(reply), 300)
		}
		return t
	}
}

// listed names some models.
func listed(models []string) string {
	const most = 8
	if len(models) <= most {
		return strings.Join(models, ", ")
	}
	return strings.Join(slices.Clone(models[:most]), ", ") + " …"
}
