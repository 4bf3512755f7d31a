package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// listTasks returns a page of tasks.
func (a *App) listTasks(ctx context.Context, in ListTasks) (*TaskPage, error) {
	if in.Agent != "" {
		return a.tasksThere(ctx, &in)
	}
	bad := func(what, do string) error {
		return &orchestrator.Fault{Kind: "filter", Where: orchestrator.WhereUs, What: what, Do: do}
	}
	q := orchestrator.TaskQuery{States: orchestrator.StatesOf(in.State), AgentID: in.To, Limit: min(cmp.Or(in.Limit, 50), 499) + 1}
	if in.State != "" && q.States == nil {
		return nil, bad("There is no state "+in.State+" of tasks.", "It is open, you, failed or done.")
	}
	if in.Limit < 0 || in.Days < 0 {
		return nil, bad("A number is below zero.", "Give one that is not.")
	}
	if in.To != "" {
		if _, err := a.store.Agent(ctx, in.To); err != nil {
			return nil, noAgent(ctx, a.store, in.To, err)
		}
	}
	if in.Days > 0 {
		q.From = time.Now().AddDate(0, 0, -in.Days)
	}
	names, err := a.callerNames(ctx)
	if err != nil {
		return nil, err
	}
	switch in.Caller {
	case "":
	case "*":
		q.Outside = true
	case "you":
		q.Principal = orchestrator.LocalPrincipal
	default:
		if q.Principal, err = callerOf(in.Caller, names); err != nil {
			return nil, err
		}
	}
	if in.After != "" {
		if q.Before, err = a.store.Run(ctx, in.After); err != nil {
			return nil, noTask(in.After, err)
		}
	}
	runs, err := a.store.ListTasks(ctx, q)
	if err != nil {
		return nil, err
	}
	page := &TaskPage{Tasks: []json.RawMessage{}}
	if len(runs) == q.Limit {
		runs = runs[:q.Limit-1]
		page.Next = runs[len(runs)-1].ID
	}
	for _, r := range runs {
		t := &a2a.Task{ID: r.ID, ContextID: r.ContextID, Status: a2a.TaskStatus{State: r.State, Timestamp: r.Updated}}
		if t.Metadata, err = a.whose(ctx, r, names); err != nil {
			return nil, err
		}
		page.Tasks = append(page.Tasks, t.AppendJSON(nil))
	}
	return page, nil
}

// tasksThere is a page of an agent's own list.
func (a *App) tasksThere(ctx context.Context, in *ListTasks) (*TaskPage, error) {
	g, err := a.remote(ctx, in.Agent)
	if err != nil {
		return nil, err
	}
	p, err := a.caller.List(asLocal(ctx), g, &a2a.ListRequest{PageSize: min(cmp.Or(in.Limit, 50), a2a.Limits.PageSize), PageToken: in.After})
	if err != nil {
		return nil, err
	}
	page := &TaskPage{Tasks: []json.RawMessage{}, Next: p.NextPageToken}
	for i := range p.Tasks {
		page.Tasks = append(page.Tasks, p.Tasks[i].AppendJSON(nil))
	}
	return page, nil
}

// callerNames are the names of those who may have tasks here, by their principals.
func (a *App) callerNames(ctx context.Context) (map[string]string, error) {
	tokens, err := a.store.ListTokens(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := a.store.Callers(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, id := range ids {
		names[id] = id
	}
	for _, t := range tokens {
		names[t.ID] = cmp.Or(t.Name, t.ID)
	}
	delete(names, orchestrator.LocalPrincipal)
	return names, nil
}

// callerOf is the principal that a person names, by its id or by a name that it alone has.
func callerOf(said string, names map[string]string) (string, error) {
	if _, ok := names[said]; ok {
		return said, nil
	}
	var ids []string
	known := map[string]string{}
	for id, name := range names {
		if strings.EqualFold(name, said) {
			ids = append(ids, id)
		}
		known[name] = name
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		f := &orchestrator.Fault{
			Kind: "not-found", Where: orchestrator.WhereUs, What: "There is no caller " + said + ".", Do: "See: parley token list",
		}
		if ids := near(said, known); ids != "" {
			f.Do = "Did you mean " + ids + "? See: parley token list"
		}
		return "", f
	}
	return "", &orchestrator.Fault{
		Kind: "not-found", Where: orchestrator.WhereUs, What: "Several callers are called " + said + ".", Do: "Give the id of one. See: parley token list",
	}
}

// whose is what is known of a run beyond its state: metadata for a list of tasks.
func (a *App) whose(ctx context.Context, r *orchestrator.Run, names map[string]string) (a2a.Metadata, error) {
	var v struct {
		Title        string    `json:"urn:parley:title,omitempty"`
		Agent        string    `json:"urn:parley:agent,omitempty"`
		Workflow     string    `json:"urn:parley:workflow,omitempty"`
		Caller       string    `json:"urn:parley:caller,omitempty"` // "" = the person at this machine
		Began        time.Time `json:"urn:parley:began"`
		Conversation string    `json:"urn:parley:conversation,omitempty"`
		Plan         string    `json:"urn:parley:plan,omitempty"` // the run whose step it is
	}
	v.Title = orchestrator.TitleOf(orchestrator.Wanted(a.store.ReadRun(ctx, r.ID, 0)))
	v.Workflow, v.Began, v.Conversation, v.Agent = r.Workflow, r.Created.UTC().Truncate(time.Millisecond), r.ConversationID, r.To
	v.Plan = r.Plan()
	if r.Principal != orchestrator.LocalPrincipal {
		v.Caller = cmp.Or(names[r.Principal], r.Principal)
	}
	steps, err := a.store.Steps(ctx, r.ID)
	if err != nil && !errors.Is(err, orchestrator.ErrNotFound) {
		return nil, err
	}
	if len(steps) > 0 {
		v.Agent = steps[len(steps)-1].AgentID
	}
	return json.Marshal(v)
}
