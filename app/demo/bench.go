package demo

import (
	"context"
	"iter"
	"strings"

	"parley/a2a"
	"parley/a2aserver"
)

// bench does what a measuring client tells it, and stamps every piece with the time at which it was made:
//
//	#bench task                            working, an artifact with the text, completed
//	#bench stream n=100 b=256 every=5ms    n stamped pieces of b bytes, one a tick (0: as fast as can be)
//	#bench status n=10 every=5ms           n stamped status updates
//	#bench hold for=10s                    working, silence, completed
//
// Any other text comes back as a Message.
type bench struct{}

func newBench() *agent {
	return &agent{name: "bench", exec: bench{}, card: a2a.AgentCard{
		Name:               "Bench",
		Description:        "Obeys `#bench` commands for measuring clients and servers; other text comes back as it is.",
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{{
			ID: "bench", Name: "Bench", Description: "Produces events at a given rate and size.",
			Tags: []string{"bench", "benchmark", "load", "latency"}, Examples: []string{"#bench stream n=100 b=256 every=20ms", "#bench task"},
		}},
	}}
}

func (bench) Execute(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	text := a2a.Text(t.Message.Parts)
	return func(yield func(a2a.Event, error) bool) {
		f := strings.Fields(text)
		if len(f) < 2 || f[0] != "#bench" {
			yield(&a2a.Message{Parts: t.Message.Parts}, nil)
			return
		}
		c := parseBench(f[2:])
		ok := true
		switch f[1] {
		case "task":
			ok = yield(status(a2a.TaskStateWorking, ""), nil) && yield(artifact("", a2a.TextPart(text)), nil)
		case "stream":
			ok = c.pace(ctx, func(i int) bool {
				u := &a2a.ArtifactUpdate{Append: i > 0, LastChunk: i == c.n-1}
				u.Artifact = a2a.Artifact{ID: t.TaskID, Parts: []a2a.Part{a2a.TextPart(stamped(c.b))}}
				return yield(u, nil)
			})
		case "status":
			ok = c.pace(ctx, func(int) bool { return yield(status(a2a.TaskStateWorking, stamped(0)), nil) })
		case "hold":
			ok = yield(status(a2a.TaskStateWorking, ""), nil) && sleep(ctx, c.hold)
		}
		if ok {
			yield(status(a2a.TaskStateCompleted, ""), nil)
		}
	}
}
