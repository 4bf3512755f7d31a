package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/orchestrator"
)

// ExportQuery says what to export.
type ExportQuery struct {
	Conversation string `json:"conversation,omitempty"` // "" = all
	Format       string `json:"format"`                 // md or json
}

// exportedItem is an item in an export.
type exportedItem struct {
	Conversation string                `json:"conversation"`
	Title        string                `json:"title"`
	ID           int64                 `json:"id"`
	Run          string                `json:"run,omitempty"`
	Kind         orchestrator.ItemKind `json:"kind"`
	Agent        string                `json:"agent,omitempty"`
	At           time.Time             `json:"at"`
	Text         string                `json:"text,omitempty"`
	Data         json.RawMessage       `json:"data,omitempty"`
}

// export streams conversations: in JSON an exportedItem a line, in Markdown a string a line.
func (a *App) export(ctx context.Context, q ExportQuery, send func(any) error) error {
	if q.Format != "md" && q.Format != "json" {
		return &orchestrator.Fault{Kind: "format", Where: orchestrator.WhereUs, What: "The format is md or json."}
	}
	one := func(c *orchestrator.Conversation) error {
		if q.Format == "md" {
			if err := send(fmt.Sprintf("# %s\n\n", c.Title)); err != nil {
				return err
			}
		}
		for it, err := range a.store.EachItem(ctx, c.ID) {
			if err != nil {
				return err
			}
			var line any = markdown(it)
			if q.Format == "json" {
				line = exportedItem{c.ID, c.Title, it.ID, it.RunID, it.Kind, it.AgentID, it.At, it.Text, it.Data}
			}
			if err := send(line); err != nil {
				return err
			}
		}
		return nil
	}
	if q.Conversation != "" {
		c, err := a.store.Conversation(ctx, q.Conversation)
		if errors.Is(err, orchestrator.ErrNotFound) {
			return &orchestrator.Fault{
				Kind: "not-found", Where: orchestrator.WhereUs, What: "There is no conversation " + q.Conversation + ".",
				Do: "Export all: what comes as JSON names them.",
			}
		}
		if err != nil {
			return err
		}
		return one(c)
	}
	for after := ""; ; {
		page, err := a.store.ListConversations(ctx, after, 100)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, c := range page {
			if err := one(c); err != nil {
				return err
			}
		}
		after = page[len(page)-1].ID
	}
}

// markdown is an item for reading.
func markdown(it *orchestrator.Item) string {
	var b strings.Builder
	who := it.AgentID
	if who == "" {
		who = "You"
	}
	switch it.Kind {
	case orchestrator.ItemUser, orchestrator.ItemAgent:
		fmt.Fprintf(&b, "**%s** · %s\n\n%s\n", who, it.At.Format(time.DateTime), it.Text)
	case orchestrator.ItemArtifact:
		var d orchestrator.ArtifactData
		_ = json.Unmarshal(it.Data, &d)
		for _, p := range d.Parts {
			name := p.Filename
			if name == "" {
				name = d.Name
			}
			fmt.Fprintf(&b, "**%s** sent %s (%s, %d bytes)\n", who, name, p.MediaType, p.Size)
		}
		if it.Text != "" {
			fmt.Fprintf(&b, "\n%s\n", it.Text)
		}
	case orchestrator.ItemAsk:
		var d orchestrator.AskData
		_ = json.Unmarshal(it.Data, &d)
		fmt.Fprintf(&b, "**%s** asked: %s\n\nAnswer: %s (%s)\n", who, d.Prompt, d.Answer, d.State)
	case orchestrator.ItemEnd:
		var d orchestrator.EndData
		_ = json.Unmarshal(it.Data, &d)
		fmt.Fprintf(&b, "_%s_\n", strings.ToLower(strings.TrimPrefix(d.State, "TASK_STATE_")))
		if d.Fault != nil {
			fmt.Fprintf(&b, "\n%s\n", d.Fault.What)
		}
	case orchestrator.ItemGap:
		b.WriteString("_Some events may be missing here._\n")
	}
	b.WriteString("\n")
	return b.String()
}
