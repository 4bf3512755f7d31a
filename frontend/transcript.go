package frontend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// transcript draws finished items in order. It remembers the one before, because a message that goes on from it has no
// head of its own, and the first of a day names the day.
type transcript struct {
	site *Site
	last int64 // the newest item drawn
	run  string
	who  string
	day  string
}

// items draws items, oldest first.
func (t *transcript) items(ctx context.Context, items []*orchestrator.Item) string {
	var parts []string
	now := t.site.now()
	for _, it := range items {
		if day := view.Day(ctx, it.At, now); day != t.day {
			t.day = day
			parts = append(parts, draw(ctx, view.DayLine(day, it.At.In(now.Location()).Format(time.DateOnly))))
		}
		more := it.Kind != orchestrator.ItemUser && it.RunID != "" && it.RunID == t.run && it.AgentID == t.who
		t.last, t.run, t.who = it.ID, it.RunID, it.AgentID
		if it.Kind == orchestrator.ItemUser {
			t.run = ""
		}
		parts = append(parts, t.site.item(ctx, it, more))
	}
	return strings.Join(parts, "")
}

// item draws one finished item, once.
func (s *Site) item(ctx context.Context, it *orchestrator.Item, more bool) string {
	key := view.Spoken(ctx) + strconv.FormatInt(it.ID, 10) + strconv.FormatBool(more)
	if html, ok := s.pages.get(key); ok {
		return html
	}
	html, whole := s.drawItem(ctx, it, more)
	if whole && ctx.Err() == nil {
		s.pages.put(key, html)
	}
	return html
}

func itemID(id int64) string { return "i" + strconv.FormatInt(id, 10) }

// drawItem draws an item; whole is false when something of it could not be read just now.
func (s *Site) drawItem(ctx context.Context, it *orchestrator.Item, more bool) (html string, whole bool) {
	now := s.now()
	if it.Kind == orchestrator.ItemUser {
		return draw(ctx, view.Said(s.mine(ctx, it))), true
	}
	m := view.Message{ID: itemID(it.ID), Speaker: s.speaker(ctx, it.AgentID), More: more, At: it.At.In(now.Location())}
	whole = true
	if !more && it.RunID != "" {
		m.Step = s.stepOf(ctx, it.RunID)
	}
	switch it.Kind {
	case orchestrator.ItemAgent:
		m.RunID, m.Copy = it.RunID, it.Text
		m.Branch = branchHref(it)
		m.Blocks = []view.Block{s.textBlock(ctx, &a2a.Artifact{}, &a2a.Part{}, it.Text, "")}
	case orchestrator.ItemArtifact:
		m.RunID, m.Branch = it.RunID, branchHref(it)
		m.Blocks, m.Copy, whole = s.artifactBlocks(ctx, it)
		if copied(it) {
			m.RunID = ""
		}
	case orchestrator.ItemAsk:
		var d orchestrator.AskData
		_ = json.Unmarshal(it.Data, &d)
		st, answer := s.receipt(ctx, &d)
		m.Blocks = []view.Block{{Kind: view.BlockReceipt, Ask: &view.Receipt{State: &st, Answer: answer, Prompt: s.md.HTML(promptWords(ctx, d.Prompt))}}}
	case orchestrator.ItemEnd:
		m.Blocks = s.endBlocks(ctx, it)
		if m.Step != nil {
			m.Blocks[0].Retry = "" // a step is done again from its plan
		}
	case orchestrator.ItemGap:
		text := it.Text
		if text == "" {
			text = view.T(ctx, "The connection was lost here. What the agent said meanwhile could not be had again.")
		}
		m.Blocks = []view.Block{{Kind: view.BlockGap, Text: text}}
	default:
		m.Blocks = []view.Block{{Kind: view.BlockProse, HTML: s.md.HTML(it.Text)}}
	}
	return draw(ctx, view.Article(m, now)), whole
}

func (s *Site) mine(ctx context.Context, it *orchestrator.Item) view.Mine {
	var d orchestrator.UserData
	_ = json.Unmarshal(it.Data, &d)
	m := view.Mine{ID: itemID(it.ID), Text: it.Text, At: it.At.In(s.now().Location()), Branch: branchHref(it)}
	m.Edit = "/c/" + url.PathEscape(it.ConversationID) + "?edit=" + strconv.FormatInt(it.ID, 10) + "#say"
	for i, f := range d.Files {
		t := view.FileTag{Name: f.Filename, Size: view.Bytes(f.Size)}
		if t.Name == "" {
			t.Name = view.T(ctx, "File")
		}
		if it.RunID != "" && f.Kind != "url" && f.Kind != "none" {
			t.Href = fmt.Sprintf("/runs/%s/files/%d", url.PathEscape(it.RunID), i)
		}
		m.Files = append(m.Files, t)
	}
	return m
}

func (s *Site) artifactBlocks(ctx context.Context, it *orchestrator.Item) (bs []view.Block, copied string, whole bool) {
	var d orchestrator.ArtifactData
	_ = json.Unmarshal(it.Data, &d)
	a, err := s.store.Artifact(ctx, it.RunID, d.ArtifactID)
	if err != nil {
		s.log.WarnContext(ctx, "artifact not read", "run", it.RunID, "artifact", d.ArtifactID, "error", err)
		if it.Text != "" {
			return []view.Block{{Kind: view.BlockProse, HTML: s.md.HTML(it.Text)}}, it.Text, false
		}
		f := &orchestrator.Fault{Kind: "unreadable", Where: orchestrator.WhereUs, What: "This content could not be read from the store.", Do: "Load the page again."}
		return []view.Block{{Kind: view.BlockFault, Fault: view.FaultOf(ctx, f, "")}}, "", false
	}
	return s.blocks(ctx, a, partHref(it.RunID, a.ID)), a2a.Text(a.Parts), true
}

// branchHref is where to post to go on from an item in a new chat.
func branchHref(it *orchestrator.Item) string {
	return "/c/" + url.PathEscape(it.ConversationID) + "/branch/" + strconv.FormatInt(it.ID, 10)
}

// copied reports whether an artifact came from another chat: there is no run here to ask again.
func copied(it *orchestrator.Item) bool {
	var d orchestrator.ArtifactData
	return json.Unmarshal(it.Data, &d) == nil && d.Copied
}

// partHref returns where the parts of an artifact are served.
func partHref(run, artifact string) func(int) string {
	return func(part int) string {
		return fmt.Sprintf("/runs/%s/artifacts/%s/%d", url.PathEscape(run), url.PathEscape(artifact), part)
	}
}

// endBlocks says how a run ended: its state and what it took, and a failure in its three parts.
func (s *Site) endBlocks(ctx context.Context, it *orchestrator.Item) []view.Block {
	var d orchestrator.EndData
	_ = json.Unmarshal(it.Data, &d)
	st := view.EndState(ctx, a2a.TaskState(d.State), d.Fault)
	text := view.Tv(ctx, it.Text)
	took := ""
	if d.Took >= 1000 {
		took = view.T(ctx, "after %s", view.Spent(time.Duration(d.Took)*time.Millisecond))
	}
	retry := s.retryHref(ctx, it.RunID)
	switch {
	case d.Fault != nil && st.Wanted():
		text = view.Tv(ctx, d.Fault.What)
	case d.Fault != nil:
		f := view.FaultOf(ctx, d.Fault, retry)
		f.Title = st.Word
		f.SignIn = signInHref(it.AgentID, d.Fault)
		if took != "" {
			f.Title += " " + took
		}
		return []view.Block{{Kind: view.BlockFault, Fault: f}}
	case d.State == string(a2a.TaskStateCompleted):
		retry = ""
	}
	return []view.Block{{Kind: view.BlockState, State: &st, Took: took, Text: text, Retry: retry}}
}

// retryHref is where to post to try a run again that did not end well: of one with a plan only the step that failed, where
// that is one, and what needs it.
func (s *Site) retryHref(ctx context.Context, run string) string {
	if run == "" {
		return ""
	}
	at := "/runs/" + url.PathEscape(run)
	if s.opts.Planner != nil {
		if p, err := s.opts.Planner.Plan(ctx, run); err == nil {
			failed := slices.DeleteFunc(slices.Clone(p.Nodes), func(n orchestrator.PlanNode) bool { return !n.CanRetry })
			if len(failed) == 1 {
				at += "/steps/" + url.PathEscape(failed[0].ID)
			}
		}
	}
	return at + "/retry"
}
