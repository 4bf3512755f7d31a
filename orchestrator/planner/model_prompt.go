package planner

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/planner/completions"
)

//go:embed prompts/*.md
var promptFiles embed.FS

var promptTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").ParseFS(promptFiles, "prompts/*.md"))
})

// prompt renders a file of prompts. What stands in it from others went through data or quoted before.
func prompt(name string, v any) string {
	var b strings.Builder
	if err := promptTemplates().ExecuteTemplate(&b, name+".md", v); err != nil {
		panic(err) // a mistake in the embedded files, which every test would meet
	}
	return strings.TrimSpace(b.String())
}

// size says how much of what was said goes into a prompt, in runes: less each time that it did not fit.
type size struct {
	result  int // of each text of the newest round
	older   int // of each text of those before
	earlier int // of the conversation before the request
	cards   int // of all cards together
}

var sizes = []size{
	{result: 12_000, older: 6_000, earlier: 8_000, cards: 24_000},
	{result: 6_000, older: 1_500, earlier: 2_000, cards: 12_000},
	{result: 2_000, older: 400, earlier: 500, cards: 6_000},
	{result: 600, older: 100, earlier: 0, cards: 3_000},
}

const (
	maxTurns    = 20     // of the conversation before
	maxRequest  = 32_000 // runes of what the person said
	minCard     = 120    // runes of a card
	maxCard     = 1_500
	maxArtifact = 40 // named in a prompt
)

// conversation writes a brief as the messages of a conversation with a model. With written, tools are called in the text.
func conversation(b *Brief, s size, written bool) []completions.Message {
	system := struct{ Text string }{}
	if written {
		system.Text = prompt("text", nil)
	}
	all := []completions.Message{
		{Role: completions.System, Content: prompt("system", system)},
		{Role: completions.User, Content: requestPrompt(b, s)},
	}
	for i := range b.Rounds {
		r := &b.Rounds[i]
		limit := s.older
		if i == len(b.Rounds)-1 {
			limit = s.result
		}
		left := b.Left + len(b.Rounds) - 1 - i
		all = append(all, roundMessages(b, i, r, limit, noteOf(left), written)...)
	}
	return all
}

// noteOf tells a model how much is left to it.
func noteOf(left int) string {
	if left <= 1 {
		return "This is the last time: call finish."
	}
	return fmt.Sprintf("Rounds left: %d.", left)
}

func requestPrompt(b *Brief, s size) string {
	type agent struct{ ID, Card string }
	v := struct {
		Agents                 []agent
		Earlier, Request, Note string
	}{Note: noteOf(b.Left + len(b.Rounds))}
	usable := b.usable()
	limit := 0
	if len(usable) > 0 {
		limit = min(maxCard, max(minCard, s.cards/len(usable)))
	}
	for _, a := range usable {
		v.Agents = append(v.Agents, agent{a.ID, data("agent "+quoted(a.ID, 128), cardText(a), limit)})
	}
	if s.earlier > 0 && len(b.Earlier) > 0 {
		turns := b.Earlier[max(0, len(b.Earlier)-maxTurns):]
		var t strings.Builder
		for _, turn := range turns {
			who := "The person"
			if turn.AgentID != "" {
				who = "Agent " + quoted(turn.AgentID, 128)
			}
			said := cutRunes(strings.TrimSpace(clean(turn.Text)), max(20, s.earlier/len(turns)))
			fmt.Fprintf(&t, "%s: %s\n", who, strings.ReplaceAll(said, "\n", "\n  ")) // who speaks stands at the begin of a line
		}
		v.Earlier = data("the conversation", t.String(), s.earlier)
	}
	v.Request = shorten(clean(partsText(b.Request)), maxRequest)
	return prompt("request", v)
}

// cardText is what an agent says of itself: enough to choose by.
func cardText(a *orchestrator.Agent) string {
	var t strings.Builder
	fmt.Fprintf(&t, "Name: %s\n", cutRunes(a.Name, 128))
	if a.Card == nil {
		return t.String()
	}
	if d := strings.TrimSpace(a.Card.Description); d != "" {
		fmt.Fprintf(&t, "%s\n", cutRunes(d, 1024))
	}
	for i := range a.Card.Skills {
		s := &a.Card.Skills[i]
		fmt.Fprintf(&t, "Skill: %s", cutRunes(s.Name, 128))
		if d := strings.TrimSpace(s.Description); d != "" {
			fmt.Fprintf(&t, ": %s", cutRunes(d, 512))
		}
		if len(s.Examples) > 0 {
			fmt.Fprintf(&t, " (for example: %s)", cutRunes(s.Examples[0], 200))
		}
		t.WriteByte('\n')
	}
	return t.String()
}

// partsText is what a message says, with a line for what is no text: bytes do not go to a model.
func partsText(parts []a2a.Part) string {
	var all []string
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case a2a.PartText:
			all = append(all, p.Text)
		case a2a.PartData:
			all = append(all, "Data: "+string(p.Data))
		default:
			all = append(all, "A file comes with this: "+quoted(p.Filename, 128)+" ("+quoted(p.MediaType, 64)+")")
		}
	}
	return strings.Join(all, "\n")
}

// roundMessages is what was decided and what came of it, as the model would have said it and was told.
func roundMessages(b *Brief, i int, r *Round, limit int, note string, written bool) []completions.Message {
	id := fmt.Sprintf("call%05d", i+1) // nine letters and digits: there is a maker of models that wants them so
	name, args := r.Decision.call(b)
	v := struct {
		Results      []shownResult
		Answer, Note string
	}{Note: note}
	for j := range r.Results {
		v.Results = append(v.Results, showResult(b, &r.Results[j], limit))
	}
	if r.Decision.Ask != nil {
		v.Answer = shorten(clean(r.Answer), maxRequest)
		if v.Answer == "" {
			v.Answer = "(no answer)"
		}
	}
	came := prompt("results", v)
	if written {
		return []completions.Message{
			{Role: completions.Assistant, Content: `{"` + name + `":` + args + `}`},
			{Role: completions.User, Content: came},
		}
	}
	why := clean(r.Decision.Why)
	if why == "" {
		why = "Going on." // there are templates that want some words
	}
	return []completions.Message{
		{Role: completions.Assistant, Content: why, Calls: []completions.Call{{ID: id, Name: name, Arguments: args}}},
		{Role: completions.ToolRole, Content: came, CallID: id},
	}
}

// call is a decision as a call of a tool.
func (d *Decision) call(b *Brief) (name, args string) {
	var v any
	_, by := b.handles()
	switch {
	case d.Ask != nil:
		q := askArgs{Question: d.Ask.Prompt}
		for _, c := range d.Ask.Choices {
			q.Choices = append(q.Choices, clean(c.ID))
		}
		name, v = toolAsk, q
	case d.Finish != nil:
		name, v = toolFinish, finishArgs{Answer: d.Finish.Text}
	default:
		a := delegateArgs{}
		for i := range d.Delegate {
			t := taskArgs{Agent: d.Delegate[i].Agent, Message: clean(d.Delegate[i].Message)}
			for _, ref := range d.Delegate[i].Artifacts {
				for h, known := range by {
					if known == ref {
						t.Artifacts = append(t.Artifacts, h)
					}
				}
			}
			a.Tasks = append(a.Tasks, t)
		}
		name, v = toolDelegate, a
	}
	raw, _ := json.Marshal(v) // strings; never fails
	return name, string(raw)
}

type shownResult struct {
	ID, Agent, State, Text string
	Artifacts              []shownArtifact
}

type shownArtifact struct{ ID, What string }

func showResult(b *Brief, r *Result, limit int) shownResult {
	s := shownResult{ID: r.ID, Agent: quoted(r.AgentID, 128), State: "done"}
	said := strings.TrimSpace(r.Text)
	for _, d := range r.Data {
		said += "\nData: " + string(d)
	}
	_, declined := b.Decline[r.AgentID]
	switch {
	case r.ok():
	case declined || r.State == a2a.TaskStateRejected:
		s.State = "declined"
		if said == "" {
			said = b.Decline[r.AgentID]
		}
	case r.State == a2a.TaskStateCanceled:
		s.State = "stopped"
	default:
		s.State = "failed"
	}
	if f := r.Fault; f != nil {
		said = strings.TrimSpace(f.What + "\n" + f.Raw + "\n" + said)
	}
	if strings.TrimSpace(said) != "" {
		s.Text = data("agent "+s.Agent, said, limit)
	}
	for i := range r.Artifacts[:min(len(r.Artifacts), maxArtifact)] {
		a := &r.Artifacts[i]
		what := []string{quoted(a.Name, 128)}
		if a.Description != "" {
			what = append(what, quoted(a.Description, 200))
		}
		for _, p := range a.Parts[:min(len(a.Parts), 5)] {
			what = append(what, fmt.Sprintf("%s %d bytes", quoted(p.MediaType, 64), p.Size))
		}
		s.Artifacts = append(s.Artifacts, shownArtifact{handle(r.ID, i), strings.Join(what, ", ")})
	}
	return s
}

// handle is what a model calls an artifact: no agent had a hand in it.
func handle(delegation string, i int) string { return fmt.Sprintf("%s.a%d", delegation, i+1) }

// handles returns what artifacts there are, by handle and in order.
func (b *Brief) handles() (order []string, by map[string]ArtifactRef) {
	by = map[string]ArtifactRef{}
	for _, r := range b.results() {
		for i := range r.Artifacts[:min(len(r.Artifacts), maxArtifact)] {
			h := handle(r.ID, i)
			order, by[h] = append(order, h), ArtifactRef{Delegation: r.ID, Artifact: r.Artifacts[i].ArtifactID}
		}
	}
	return order, by
}
