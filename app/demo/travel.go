package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"parley/a2a"
	"parley/a2aserver"
)

// travel plans a trip. It asks (INPUT_REQUIRED) until it knows enough, with a JSON Schema for those who can show a form,
// and understands data and plain words alike. What it was told before is in the task's history.
type travel struct{}

func newTravel() *agent {
	return &agent{name: "travel", exec: travel{}, card: a2a.AgentCard{
		Name:               "Travel desk",
		Description:        "Plans a trip: tell it from where, to where and when, or let it ask you.",
		DefaultInputModes:  []string{"text/plain", "application/json"},
		DefaultOutputModes: []string{"application/json", "text/plain"},
		Skills: []a2a.AgentSkill{{
			ID: "plan-trip", Name: "Plan a trip", Description: "Makes an itinerary between two places for given dates.",
			Tags:     []string{"travel", "trip", "booking", "flight", "train", "itinerary"},
			Examples: []string{"Plan a trip to Bergen", "A trip from Oslo to Bergen, 2026-06-01 until 2026-06-05"},
		}},
	}}
}

// form is the JSON Schema of a trip, filled in with what is known of it.
func (p *trip) form() json.RawMessage {
	type field struct {
		Type      string `json:"type"`
		Format    string `json:"format,omitempty"`
		Title     string `json:"title"`
		MinLength int    `json:"minLength,omitempty"`
		Default   string `json:"default,omitempty"`
	}
	var s struct {
		Schema     string `json:"$schema"`
		Type       string `json:"type"`
		Title      string `json:"title"`
		Properties struct {
			From   field `json:"from"`
			To     field `json:"to"`
			Depart field `json:"depart"`
			Return field `json:"return"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	s.Schema, s.Type, s.Title = "https://json-schema.org/draft/2020-12/schema", "object", "Your trip"
	s.Properties.From = field{Type: "string", Title: "From", MinLength: 1, Default: p.From}
	s.Properties.To = field{Type: "string", Title: "To", MinLength: 1, Default: p.To}
	s.Properties.Depart = field{Type: "string", Format: "date", Title: "Leave on", Default: p.Depart}
	s.Properties.Return = field{Type: "string", Format: "date", Title: "Come back on", Default: p.Return}
	s.Required = []string{"from", "to", "depart", "return"}
	b, _ := json.Marshal(s) // strings are always JSON
	return b
}

func (travel) Execute(_ context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		var p trip
		if t.Task != nil {
			for i, m := range t.Task.History {
				p.learn(&m, i > 0)
			}
		}
		p.learn(t.Message, t.Task != nil)
		if missing := p.missing(); missing != "" {
			ask := status(a2a.TaskStateInputRequired, "I still need to know "+missing+".")
			ask.Status.Message.Parts = append(ask.Status.Message.Parts, a2a.Part{Kind: a2a.PartData, Data: p.form()})
			yield(ask, nil)
			return
		}
		_ = yield(status(a2a.TaskStateWorking, "Looking for connections…"), nil) &&
			yield(artifact("Itinerary", a2a.DataPart(map[string]any{"trip": p, "legs": []trip{
				{From: p.From, To: p.To, Depart: p.Depart}, {From: p.To, To: p.From, Depart: p.Return},
			}})), nil) &&
			yield(status(a2a.TaskStateCompleted, fmt.Sprintf("From %s to %s on %s, back on %s.", p.From, p.To, p.Depart, p.Return)), nil)
	}
}
