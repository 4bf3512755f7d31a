package demo

import (
	"context"
	"fmt"
	"iter"

	"parley/a2a"
	"parley/a2aserver"
)

// vault needs a sign-in before it answers: AUTH_REQUIRED, with a link to a page of this server. The sign-in goes past the
// client; once it is done the same task goes on by itself, also when the server was restarted in between.
type vault struct {
	root    string
	signIns *signIns
}

func newVault(root string) *agent {
	v := vault{root: root, signIns: &signIns{waiting: map[string]chan bool{}}}
	return &agent{name: "vault", exec: v, routes: v.signIns.routes, card: a2a.AgentCard{
		Name:               "Vault",
		Description:        "Opens the (imaginary) design vault, after you have signed in on its own page.",
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/markdown", "text/plain"},
		Skills: []a2a.AgentSkill{{
			ID: "read-vault", Name: "Read from the vault", Description: "Fetches design notes that need a sign-in.",
			Tags:     []string{"vault", "documents", "design", "notes", "sign-in"},
			Examples: []string{"Open the vault", "Read our design notes"},
		}},
	}}
}

func (v vault) Execute(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		decision, forget := v.signIns.expect(t.TaskID)
		defer forget()
		page := v.root + "vault/sign-in/" + t.TaskID
		ask := status(a2a.TaskStateAuthRequired, fmt.Sprintf("The vault is locked. [Sign in to the vault](%s) and I go on by myself.", page))
		ask.Status.Message.Parts = append(ask.Status.Message.Parts, a2a.DataPart(map[string]any{
			"schemes": []string{"OpenIDConnect"}, "signIn": page,
		}))
		if yield(ask, nil) {
			v.open(ctx, decision, yield)
		}
	}
}

// Resume implements a2aserver.Resumer: it waits again, for the same link.
func (v vault) Resume(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	if t.Task.Status.State != a2a.TaskStateAuthRequired {
		return v.Execute(ctx, t)
	}
	return func(yield func(a2a.Event, error) bool) {
		decision, forget := v.signIns.expect(t.TaskID)
		defer forget()
		v.open(ctx, decision, yield)
	}
}

// open waits for the decision and does what was asked.
func (v vault) open(ctx context.Context, decision <-chan bool, yield func(a2a.Event, error) bool) {
	select {
	case <-ctx.Done():
	case ok := <-decision:
		if !ok {
			yield(status(a2a.TaskStateRejected, "You declined the sign-in, so the vault stays locked."), nil)
			return
		}
		_ = yield(status(a2a.TaskStateWorking, "Signed in."), nil) &&
			yield(artifact("Design notes", markdown("## Design notes\n\n- Keep the door small.\n- Keep the key smaller.\n")), nil) &&
			yield(status(a2a.TaskStateCompleted, "The vault is open."), nil)
	}
}
