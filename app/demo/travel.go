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

var tripSchema = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","title":"Your trip",
"properties":{"from":{"type":"string","title":"From","minLength":1},"to":{"type":"string","title":"To","minLength":1},
"depart":{"type":"string","format":"date","title":"Leave on"},"return":{"type":"string","format":"date","title":"Come back on"}},
"required":["from","to","depart","return"]}`)

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
			ask.Status.Message.Parts = append(ask.Status.Message.Parts, a2a.Part{Kind: a2a.PartData, Data: tripSchema})
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
