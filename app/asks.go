package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/orchestrator"
	"parley/orchestrator/workflow"
)

// AskInfo is an ask as the command line shows it.
type AskInfo struct {
	ID           string                `json:"id"`
	Kind         orchestrator.AskKind  `json:"kind"`
	State        orchestrator.AskState `json:"state"`
	Agent        string                `json:"agent"`
	Run          string                `json:"run"`
	Step         string                `json:"step,omitempty"`
	Conversation string                `json:"conversation,omitempty"`
	Prompt       string                `json:"prompt"`
	Schema       json.RawMessage       `json:"schema,omitempty"`
	Choices      []orchestrator.Choice `json:"choices,omitempty"`
	Links        []orchestrator.Link   `json:"links,omitempty"`
	Opened       time.Time             `json:"opened,omitzero"`
}

func askInfo(k *orchestrator.Ask) AskInfo {
	return AskInfo{
		ID: k.ID, Kind: k.Kind, State: k.State, Agent: k.AgentID, Run: k.RunID, Step: k.StepID, Conversation: k.ConversationID, Prompt: k.Prompt,
		Schema: k.Schema, Choices: k.Choices, Links: k.Links, Opened: k.Opened,
	}
}

// listAsks returns every open ask of the local person, of every run, the oldest first.
func (a *App) listAsks(ctx context.Context, _ struct{}) ([]AskInfo, error) {
	asks, err := a.store.OpenAsks(ctx, "")
	out := make([]AskInfo, len(asks))
	for i, k := range asks {
		out[i] = askInfo(k)
	}
	return out, err
}

func (a *App) showAsk(ctx context.Context, n Named) (AskInfo, error) {
	k, err := a.ask(ctx, n.ID)
	if err != nil {
		return AskInfo{}, err
	}
	return askInfo(k), nil
}

// ask returns an ask of the local person.
func (a *App) ask(ctx context.Context, id string) (*orchestrator.Ask, error) {
	k, err := a.store.Ask(ctx, id)
	if errors.Is(err, orchestrator.ErrNotFound) || err == nil && k.Principal != orchestrator.LocalPrincipal {
		return nil, &orchestrator.Fault{Kind: "not-found", Where: orchestrator.WhereUs, What: "There is no question " + id + ".", Do: "See: parley asks"}
	}
	return k, err
}

// answer closes an ask with what somebody gave, read by the kind of the ask.
func (a *App) answer(ctx context.Context, t AnswerTo) (struct{}, error) {
	k, err := a.ask(ctx, t.Ask)
	if err != nil {
		return struct{}{}, err
	}
	answer := &orchestrator.Answer{Text: t.Text, Data: t.Data, Choice: t.Choice, Decline: t.Decline}
	if t.Typed != "" || t.Read {
		if answer, err = typedAnswer(k, t.Typed); err != nil {
			return struct{}{}, err
		}
	}
	if answer.Data != nil && len(k.Schema) > 0 {
		if err := workflow.Fits(k.Schema, answer.Data); err != nil {
			return struct{}{}, misfit(k, "The answer does not fit what is wanted: "+err.Error()+".")
		}
	}
	return struct{}{}, a.driver.Answer(ctx, t.Ask, answer)
}

func misfit(k *orchestrator.Ask, what string) error {
	return &orchestrator.Fault{
		Kind: "ask-schema", Where: orchestrator.WhereUs, What: what, Do: "Give JSON that fits this schema: " + string(k.Schema),
	}
}

// typedAnswer makes of one line what an ask wants.
func typedAnswer(k *orchestrator.Ask, text string) (*orchestrator.Answer, error) {
	text = strings.TrimSpace(text)
	bad := func(what, do string) (*orchestrator.Answer, error) {
		return nil, &orchestrator.Fault{Kind: "ask-answer", Where: orchestrator.WhereUs, What: what, Do: do}
	}
	yes, no := said(text, "yes", "y", "ok", "agree", "approve"), said(text, "no", "n", "decline")
	switch {
	case k.Kind == orchestrator.AskSignIn:
		if text != "" { // it may be a secret
			return bad("A sign-in takes no text here; nothing was sent or kept.", "Sign in at the address it names, then answer with nothing.")
		}
		return &orchestrator.Answer{}, nil
	case len(k.Choices) > 0:
		if c := choiceOf(k.Choices, text); c != "" {
			return &orchestrator.Answer{Choice: c}, nil
		}
		if k.Kind == orchestrator.AskApproval && (yes || no) {
			return &orchestrator.Answer{Choice: k.Choices[0].ID, Decline: no}, nil
		}
		labels := make([]string, len(k.Choices))
		for i, c := range k.Choices {
			labels[i] = cmp.Or(c.Label, c.ID)
		}
		return bad("That is none of the choices.", "Give one of them, or its number: "+strings.Join(labels, ", ")+".")
	case k.Kind == orchestrator.AskApproval:
		if !yes && !no {
			return bad("This wants a yes or a no.", "Answer yes or no.")
		}
		return &orchestrator.Answer{Text: "Yes.", Decline: no}, nil
	case len(k.Schema) > 0:
		if data := workflow.Worded(k.Schema, text); data != nil {
			return &orchestrator.Answer{Data: data}, nil
		}
		if k.AgentID == "" || text == "" {
			return nil, misfit(k, "The answer is no JSON.")
		}
		return &orchestrator.Answer{Text: text}, nil // an agent may understand words, too
	case text == "":
		return bad("There is no answer to send.", "Give one.")
	}
	return &orchestrator.Answer{Text: text}, nil
}

func said(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(strings.TrimRight(text, ".!"), w) })
}

// choiceOf finds the choice that somebody typed: its number, id or label; "" when there is none.
func choiceOf(choices []orchestrator.Choice, text string) string {
	for i, c := range choices {
		if text == strconv.Itoa(i+1) || strings.EqualFold(text, c.ID) || strings.EqualFold(text, c.Label) {
			return c.ID
		}
	}
	return ""
}
