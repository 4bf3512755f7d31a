package orchestratortest

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

var (
	planSeed = flag.Uint64("planseed", 0, "of the first plan that is killed at random; 0 = a new one")
	planRuns = flag.Int("planruns", 20, "how many plans are killed at random")
)

// drawPlan writes a workflow file of which everything can happen in any order and the outcome is the same.
func drawPlan(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("name: Drawn\nsteps:\n")
	n := 2 + r.IntN(6)
	var texts []string
	for i := range n {
		id := fmt.Sprintf("s%d", i)
		var needs []string
		said := id
		for j := range i {
			if r.IntN(3) == 0 {
				needs = append(needs, fmt.Sprintf("s%d", j))
				said += fmt.Sprintf(" ${{ steps.s%d.state }}:${{ steps.s%d.text }}", j, j)
			}
		}
		fmt.Fprintf(&b, "  - id: %s\n    on-error: skip\n", id)
		if len(needs) > 0 {
			fmt.Fprintf(&b, "    needs: [%s]\n", strings.Join(needs, ", "))
			if r.IntN(3) == 0 {
				b.WriteString("    join: collect\n")
			}
		}
		switch r.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "    ask: {prompt: \"%s?\"}\n", id)
		case 1:
			fmt.Fprintf(&b, "    agent: asker\n    message: \"%s\"\n", said)
		case 2:
			fmt.Fprintf(&b, "    agent: flaky\n    message: \"%s\"\n    retry: {attempts: %d, backoff: 1ms}\n", said, 1+r.IntN(2))
		case 3:
			fmt.Fprintf(&b, "    agent: one\n    for-each: [\"a\", \"b\", \"c\"]\n    max-parallel: %d\n    message: \"${{ item }} %s\"\n", 1+r.IntN(3), said)
		case 4:
			fmt.Fprintf(&b, "    agent: two\n    approve: true\n    message: \"%s\"\n", said)
		case 5:
			fmt.Fprintf(&b, "    outputs: {x: \"%s\"}\n", said)
		default:
			fmt.Fprintf(&b, "    agent: %s\n    message: \"%s\"\n", []string{"one", "two"}[r.IntN(2)], said)
		}
		texts = append(texts, fmt.Sprintf("${{ steps.%s.state }} ${{ steps.%s.text }}", id, id))
	}
	fmt.Fprintf(&b, "outputs: {all: \"%s\"}\n", strings.Join(texts, " | "))
	return b.String()
}

// play begins a drawn plan and sees it to its end, answering what is asked. It is killed behind
// some of its commits, each time as many commits after its start as kills say.
func (w *world) play(file string, kills []int) (outputs string, effects int) {
	acts := &onces{}
	failed := map[string]string{}
	flaky := func(x *Turn) { // the first message of each text fails, however often it comes
		text := a2a.Text(x.Message.Parts)
		acts.mu.Lock()
		if failed[text] == "" {
			failed[text] = x.Message.ID
		}
		first := failed[text] == x.Message.ID
		acts.mu.Unlock()
		if first {
			x.Say(a2a.TaskStateFailed, "Not today.")
			return
		}
		echoes("flaky:")(x)
	}
	w.start()
	for id, script := range map[string]Script{"one": echoes("1:"), "two": echoes("2:"), "asker": asks(a2a.TaskStateInputRequired, "Which?"), "flaky": flaky} {
		agent := w.add(id, acts.once(script))
		if len(kills) > 0 && kills[0]%2 == 0 {
			agent.Blind() // what was on its way is not found, and goes out once more
		}
		w.register(id, func(a *orchestrator.Agent) { a.Idempotent = true })
	}
	kill := func() <-chan struct{} {
		if len(kills) == 0 {
			return nil
		}
		n := kills[0]
		kills = kills[1:]
		return w.process.dying(n)
	}
	l := launch(file)
	l.MessageID = "launch"
	dying := kill()
	run := ""
	for n := 0; ; n++ {
		select {
		case <-dying:
			w.close()
			w.start()
			dying = kill()
		case <-w.ctx.Done():
			w.Fatalf("it does not end; %s", w.states(run))
		case <-time.After(pause(n)):
		}
		if run == "" {
			if r, err := w.planner().Launch(w.ctx, l); err == nil {
				run = r.ID
			}
			continue
		}
		if w.run(run).State.Terminal() {
			break
		}
		open, err := w.store.OpenAsks(w.ctx, "")
		w.must(err)
		for _, a := range open {
			yes := &orchestrator.Answer{Text: "an answer"}
			switch a.Kind {
			case orchestrator.AskApproval:
				yes = &orchestrator.Answer{Choice: "yes"}
			case orchestrator.AskResend: // killed each time it was sent
				yes = &orchestrator.Answer{Choice: engine.ResendAgain}
			}
			for range 2 {
				_ = w.driver.Answer(w.ctx, a.ID, yes) // it may be killed, and the second comes too late
			}
		}
	}
	select {
	case <-dying:
	default:
		w.process.dying(1 << 30)
	}
	w.close()
	w.start()
	p, err := w.planner().Plan(w.ctx, run)
	w.must(err)
	if p.State != a2a.TaskStateCompleted {
		w.Errorf("it ended as %s: %+v", p.State, p.Fault)
	}
	w.fold(run)
	if open, err := w.store.OpenAsks(w.ctx, ""); err != nil || len(open) != 0 {
		w.Errorf("%d asks are open at the end, %v", len(open), err)
	}
	for r, err := range w.store.OpenRuns(w.ctx, "step/") {
		w.Errorf("a call goes on after the end: %+v, %v", r, err)
	}
	w.agents.Wait()
	w.close()
	return string(p.Outputs["all"]), acts.count()
}

// Plans that are drawn at random, and killed again and again behind commits drawn at random, come to the end they come to
// without that, and what their agents do is done once.
func planCrashSeeded(w *world) {
	seed := *planSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	for range *planRuns {
		r := rand.New(rand.NewPCG(seed, 0))
		file := drawPlan(r)
		var want, got string
		var effects, acts int
		w.another(fmt.Sprintf("%d whole", seed), func(one *world) { want, effects = one.play(file, nil) })
		kills := make([]int, 1+r.IntN(6))
		for i := range kills {
			kills[i] = r.IntN(12)
		}
		w.another(fmt.Sprintf("%d killed", seed), func(one *world) { got, acts = one.play(file, kills) })
		var a, b string
		if !w.Failed() {
			w.must(json.Unmarshal([]byte(want), &a))
			w.must(json.Unmarshal([]byte(got), &b))
		}
		if a != b || effects != acts {
			w.Errorf("-planseed %d, killed after %v: got %q with %d effects, want %q with %d", seed, kills, b, acts, a, effects)
		}
		if w.Failed() {
			w.Fatalf("-planseed %d -planruns 1, killed after %v:\n%s", seed, kills, file)
		}
		seed++
	}
}
