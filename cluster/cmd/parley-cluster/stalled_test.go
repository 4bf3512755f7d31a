package main

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

// stall stops a process without its knowing, as a machine does that swaps or is moved, until it is told to go on.
func (w *world) stall(p *process) (goOn func()) {
	w.Helper()
	w.must(p.cmd.Process.Signal(syscall.SIGSTOP))
	return func() {
		w.Helper()
		w.must(p.cmd.Process.Signal(syscall.SIGCONT))
	}
}

// work begins tasks and plans, and waits until the agent acts on each.
func (w *world) work(node *process, p *peer, agent string) (ids map[string]string) {
	w.Helper()
	const plain, plans = 4, 3
	ids = map[string]string{} // by message
	for i := range plain + plans {
		m := fmt.Sprintf("m%d", i)
		var err error
		if i < plain {
			ids[m], err = w.send(node, m, map[string]any{"urn:parley:agent": agent}, map[string]any{"text": "letter " + m})
		} else {
			ids[m], err = w.send(node, m, nil, map[string]any{"data": map[string]any{"workflow": fmt.Sprintf(file, agent, m)}})
		}
		w.must(err)
	}
	w.eventually("the agent is at work on all", func() bool { return len(p.counts()) == plain+2*plans })
	return ids
}

// done waits until all has ended, and checks that each thing was done once.
func (w *world) done(node *process, p *peer, ids map[string]string) {
	w.Helper()
	for m, id := range ids {
		t := w.until(node, id)
		if t.Status.State != "TASK_STATE_COMPLETED" {
			w.Errorf("%s ended as %+v", m, t.Status)
		}
		n := len(whole(m + " one"))
		plan := fmt.Sprintf(`{"text":%q}`, whole(fmt.Sprintf("%s %d %d", m, n, n)))
		if out := t.outputs(); out != "" && out != plan || out == "" && (len(t.Artifacts) != 1 || text(t.Artifacts[0].Parts) != whole("letter "+m)) {
			w.Errorf("%s made %+v", m, t.Artifacts)
		}
	}
	for said, n := range p.counts() {
		if n != 1 {
			w.Errorf("the agent acted %d times on %q", n, said)
		}
	}
}

// A worker that stood still for so long that another one finished its runs writes nothing and sends nothing when it goes on,
// though the agent's words for it are still in its connections; and it is of use again.
func TestStalled(t *testing.T) {
	w := newWorld(t)
	p := newPeer(t, "Writer")
	node, stalled := w.node("node"), w.worker("stalled")
	agent := w.add("cluster", "node", p)
	w.idempotent(agent)
	ids := w.work(node, p, agent)
	goOn := w.stall(stalled)
	successor := w.worker("successor")
	w.done(node, p, ids)

	db := w.open()
	before, messages := w.log(db, ""), p.messages()
	goOn()
	w.stop(successor)
	// Nobody but the one that stood still can carry this one on.
	after, err := w.send(node, "after", map[string]any{"urn:parley:agent": agent}, map[string]any{"text": "after"})
	w.must(err)
	if s := w.until(node, after).Status.State; s != "TASK_STATE_COMPLETED" {
		t.Errorf("the worker that came back left a run as %s", s)
	}
	own := w.log(db, after)
	now := slices.DeleteFunc(w.log(db, ""), func(seq int64) bool { return slices.Contains(own, seq) })
	if len(own) == 0 || !slices.Equal(now, before) {
		t.Errorf("the log had %d events, and then %d besides the %d of a new run", len(before), len(now), len(own))
	}
	if n := p.messages(); n != messages+1 {
		t.Errorf("the agent had %d messages, and then %d with the one that is new", messages, n)
	}
}

// A worker that comes back just as another one takes its runs over leaves them to it.
func TestStalledBriefly(t *testing.T) {
	w := newWorld(t)
	p := newPeer(t, "Writer")
	node, stalled := w.node("node"), w.worker("stalled")
	agent := w.add("cluster", "node", p)
	w.idempotent(agent)
	ids := w.work(node, p, agent)
	db := w.open()
	claims := func() (n int64) {
		w.must(db.QueryRow(w.ctx, `SELECT last_value FROM claim_numbers`).Scan(&n))
		return n
	}
	goOn := w.stall(stalled)
	before, began := claims(), time.Now()
	w.worker("successor")
	w.eventually("the runs are taken over", func() bool { return claims() > before })
	goOn()
	t.Logf("taken over after %s", time.Since(began).Round(time.Millisecond))
	w.done(node, p, ids)
}
