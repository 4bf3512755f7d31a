package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"parley/a2a"
	"parley/a2aserver"
)

// travel plans a trip. It asks (INPUT_REQUIRED) until it knows enough, with a JSON Schema for those who can show a form,
// and understands data and plain words alike. What it was told before is in the task's history. It also books a trip that
// it is given as data, once somebody has signed in (AUTH_REQUIRED).
type travel struct{ signIns *signIns }

func newTravel(root string) *agent {
	v := travel{newSignIns("travel", "the travel desk", root)}
	return &agent{name: "travel", exec: v, routes: v.signIns.routes, card: a2a.AgentCard{
		Name:               "Travel desk",
		Description:        "Plans a trip: tell it from where, to where and when, or let it ask you.",
		DefaultInputModes:  []string{"text/plain", "application/json"},
		DefaultOutputModes: []string{"application/json", "text/plain"},
		Skills: []a2a.AgentSkill{{
			ID: "plan-trip", Name: "Plan a trip", Description: "Makes an itinerary between two places for given dates.",
			Tags:     []string{"travel", "trip", "booking", "flight", "train", "itinerary"},
			Examples: []string{"Plan a trip to Bergen", "A trip from Oslo to Bergen, 2026-06-01 until 2026-06-05"},
		}, {
			ID: "book-trip", Name: "Book a trip", Description: "Books an itinerary that comes as data, after a sign-in; cancels a booking by its reference.",
			Tags: []string{"travel", "booking"}, Examples: []string{"Cancel the booking 7F3A2C"},
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

func (v travel) Execute(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if legs := toBook(t.Message); legs != nil {
			decision, forget := v.signIns.expect(t.TaskID)
			defer forget()
			if yield(v.signIns.ask(t.TaskID, "Bookings are made in your name."), nil) {
				v.book(ctx, t.TaskID, legs, decision, yield)
			}
			return
		}
		if m := cancelWords.FindStringSubmatch(a2a.Text(t.Message.Parts)); m != nil && t.Task == nil {
			yield(status(a2a.TaskStateCompleted, "The booking "+strings.ToUpper(m[1])+" is canceled."), nil)
			return
		}
		var p trip
		if t.Task != nil {
			for i, m := range t.Task.History {
				p.learn(&m, i > 0)
			}
		}
		p.learn(t.Message, t.Task != nil)
		var why string
		if p.backTooSoon() {
			why, p.Return = "You would be back before you leave. ", ""
		}
		if missing := p.missing(); missing != "" {
			ask := status(a2a.TaskStateInputRequired, why+"I still need to know "+missing+".")
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

// Resume implements a2aserver.Resumer: a booking waits again, for the same link.
func (v travel) Resume(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	legs := toBook(&t.Task.History[0])
	if t.Task.Status.State != a2a.TaskStateAuthRequired || legs == nil {
		return v.Execute(ctx, t)
	}
	return func(yield func(a2a.Event, error) bool) {
		decision, forget := v.signIns.expect(t.TaskID)
		defer forget()
		v.book(ctx, t.TaskID, legs, decision, yield)
	}
}

// book waits for the decision and books. The same task is the same booking.
func (v travel) book(ctx context.Context, task string, legs []trip, decision <-chan bool, yield func(a2a.Event, error) bool) {
	v.signIns.wait(ctx, decision, yield, "nothing was booked", func() {
		sum := sha256.Sum256([]byte(task))
		reference := strings.ToUpper(hex.EncodeToString(sum[:3]))
		_ = yield(artifact("Booking", a2a.DataPart(map[string]any{"reference": reference, "legs": legs})), nil) &&
			yield(status(a2a.TaskStateCompleted, fmt.Sprintf("Booked from %s to %s and back. The reference is %s.", legs[0].From, legs[0].To, reference)), nil)
	})
}
