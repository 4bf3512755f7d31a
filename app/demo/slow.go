package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

// slow takes its time and says how far it is. How far travels in its progress messages, so that after a restart only the
// rest remains.
type slow struct{}

func newSlow() *agent {
	return &agent{name: "slow", exec: slow{}, card: a2a.AgentCard{
		Name:               "Slow worker",
		Description:        "Works for as long as you say, and reports how far it is. Write `#slow 90s`; without that it takes 30 seconds.",
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{{
			ID: "wait", Name: "Take a while", Description: "Runs for a given time, at most an hour, with progress messages.",
			Tags: []string{"slow", "wait", "timer", "progress", "long"}, Examples: []string{"#slow 90s", "#slow 10s"},
		}},
	}}
}

// progress is the metadata of a progress message, in seconds.
type progress struct {
	Done int `json:"done"`
	Of   int `json:"of"`
}

func (slow) Execute(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	p := progress{Of: 30}
	if _, after, ok := strings.Cut(a2a.Text(t.Message.Parts), "#slow"); ok {
		if f := strings.Fields(after); len(f) > 0 {
			if d, err := time.ParseDuration(f[0]); err == nil {
				p.Of = int(min(max(d, time.Second), time.Hour).Seconds())
			}
		}
	}
	return p.run(ctx)
}

// Resume implements a2aserver.Resumer.
func (slow) Resume(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	p := progress{Of: 30}
	if m := t.Task.Status.Message; m != nil && m.Metadata != nil {
		_ = json.Unmarshal(m.Metadata, &p)
	}
	return p.run(ctx)
}

func (p progress) run(ctx context.Context) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		step := max(1, p.Of/30)
		for ; p.Done < p.Of; p.Done += step {
			u := status(a2a.TaskStateWorking, fmt.Sprintf("%d of %d seconds", p.Done, p.Of))
			u.Status.Message.Metadata, _ = json.Marshal(p)
			if !yield(u, nil) || !sleep(ctx, time.Duration(min(step, p.Of-p.Done))*time.Second) {
				return
			}
		}
		yield(status(a2a.TaskStateCompleted, fmt.Sprintf("Done, after %d seconds.", p.Of)), nil)
	}
}
