package local_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/local"
	"parley/orchestrator/orchestratortest"
)

// node is one driver that takes messages and one that carries runs on, over one store and one host.
type node struct {
	driver
	host    *orchestratortest.Host
	store   orchestrator.Store
	carrier *local.Driver
}

func (n *node) Resume(ctx context.Context) error {
	if err := n.driver.Resume(ctx); err != nil {
		return err
	}
	return n.host.Find(ctx, n.store)
}

func (n *node) Close(ctx context.Context) error {
	n.host.Close()
	return errors.Join(n.driver.Close(ctx), n.carrier.Close(ctx))
}

func hosted(store orchestrator.Store, caller orchestrator.Caller, host local.Host) *local.Driver {
	return local.New(store, caller, &local.Options{
		Host: host, StopGrace: 100 * time.Millisecond, PollMin: 2 * time.Millisecond, PollMax: 20 * time.Millisecond, PollFailures: 1000,
	})
}

func carrier(d *local.Driver) orchestratortest.Carrier {
	return func(ctx context.Context, run string) (ended, moved bool, wake time.Time, err error) {
		rest, err := d.Carry(ctx, run)
		return rest.Ended, rest.Moved, rest.Wake, err
	}
}

func newNode(_ testing.TB, store orchestrator.Store, caller orchestrator.Caller) orchestratortest.Driver {
	host := orchestratortest.NewHost()
	n := &node{driver: driver{hosted(store, caller, host)}, host: host, store: store, carrier: hosted(store, caller, host)}
	host.Add(carrier(n.carrier))
	host.Add(carrier(n.driver.Driver))
	return n
}

// What a driver promises holds when one process takes what people want and another does it.
func TestHostedDriver(t *testing.T) {
	t.Parallel()
	orchestratortest.RunDriver(t, newNode, func(testing.TB) orchestrator.Store {
		return orchestratortest.Share(orchestratortest.NewMemoryStore())
	})
}

func TestHostedPlans(t *testing.T) {
	t.Parallel()
	orchestratortest.RunPlans(t, newNode, func(testing.TB) orchestrator.Store {
		return orchestratortest.Share(orchestratortest.NewMemoryStore())
	})
}

// counter is a host that only counts.
type counter struct {
	mu    sync.Mutex
	woken []string
	store orchestrator.Store
	t     *testing.T
}

func (c *counter) Wake(ctx context.Context, run string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.store.Run(ctx, run); err != nil {
		c.t.Errorf("woken before it is stored: %v", err)
	}
	c.woken = append(c.woken, run)
	return nil
}

// A run is woken after what it is woken for is stored, and a driver with a host does nothing for it by itself.
func TestWakeAfterCommit(t *testing.T) {
	t.Parallel()
	store, agents := orchestratortest.Share(orchestratortest.NewMemoryStore()), orchestratortest.NewAgents()
	agent, row := agents.Add("agent-1", func(x *orchestratortest.Turn) { x.Status(a2a.TaskStateCompleted) })
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		t.Fatal(err)
	}
	host := &counter{store: store, t: t}
	d := hosted(store, agents, host)
	run := say(t, d, "hi")
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(host.woken) != 1 || host.woken[0] != run.ID {
		t.Errorf("woken: %v", host.woken)
	}
	if n := len(agent.Sent()); n != 0 {
		t.Errorf("%d calls to the agent, and nobody carries the run", n)
	}
	other := hosted(store, agents, host)
	t.Cleanup(func() { _ = other.Close(context.Background()) })
	rest, err := other.Carry(t.Context(), run.ID)
	if err != nil || !rest.Ended {
		t.Errorf("carried to %+v, %v", rest, err)
	}
	if s := state(t, store, run.ID); s != a2a.TaskStateCompleted {
		t.Errorf("the run is %s", s)
	}
	if rest, err := other.Carry(t.Context(), "gone"); err != nil || !rest.Ended {
		t.Errorf("a run that is not there is carried to %+v, %v", rest, err)
	}
}

// sharing is a store that several processes share.
type sharing interface {
	orchestrator.Store
	orchestrator.Shared
}

// prompt is one that counts for nobody who has gone.
type prompt struct{ sharing }

func (p prompt) OpenCount(ctx context.Context, principal string) (running, interrupted int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	return p.sharing.OpenCount(ctx, principal)
}

// Who says something to a driver that is closed hears that, also when it would have to count first.
func TestClosedWithHost(t *testing.T) {
	t.Parallel()
	store, agents := prompt{orchestratortest.Share(orchestratortest.NewMemoryStore()).(sharing)}, orchestratortest.NewAgents()
	_, row := agents.Add("agent-1", func(x *orchestratortest.Turn) { x.Status(a2a.TaskStateCompleted) })
	if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}); err != nil {
		t.Fatal(err)
	}
	d := hosted(store, agents, &counter{store: store, t: t})
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Say(t.Context(), &orchestrator.Say{To: "agent-1", Text: "hi"}); a2a.KindOf(err) != a2a.KindUnavailable {
		t.Errorf("after closing: %v", err)
	}
}
