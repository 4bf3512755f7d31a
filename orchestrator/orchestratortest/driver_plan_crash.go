package orchestratortest

import (
	"slices"

	"parley/a2a"
	"parley/orchestrator"
)

// The file of the tests that crash: what each agent is told must not depend on it.
const crashFile = `
name: Crash
steps:
  - {id: a, agent: one, message: first}
  - {id: b, agent: two, message: second}
  - {id: c, needs: [a, b], for-each: ["x", "y"], agent: one, message: "${{ item }} ${{ steps.a.text }} ${{ steps.b.text }}"}
  - {id: d, needs: c, outputs: {n: "${{ len(steps.c.artifacts) }}"}}
  - {id: e, needs: d, agent: two, message: "${{ steps.d.data.n }} ${{ steps.c.text }}"}
outputs: {text: "${{ steps.e.text }}"}
`

// A driver that is killed behind any of its commits, and started again, carries the plan out as if nothing had happened:
// with the same end, and with each message taken once by agents that act once on a repeated one.
func planCrashAnywhere(w *world) {
	for n := 0; ; n++ {
		store := w.newStore(w)
		one := &world{T: w.T, ctx: w.ctx, agents: NewAgents(), newDriver: w.newDriver, newStore: w.newStore, store: store}
		one.start()
		effects := &onces{}
		for _, id := range []string{"one", "two"} {
			one.add(id, effects.once(echoes(id+":")))
			one.register(id, func(a *orchestrator.Agent) { a.Idempotent = true })
		}
		killed := one.process.dying(n + 1)
		run, err := one.planner().Launch(one.ctx, launch(crashFile))
		if err != nil {
			one.close()
			one.start()
			if run, err = one.planner().Launch(one.ctx, launch(crashFile)); err != nil {
				w.Fatalf("n=%d: %v", n, err)
			}
			killed = nil
		}
		ended := false
		one.eventually("it ended or died", func() bool {
			select {
			case <-killed:
				return true
			default:
			}
			ended = one.run(run.ID).State.Terminal()
			return ended
		})
		if !ended {
			one.close()
			one.start()
		}
		one.reaches(run.ID, a2a.TaskStateCompleted)
		p, err := one.planner().Plan(one.ctx, run.ID)
		one.must(err)
		want := `"two:2 one:x one:first two:second\n\none:y one:first two:second"`
		if got := string(p.Outputs["text"]); got != want {
			w.Errorf("n=%d: got %s", n, got)
		}
		one.agents.Wait()
		if got := effects.count(); got != 5 {
			w.Errorf("n=%d: %d effects, want 5", n, got)
		}
		one.fold(run.ID)
		one.close()
		if ended || w.Failed() {
			if n < 8 {
				w.Errorf("it took %d commits", n)
			}
			return
		}
	}
}

func planCrashOnAnswer(w *world) {
	for n := 0; ; n++ {
		one := &world{T: w.T, ctx: w.ctx, agents: NewAgents(), newDriver: w.newDriver, newStore: w.newStore, store: w.newStore(w)}
		one.start()
		asker := one.add("asker", asks(a2a.TaskStateInputRequired, "Which?"))
		one.register("asker", func(a *orchestrator.Agent) { a.Idempotent = true })
		run := one.launch("\n  - {id: a, agent: asker, message: first}\n  - {id: q, ask: {prompt: \"Well?\"}}\n  - {id: z, needs: [a, q], outputs: {t: \"${{ steps.a.text + steps.q.text }}\"}}\n")
		open := one.openAsks(2)
		one.reaches(run.ID, a2a.TaskStateInputRequired)
		killed := one.process.dying(n)
		for _, a := range slices.Backward(open) {
			_ = one.driver.Answer(one.ctx, a.ID, &orchestrator.Answer{Text: "now"})
		}
		ended := false
		one.eventually("it ended or died", func() bool {
			select {
			case <-killed:
				return true
			default:
			}
			ended = one.run(run.ID).State.Terminal()
			return ended
		})
		if !ended {
			one.close()
			one.start()
			for _, a := range open {
				if again, err := one.store.Ask(one.ctx, a.ID); err != nil || again.State == orchestrator.AskOpen {
					one.must(err)
					one.must(one.driver.Answer(one.ctx, a.ID, &orchestrator.Answer{Text: "now"}))
				}
			}
		}
		one.reaches(run.ID, a2a.TaskStateCompleted)
		if sent := asker.Sent(); len(sent) < 2 {
			w.Errorf("n=%d: %d messages", n, len(sent))
		}
		one.openAsks(0)
		one.fold(run.ID)
		one.close()
		if ended || w.Failed() {
			return
		}
		if n > 100 {
			w.Fatal("it does not end")
		}
	}
}
