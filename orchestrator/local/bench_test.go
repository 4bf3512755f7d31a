package local_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
)

// answers is a caller whose agent is there at once: it costs next to nothing, so a benchmark shows the driver alone.
type answers struct {
	orchestrator.Caller
	chunks int // 0: a whole task
}

func (a answers) Send(_ context.Context, _ *orchestrator.Agent, r *a2a.SendRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		parts := []a2a.Part{a2a.TextPart("lorem ipsum dolor sit amet")}
		done := a2a.TaskStatus{State: a2a.TaskStateCompleted}
		if a.chunks == 0 {
			yield(&a2a.Task{ID: "t", ContextID: "c", Status: done, Artifacts: []a2a.Artifact{{ID: "a", Parts: parts}}}, nil)
			return
		}
		if !yield(&a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, nil) {
			return
		}
		for i := range a.chunks {
			e := &a2a.ArtifactUpdate{TaskID: "t", ContextID: "c", Artifact: a2a.Artifact{ID: "a", Parts: parts}, Append: i > 0}
			if !yield(e, nil) {
				return
			}
		}
		yield(&a2a.StatusUpdate{TaskID: "t", ContextID: "c", Status: done}, nil)
	}
}

func benchmark(b *testing.B, chunks int) {
	store := orchestratortest.NewMemoryStore()
	agents := orchestratortest.NewAgents()
	_, row := agents.Add("bare", nil)
	if err := store.Write(b.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		b.Fatal(err)
	}
	d := local.New(store, answers{chunks: chunks}, nil)
	defer d.Close(b.Context())
	tasks := d.Tasks("bare")
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		s, err := tasks.Start(b.Context(), "ann", &a2a.SendRequest{Message: a2a.Message{
			ID: fmt.Sprint("m", n), Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("#bench task b=256")},
		}})
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range tasks.Events(b.Context(), "ann", s.TaskID, s.After) {
			if err != nil {
				b.Fatal(err)
			}
		}
		if _, err := tasks.Task(b.Context(), "ann", &a2a.GetRequest{ID: s.TaskID}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHop is one blocking message through the gateway, without network and disk.
func BenchmarkHop(b *testing.B) { benchmark(b, 0) }

// BenchmarkHopStream is a stream of 1,000 chunks through the gateway; divide by 1,000 for one.
func BenchmarkHopStream(b *testing.B) { benchmark(b, 1000) }
