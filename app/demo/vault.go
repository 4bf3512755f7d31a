package demo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"

	"parley/a2a"
	"parley/a2aserver"
)

// vault needs a sign-in before it answers: AUTH_REQUIRED, with a link to a page of this server. The sign-in goes past the
// client; once it is done the same task goes on by itself, also when the server was restarted in between. It hands out
// its design notes, or keeps the documents it is sent.
type vault struct{ signIns *signIns }

func newVault(root string) *agent {
	v := vault{newSignIns("vault", "the vault", root)}
	return &agent{name: "vault", exec: v, routes: v.signIns.routes, card: a2a.AgentCard{
		Name:               "Vault",
		Description:        "Opens the (imaginary) design vault, after you have signed in on its own page.",
		DefaultInputModes:  []string{"text/plain", "*/*"},
		DefaultOutputModes: []string{"text/markdown", "text/plain", "application/json"},
		Skills: []a2a.AgentSkill{{
			ID: "read-vault", Name: "Read from the vault", Description: "Fetches design notes that need a sign-in.",
			Tags:     []string{"vault", "documents", "design", "notes", "sign-in"},
			Examples: []string{"Open the vault", "Read our design notes"},
		}, {
			ID: "keep-in-vault", Name: "Keep in the vault", Description: "Keeps the documents that come with a message, and gives a receipt.",
			Tags:     []string{"vault", "archive", "publish"},
			Examples: []string{"Keep this article in the vault"},
		}},
	}}
}

func (v vault) Execute(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		decision, forget := v.signIns.expect(t.TaskID)
		defer forget()
		if yield(v.signIns.ask(t.TaskID, "The vault is locked."), nil) {
			v.open(ctx, t.Message, decision, yield)
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
		v.open(ctx, &t.Task.History[0], decision, yield)
	}
}

// open waits for the decision and does what was asked.
func (v vault) open(ctx context.Context, asked *a2a.Message, decision <-chan bool, yield func(a2a.Event, error) bool) {
	v.signIns.wait(ctx, decision, yield, "the vault stays locked", func() {
		if kept := documents(asked.Parts); len(kept) > 0 {
			names := make([]string, len(kept))
			for i, d := range kept {
				names[i] = fmt.Sprintf("%s (%d bytes, seal %s)", d.Name, d.Bytes, d.SHA256[:8])
			}
			_ = yield(artifact("Receipt", a2a.DataPart(map[string]any{"kept": kept})), nil) &&
				yield(status(a2a.TaskStateCompleted, "Kept in the vault: "+strings.Join(names, ", ")+"."), nil)
			return
		}
		_ = yield(artifact("Design notes", markdown("## Design notes\n\n- Keep the door small.\n- Keep the key smaller.\n")), nil) &&
			yield(status(a2a.TaskStateCompleted, "The vault is open."), nil)
	})
}

// document is what the vault says of one thing it keeps.
type document struct {
	Name   string `json:"name"`
	Type   string `json:"type,omitempty"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// documents are the parts behind the first words of a message.
func documents(parts []a2a.Part) (all []document) {
	for i, p := range parts {
		if i == 0 && p.Kind == a2a.PartText {
			continue
		}
		b := p.Raw
		switch p.Kind {
		case a2a.PartText:
			b = []byte(p.Text)
		case a2a.PartData:
			b = p.Data
		case a2a.PartURL:
			b = []byte(p.URL)
		}
		sum := sha256.Sum256(b)
		name := cmp.Or(p.Filename, fmt.Sprintf("document %d", len(all)+1))
		if title, ok := strings.CutPrefix(p.Text, "# "); ok && p.Filename == "" {
			name, _, _ = strings.Cut(title, "\n")
		}
		all = append(all, document{Name: name, Type: p.MediaType, Bytes: len(b), SHA256: hex.EncodeToString(sum[:])})
	}
	return all
}
