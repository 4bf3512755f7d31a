package demo

import (
	"context"
	"fmt"
	"iter"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

// flaky breaks the rules on purpose, below A2A, where an Executor cannot: manners.go stands before its handler. The work
// itself is honest, so a client that reads the task again afterwards gets all of it.
type flaky struct{}

func newFlaky() *agent {
	return &agent{name: "flaky", exec: flaky{}, wrap: misbehave, card: a2a.AgentCard{
		Name: "Flaky",
		Description: "Misbehaves as told: `#flaky 500`, `hang`, `reset`, `garbage`, `no-end` or `repeat`. " +
			"At `/flaky/html-card` it has a web page for a card.",
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{{
			ID: "misbehave", Name: "Misbehave", Description: "Fails in one of the ways in which servers fail.",
			Tags:     []string{"flaky", "failure", "error", "broken", "test"},
			Examples: []string{"#flaky no-end", "#flaky garbage", "#flaky reset", "#flaky repeat"},
		}},
	}}
}

func (flaky) Execute(ctx context.Context, _ *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for i := range 10 {
			u := &a2a.ArtifactUpdate{Append: i > 0, LastChunk: i == 9}
			u.Artifact = a2a.Artifact{ID: "count", Name: "Count", Parts: []a2a.Part{a2a.TextPart(fmt.Sprintf("%d ", i+1))}}
			if !yield(u, nil) || !sleep(ctx, 200*time.Millisecond) {
				return
			}
		}
		yield(status(a2a.TaskStateCompleted, "Counted to ten."), nil)
	}
}
