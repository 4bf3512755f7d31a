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
			said := fmt.Sprintf("Kept in the vault: %s (%d bytes, seal %s)", kept[0].Name, kept[0].Bytes, kept[0].SHA256[:8])
			if more := len(kept) - 1; more > 0 {
				said += fmt.Sprintf(" and %d more", more)
			}
			_ = yield(artifact("Receipt", a2a.DataPart(map[string]any{"kept": kept})), nil) &&
				yield(status(a2a.TaskStateCompleted, said+"."), nil)
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

// documents are what comes behind the first words of a message. A text that was streamed comes in pieces: those are one.
func documents(parts []a2a.Part) (all []document) {
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		if i == 0 && p.Kind == a2a.PartText {
			continue
		}
		d := document{Name: p.Filename, Type: p.MediaType}
		b := p.Raw
		switch p.Kind {
		case a2a.PartText:
			text := p.Text
			for i+1 < len(parts) && parts[i+1].Kind == a2a.PartText && parts[i+1].MediaType == p.MediaType && parts[i+1].Filename == "" {
				i++
				text += parts[i].Text
			}
			if title, ok := strings.CutPrefix(text, "# "); ok && d.Name == "" {
				d.Name, _, _ = strings.Cut(title, "\n")
			}
			b = []byte(text)
		case a2a.PartData:
			b = p.Data
		case a2a.PartURL:
			b = []byte(p.URL)
		}
		sum := sha256.Sum256(b)
		d.Name, d.Bytes, d.SHA256 = cmp.Or(d.Name, fmt.Sprintf("document %d", len(all)+1)), len(b), hex.EncodeToString(sum[:])
		all = append(all, d)
	}
	return all
}
