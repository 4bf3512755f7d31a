package orchestratortest

import (
	"slices"
	"strconv"

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
	for n, ended := 0, false; !ended; n++ {
		if !w.another(strconv.Itoa(n), func(one *world) { ended = one.crashPlan(n) }) {
			return
		}
		if ended && n < 8 {
			w.Errorf("it took %d commits", n)
		}
	}
}

// crashPlan kills the driver behind commit n of a plan, unless the plan ends before.
func (w *world) crashPlan(n int) (ended bool) {
	w.start()
	effects := &onces{}
	for _, id := range []string{"one", "two"} {
		w.add(id, effects.once(echoes(id+":")))
		w.register(id, func(a *orchestrator.Agent) { a.Idempotent = true })
	}
	killed := w.process.dying(n + 1)
	run, err := w.planner().Launch(w.ctx, launch(crashFile))
	if err != nil {
		w.close()
		w.start()
		if run, err = w.planner().Launch(w.ctx, launch(crashFile)); err != nil {
			w.Fatalf("n=%d: %v", n, err)
		}
		killed = nil
	}
	w.eventually("it ended or died", func() bool {
		select {
		case <-killed:
			return true
		default:
		}
		ended = w.run(run.ID).State.Terminal()
		return ended
	})
	if !ended {
		w.close()
		w.start()
	}
	w.reaches(run.ID, a2a.TaskStateCompleted)
	p, err := w.planner().Plan(w.ctx, run.ID)
	w.must(err)
	want := `"two:2 one:x one:first two:second\n\none:y one:first two:second"`
	if got := string(p.Outputs["text"]); got != want {
		w.Errorf("n=%d: got %s", n, got)
	}
	w.agents.Wait()
	if got := effects.count(); got != 5 {
		w.Errorf("n=%d: %d effects, want 5", n, got)
	}
	w.fold(run.ID)
	w.close()
	return ended
}

func planCrashOnAnswer(w *world) {
	for n, ended := 0, false; !ended; n++ {
		if n > 100 {
			w.Fatal("it does not end")
		}
		if !w.another(strconv.Itoa(n), func(one *world) { ended = one.crashAnswer(n) }) {
			return
		}
	}
}

// crashAnswer kills the driver behind the n-th commit after a plan's asks are answered, unless the plan ends before.
func (w *world) crashAnswer(n int) (ended bool) {
	w.start()
	asker := w.add("asker", asks(a2a.TaskStateInputRequired, "Which?"))
	w.register("asker", func(a *orchestrator.Agent) { a.Idempotent = true })
	run := w.launch("\n  - {id: a, agent: asker, message: first}\n  - {id: q, ask: {prompt: \"Well?\"}}\n  - {id: z, needs: [a, q], outputs: {t: \"${{ steps.a.text + steps.q.text }}\"}}\n")
	open := w.openAsks(2)
	w.reaches(run.ID, a2a.TaskStateInputRequired)
	killed := w.process.dying(n)
	for _, a := range slices.Backward(open) {
		_ = w.driver.Answer(w.ctx, a.ID, &orchestrator.Answer{Text: "now"})
	}
	w.eventually("it ended or died", func() bool {
		select {
		case <-killed:
			return true
		default:
		}
		ended = w.run(run.ID).State.Terminal()
		return ended
	})
	if !ended {
		w.close()
		w.start()
		for _, a := range open {
			if again, err := w.store.Ask(w.ctx, a.ID); err != nil || again.State == orchestrator.AskOpen {
				w.must(err)
				w.must(w.driver.Answer(w.ctx, a.ID, &orchestrator.Answer{Text: "now"}))
			}
		}
	}
	w.reaches(run.ID, a2a.TaskStateCompleted)
	if sent := asker.Sent(); len(sent) < 2 {
		w.Errorf("n=%d: %d messages", n, len(sent))
	}
	w.openAsks(0)
	w.fold(run.ID)
	w.close()
	return ended
}
