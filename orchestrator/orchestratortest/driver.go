package orchestratortest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// Driver is what the suite wants of a driver.
type Driver interface {
	orchestrator.Runner
	Resume(ctx context.Context) error
	Close(ctx context.Context) error

	// Tasks returns what serves A2A callers: our own agent for "", else the gateway to that agent.
	Tasks(agent string) Tasks
}

// Tasks is what A2A callers of a driver reach; the shape is that of the A2A server's port.
type Tasks interface {
	Start(ctx context.Context, principal string, r *a2a.SendRequest) (task string, after int64, repeated bool, err error)
	Task(ctx context.Context, principal string, r *a2a.GetRequest) (*a2a.Task, error)
	List(ctx context.Context, principal string, r *a2a.ListRequest) (*a2a.TaskPage, error)
	Cancel(ctx context.Context, principal string, r *a2a.CancelRequest) (*a2a.Task, error)
	Events(ctx context.Context, principal, task string, after int64) iter.Seq2[[]*a2a.Entry, error]
}

// NewDriver makes a driver on a store that calls agents through caller. Its waits should be short: retries within a
// second, polls every few milliseconds.
type NewDriver func(t testing.TB, store orchestrator.Store, caller orchestrator.Caller) Driver

// NewStore makes an empty store.
type NewStore func(t testing.TB) orchestrator.Store

// RunDriver checks what every driver promises, over stores made by newStore (nil: NewMemoryStore).
func RunDriver(t *testing.T, newDriver NewDriver, newStore NewStore) {
	run(t, newDriver, newStore, []driverTest{
		{"Conversation", driverConversation},
		{"MessageReply", driverMessageReply},
		{"Items", driverItems},
		{"Turns", driverTurns},
		{"TwoWindows", driverTwoWindows},
		{"Auto", driverAuto},
		{"AutoChoice", driverAutoChoice},
		{"AutoNoAgents", driverAutoNoAgents},
		{"Ask", driverAsk},
		{"AskBySaying", driverAskBySaying},
		{"AskTwice", driverAskTwice},
		{"AskDeclined", driverAskDeclined},
		{"AskForm", driverAskForm},
		{"SignIn", driverSignIn},
		{"SignInPolled", driverSignInPolled},
		{"SignInSaid", driverSignInSaid},
		{"SignInTooEarly", driverSignInTooEarly},
		{"DoubleAnswer", driverDoubleAnswer},
		{"Stop", driverStop},
		{"StopRefused", driverStopRefused},
		{"StopUnreachable", driverStopUnreachable},
		{"StopAsking", driverStopAsking},
		{"StopRaces", driverStopRaces},
		{"Failed", driverFailed},
		{"Refused", driverRefused},
		{"RefusedForGood", driverRefusedForGood},
		{"AgentError", driverAgentError},
		{"Retry", driverRetry},
		{"CutStream", driverCutStream},
		{"CutBeforeAnswer", driverCutBeforeAnswer},
		{"ResendIdempotent", driverResendIdempotent},
		{"ResendAsked", driverResendAsked},
		{"ResendLeft", driverResendLeft},
		{"Gap", driverGap},
		{"Unapproved", driverUnapproved},
		{"SameMessage", driverSameMessage},
		{"SameMessageAtOnce", driverSameMessageAtOnce},
		{"Close", driverClose},
		{"CrashAnywhere", driverCrashAnywhere},
		{"CrashWhileAsking", driverCrashWhileAsking},
		{"CrashOnAnswer", driverCrashOnAnswer},
		{"CrashOnAuto", driverCrashOnAuto},
		{"StoreFails", driverStoreFails},
		{"Gateway", driverGateway},
		{"GatewayMessage", driverGatewayMessage},
		{"GatewayReferences", driverGatewayReferences},
		{"GatewayTask", driverGatewayTask},
		{"GatewayContexts", driverGatewayContexts},
		{"GatewayAsk", driverGatewayAsk},
		{"GatewaySignIn", driverGatewaySignIn},
		{"GatewaySameMessage", driverGatewaySameMessage},
		{"GatewayNamed", driverGatewayNamed},
		{"GatewayFollowUp", driverGatewayFollowUp},
		{"GatewayPrivate", driverGatewayPrivate},
		{"GatewayList", driverGatewayList},
		{"GatewayCancel", driverGatewayCancel},
		{"GatewayCancelRefused", driverGatewayCancelRefused},
		{"GatewayWorking", driverGatewayWorking},
		{"GatewayEnded", driverGatewayEnded},
		{"GatewayCircle", driverGatewayCircle},
		{"GatewayIdentical", driverGatewayIdentical},
		{"GatewayLost", driverGatewayLost},
		{"GatewayError", driverGatewayError},
		{"OwnAgent", driverOwnAgent},
		{"OwnAgentNamed", driverOwnAgentNamed},
	})
}

type driverTest struct {
	name string
	test func(*world)
}

func run(t *testing.T, newDriver NewDriver, newStore NewStore, tests []driverTest) {
	if newStore == nil {
		newStore = func(testing.TB) orchestrator.Store { return NewMemoryStore() }
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newDriver, newStore)
			w.start()
			tt.test(w)
			w.close()
		})
	}
}

// testTime is how long a test may wait in all. It is for the slowest machine, and the slowest store and host.
const testTime = 2 * time.Minute

func newWorld(t *testing.T, newDriver NewDriver, newStore NewStore) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	return &world{T: t, ctx: ctx, agents: NewAgents(), newDriver: newDriver, newStore: newStore, store: newStore(t)}
}

// another runs a part of a test in a world of its own, which has no driver yet. Its store ends with it.
func (w *world) another(name string, test func(one *world)) bool {
	w.Helper()
	return w.Run(name, func(t *testing.T) { test(newWorld(t, w.newDriver, w.newStore)) })
}

// world is one test: a store, the agents, and the driver that is running now.
type world struct {
	*testing.T
	ctx       context.Context
	agents    *Agents
	store     orchestrator.Store
	process   *process
	driver    Driver
	newDriver NewDriver
	newStore  NewStore
}

// start starts a driver, and resumes what is open, as a new process would.
func (w *world) start() {
	w.Helper()
	w.process = &process{Store: w.store}
	w.driver = w.newDriver(w, w.process, w.agents)
	w.must(w.driver.Resume(w.ctx))
}

// close stops the driver in good order, also when the time of the test is over.
func (w *world) close() {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), testTime)
	defer cancel()
	w.must(w.driver.Close(ctx))
}

// crash ends the driver as a killed process would: nothing of what it had not stored is ever stored.
func (w *world) crash() {
	w.Helper()
	w.process.kill()
	w.close()
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v", err)
	}
}

// add adds an approved agent that plays a script.
func (w *world) add(id string, script Script) *Agent {
	w.Helper()
	a, row := w.agents.Add(id, script)
	w.must(w.store.Write(w.ctx, &orchestrator.Batch{Agents: []*orchestrator.Agent{row}}))
	return a
}

// register changes the row of an agent.
func (w *world) register(id string, change func(*orchestrator.Agent)) {
	w.Helper()
	a, err := w.store.Agent(w.ctx, id)
	w.must(err)
	c := *a
	change(&c)
	w.must(w.store.Write(w.ctx, &orchestrator.Batch{Agents: []*orchestrator.Agent{&c}}))
}

// say says something in a conversation; "" begins one with the agent.
func (w *world) say(conversation, to, text string) *orchestrator.Run {
	w.Helper()
	run, err := w.driver.Say(w.ctx, &orchestrator.Say{ConversationID: conversation, To: to, Text: text})
	w.must(err)
	return run
}

// eventually waits until ok.
func (w *world) eventually(what string, ok func() bool) {
	w.Helper()
	for n := 0; !ok(); n++ {
		select {
		case <-w.ctx.Done():
			w.Fatalf("waited in vain until %s", what)
		case <-time.After(pause(n)):
		}
	}
}

// pause is how long somebody waits who has looked in vain n times before: longer each time, so that those who wait leave a slow
// store and a slow host to those who work.
func pause(n int) time.Duration { return min(time.Duration(1+n)*time.Millisecond, 20*time.Millisecond) }

// run returns a run's row.
func (w *world) run(id string) *orchestrator.Run {
	w.Helper()
	r, err := w.store.Run(w.ctx, id)
	w.must(err)
	return r
}

// reaches waits until a run is in a state and returns it.
func (w *world) reaches(id string, s a2a.TaskState) *orchestrator.Run {
	w.Helper()
	for n := 0; ; n++ {
		r := w.run(id)
		if r.State == s {
			return r
		}
		if r.State.Terminal() {
			w.Fatalf("run ended as %s, want %s; events: %v", r.State, s, w.kinds(id))
		}
		select {
		case <-w.ctx.Done():
			w.Fatalf("run is %s, waited in vain for %s; events: %v", r.State, s, w.kinds(id))
		case <-time.After(pause(n)):
		}
	}
}

// ask waits until a run has an open ask and returns it.
func (w *world) ask(run string) *orchestrator.Ask {
	w.Helper()
	var asks []*orchestrator.Ask
	w.eventually("an ask is open", func() bool {
		var err error
		asks, err = w.store.OpenAsks(w.ctx, run)
		w.must(err)
		return len(asks) > 0
	})
	if len(asks) != 1 {
		w.Fatalf("%d asks are open, want 1", len(asks))
	}
	return asks[0]
}

// events returns a run's events, but for those that only tell of the processes that carry it on. They are also read when the
// time of the test is over, to say how far it came.
func (w *world) events(id string) []*orchestrator.Event {
	w.Helper()
	var all []*orchestrator.Event
	for es, err := range w.store.ReadRun(context.WithoutCancel(w.ctx), id, 0) {
		w.must(err)
		for _, e := range es {
			if e.Kind != orchestrator.EventTaken {
				all = append(all, e)
			}
		}
	}
	return all
}

// kinds returns a run's events in short.
func (w *world) kinds(id string) []string {
	w.Helper()
	var out []string
	for _, e := range w.events(id) {
		s := string(e.Kind)
		if e.Kind.A2A() {
			ev, err := e.Event()
			w.must(err)
			if state := a2a.EventState(ev); state != "" {
				s += ":" + string(state)
			}
		}
		out = append(out, s)
	}
	return out
}

// has counts a run's events of a kind.
func (w *world) has(id string, k orchestrator.EventKind) int {
	w.Helper()
	n := 0
	for _, e := range w.events(id) {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// fold returns the task as a run's A2A events tell it, and checks what they promise to outside clients.
func (w *world) fold(id string) *a2a.Task {
	w.Helper()
	row := w.run(id)
	var t a2a.Task
	n := 0
	for _, e := range w.events(id) {
		if !e.Kind.A2A() {
			continue
		}
		ev, err := a2a.UnmarshalEvent(e.JSON)
		w.must(err)
		if k := orchestrator.KindOfEvent(ev); k != e.Kind {
			w.Fatalf("event %d is a %s logged as %s", e.Seq, k, e.Kind)
		}
		_, isTask := ev.(*a2a.Task)
		if isTask != (n == 0) {
			w.Fatalf("event %d of the task: is a Task: %v; events: %v", n, isTask, w.kinds(id))
		}
		if t.Status.State.Terminal() {
			w.Fatalf("an event follows the end; events: %v", w.kinds(id))
		}
		task, ctx := addressed(ev)
		if task != id || ctx != row.ContextID {
			w.Fatalf("event %d is addressed to %s/%s, want %s/%s", e.Seq, ctx, task, row.ContextID, id)
		}
		t.Apply(ev)
		n++
	}
	if t.Status.State != row.State {
		w.Fatalf("the events say %s, the row %s", t.Status.State, row.State)
	}
	return &t
}

func addressed(e a2a.Event) (task, ctx string) {
	switch e := e.(type) {
	case *a2a.Task:
		return e.ID, e.ContextID
	case *a2a.StatusUpdate:
		return e.TaskID, e.ContextID
	case *a2a.ArtifactUpdate:
		return e.TaskID, e.ContextID
	}
	return "", ""
}

// text returns the text of a task's artifact.
func text(t *a2a.Task, artifact string) string {
	for i := range t.Artifacts {
		if t.Artifacts[i].ID == artifact {
			return a2a.Text(t.Artifacts[i].Parts)
		}
	}
	return ""
}

// items returns a conversation's transcript in short: kind, speaker and text.
func (w *world) items(conversation string) []string {
	w.Helper()
	items, err := w.store.Items(w.ctx, conversation, 0, 1000)
	w.must(err)
	var out []string
	for _, it := range items {
		who := it.AgentID
		if who == "" {
			who = "person"
		}
		out = append(out, fmt.Sprintf("%s %s: %s", it.Kind, who, it.Text))
	}
	return out
}

// send starts a message at an agent's gateway.
func (w *world) send(agent, principal, id, text string) (task string, after int64) {
	w.Helper()
	task, after, repeated, err := w.driver.Tasks(agent).Start(w.ctx, principal, message(id, text))
	w.must(err)
	if repeated {
		w.Fatalf("message %s counts as repeated", id)
	}
	return task, after
}

func message(id, text string) *a2a.SendRequest {
	return &a2a.SendRequest{Message: a2a.Message{ID: id, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}}}
}

// reply makes a message the next turn of a task.
func reply(task, id, text string) *a2a.SendRequest {
	r := message(id, text)
	r.Message.TaskID = task
	return r
}

// until reads a task's events at the gateway until ok says that it has seen enough.
func (w *world) until(agent, principal, task string, after int64, ok func(a2a.Event) bool) []a2a.Event {
	w.Helper()
	var out []a2a.Event
	for entries, err := range w.driver.Tasks(agent).Events(w.ctx, principal, task, after) {
		w.must(err)
		for _, e := range entries {
			ev, err := a2a.UnmarshalEvent(e.JSON)
			w.must(err)
			if out = append(out, ev); ok(ev) {
				return out
			}
		}
	}
	return out
}

// ends is for until: the task, or the whole answer, ended.
func ends(e a2a.Event) bool {
	_, m := e.(*a2a.Message)
	return m || a2a.EventState(e).Terminal()
}

// in is for until.
func in(s a2a.TaskState) func(a2a.Event) bool {
	return func(e a2a.Event) bool { return a2a.EventState(e) == s }
}

// process is a store as one process has it: once killed, it stores nothing any more.
type process struct {
	orchestrator.Store
	mu     sync.Mutex
	commit int // commits so far
	last   int // killed after that many; 0 = never
	dead   bool
	killed chan struct{}

	followed atomic.Int32 // times that a run was
}

func (p *process) FollowRun(ctx context.Context, run string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	p.followed.Add(1)
	return p.Store.FollowRun(ctx, run, after)
}

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
}

// dying returns a channel that is closed when the process was killed by its n-th commit from now on: that one is stored,
// and nothing after it.
func (p *process) dying(n int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.killed = p.commit+n, make(chan struct{})
	if n == 0 {
		p.dead = true
		close(p.killed)
	}
	return p.killed
}

// write runs f unless the process is dead.
func (p *process) write(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return false
	}
	f()
	if p.commit++; p.last > 0 && p.commit == p.last {
		p.dead = true
		close(p.killed)
	}
	return true
}

var errKilled = errors.New("the process was killed")

func (p *process) Write(ctx context.Context, b *orchestrator.Batch) (err error) {
	if !p.write(func() { err = p.Store.Write(ctx, b) }) {
		return errKilled
	}
	return err
}

func (p *process) Enqueue(b *orchestrator.Batch, done func([]*a2a.Entry, error)) {
	if !p.write(func() { p.Store.Enqueue(b, done) }) && done != nil {
		go done(nil, errKilled) // as a writer does: not on the caller's stack
	}
}

func (p *process) Healthy() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errKilled
	}
	return p.Store.Healthy()
}
