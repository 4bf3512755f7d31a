package demo

import (
	"context"
	"iter"

	"parley/a2a"
	"parley/a2aserver"
)

// echo answers with what it was told: the smallest agent there is. Its answer is a Message, so no task comes to be.
type echo struct{}

func newEcho() *agent {
	return &agent{name: "echo", exec: echo{}, card: a2a.AgentCard{
		Name:               "Echo",
		Description:        "Says back what you say, files and data included. For trying out whether a connection works.",
		DefaultInputModes:  []string{"*/*"},
		DefaultOutputModes: []string{"*/*"},
		Skills: []a2a.AgentSkill{{
			ID: "echo", Name: "Echo", Description: "Repeats a message word for word.",
			Tags: []string{"echo", "repeat", "test", "ping"}, Examples: []string{"Hello there", "Echo: is anybody home?"},
		}},
	}}
}

func (echo) Execute(_ context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(&a2a.Message{Parts: t.Message.Parts}, nil)
	}
}
