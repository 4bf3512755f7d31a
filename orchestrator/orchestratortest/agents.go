package orchestratortest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"parley/a2a"
	"parley/orchestrator"
)

// Agents is an orchestrator.Caller that reaches scripted agents instead of a network: each plays a script for every
// message, keeps its tasks as a real agent does, and remembers what it was sent.
type Agents struct {
	mu     sync.Mutex
	agents map[string]*Agent
}

// NewAgents returns agents of which there are none yet.
func NewAgents() *Agents { return &Agents{agents: map[string]*Agent{}} }

// Script is what an agent does with a message. It runs beside the caller, who may leave.
type Script func(x *Turn)

// Agent is one scripted agent.
type Agent struct {
	ID string

	mu      sync.Mutex
	script  Script
	down    error // of every call, while set
	stop    error // of every cancel, while set
	blind   bool  // it cannot list its tasks
	tasks   []*task
	begun   int // tasks that were given an id
	sent    []*a2a.SendRequest
	cancels int
	gets    int
	turns   sync.WaitGroup
}

// task is a task at an agent: what it is, and everything that was said about it.
type task struct {
	agent    *Agent
	message  string // id of the message that began it
	mu       sync.Mutex
	now      a2a.Task
	log      [][]byte
	streams  int // generation of streams: those of an older one were cut
	cut      error
	gaps     []string
	changed  chan struct{}
	canceled chan struct{}
}

// Turn is one message being worked on.
type Turn struct {
	Message *a2a.Message
	ctx     context.Context
	agent   *Agent
	task    *task
	answer  chan answer // what the caller gets when it is not events of a task
}

type answer struct {
	event a2a.Event
	err   error
}

// Add adds an agent and returns it with the row to register it under.
func (as *Agents) Add(id string, script Script) (*Agent, *orchestrator.Agent) {
	a := &Agent{ID: id, script: script}
	as.mu.Lock()
	as.agents[id] = a
	as.mu.Unlock()
	return a, &orchestrator.Agent{
		ID: id, Name: id, Trust: orchestrator.TrustApproved, Dialect: "v1.0",
		Card:      &a2a.AgentCard{Name: id, Description: "A scripted agent called " + id + "."},
		Interface: a2a.AgentInterface{URL: "http://" + id + ".invalid/", Binding: a2a.BindingJSONRPC, Version: "1.0"},
	}
}

// Wait returns when no script is running any more.
func (as *Agents) Wait() {
	as.mu.Lock()
	defer as.mu.Unlock()
	for _, a := range as.agents {
		a.turns.Wait()
	}
}

func (as *Agents) agent(g *orchestrator.Agent) *Agent {
	as.mu.Lock()
	defer as.mu.Unlock()
	if a := as.agents[g.ID]; a != nil {
		return a
	}
	panic("orchestratortest: no agent " + g.ID)
}

// Plays changes the script from the next message on.
func (a *Agent) Plays(s Script) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.script = s
}

// Down makes every call fail with err, until it is nil again. Streams that are open break.
func (a *Agent) Down(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = err
	if err != nil {
		for _, t := range a.tasks {
			t.breakUp(err)
		}
	}
}

// RefusesStop makes every cancel fail with err, until it is nil again.
func (a *Agent) RefusesStop(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop = err
}

// Blind makes the agent unable to find tasks by their message.
func (a *Agent) Blind() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blind = true
}

// Sent returns what the agent was sent so far.
func (a *Agent) Sent() []*a2a.SendRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.sent)
}

// Cancels returns how many times the agent was asked to stop.
func (a *Agent) Cancels() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cancels
}

// Tasks returns the ids of the agent's tasks, oldest first.
func (a *Agent) Tasks() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []string
	for _, t := range a.tasks {
		ids = append(ids, t.now.ID)
	}
	return ids
}

// Cut breaks every open stream of the agent with err; its tasks go on.
func (a *Agent) Cut(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tasks {
		t.breakUp(err)
	}
}

// Loses makes every open stream of the agent tell a gap and go on.
func (a *Agent) Loses(reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tasks {
		t.mu.Lock()
		t.gaps = append(t.gaps, reason)
		t.wake()
		t.mu.Unlock()
	}
}

func (a *Agent) find(id string) (*task, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down != nil {
		return nil, a.down
	}
	for _, t := range a.tasks {
		if t.now.ID == id {
			return t, nil
		}
	}
	return nil, &a2a.Error{Kind: a2a.KindTaskNotFound, Code: -32001, Message: "Task not found"}
}

// breakUp ends the open streams of a task.
func (t *task) breakUp(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.streams++
	t.cut = err
	t.wake()
}

func (t *task) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// add says e about the task.
func (t *task) add(e a2a.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.Status.State.Terminal() {
		return
	}
	b := a2a.MarshalEvent(e)
	own, err := a2a.UnmarshalEvent(b)
	if err != nil {
		panic(err)
	}
	t.now.Apply(own)
	t.log = append(t.log, b)
	t.wake()
}

// copy returns the task as it stands, for the receiver to own.
func (t *task) copy() *a2a.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, err := a2a.UnmarshalEvent(a2a.MarshalEvent(&t.now))
	if err != nil {
		panic(err)
	}
	return e.(*a2a.Task)
}

// follow yields what is said about the task from position at on, until it ends or is interrupted, or the stream is cut.
func (t *task) follow(ctx context.Context, at int, yield func(a2a.Event, error) bool) {
	t.mu.Lock()
	streams, gaps := t.streams, len(t.gaps)
	t.mu.Unlock()
	for {
		t.mu.Lock()
		log, changed, cut, lost := t.log[at:], t.changed, t.cut, t.gaps[gaps:]
		broken := t.streams != streams
		t.mu.Unlock()
		for _, b := range log {
			at++
			e, err := a2a.UnmarshalEvent(b)
			if err != nil {
				panic(err)
			}
			if s := a2a.EventState(e); !yield(e, nil) || s.Terminal() || s == a2a.TaskStateInputRequired {
				return
			}
		}
		for _, reason := range lost {
			gaps++
			if !yield(nil, &orchestrator.Gap{Reason: reason}) {
				return
			}
		}
		if broken {
			yield(nil, cut)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
	}
}

// Send is orchestrator.Caller's.
func (as *Agents) Send(ctx context.Context, g *orchestrator.Agent, r *a2a.SendRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		a := as.agent(g)
		x, at, err := a.receive(ctx, r)
		if err != nil {
			yield(nil, err)
			return
		}
		select {
		case got := <-x.answer:
			yield(got.event, got.err)
			return
		case <-x.task.begun(at):
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
		x.task.follow(ctx, at, yield)
	}
}

// begun returns a channel that is closed once something was said after position at.
func (t *task) begun(at int) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.log) > at {
		done := make(chan struct{})
		close(done)
		return done
	}
	return t.changed
}

// receive starts the script for a message.
func (a *Agent) receive(ctx context.Context, r *a2a.SendRequest) (*Turn, int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down != nil {
		return nil, 0, a.down
	}
	c := *r
	a.sent = append(a.sent, &c)
	x := &Turn{Message: &c.Message, ctx: context.WithoutCancel(ctx), agent: a, answer: make(chan answer, 1)}
	at := 0
	if id := r.Message.TaskID; id != "" {
		i := slices.IndexFunc(a.tasks, func(t *task) bool { return t.now.ID == id })
		if i < 0 {
			return nil, 0, &a2a.Error{Kind: a2a.KindTaskNotFound, Code: -32001, Message: "Task not found"}
		}
		x.task = a.tasks[i]
		x.task.mu.Lock()
		if x.task.now.Status.State.Terminal() {
			x.task.mu.Unlock()
			return nil, 0, &a2a.Error{Kind: a2a.KindTaskTerminal, Code: -32004, Message: "the task is in a terminal state"}
		}
		x.task.now.History = append(x.task.now.History, c.Message)
		at = len(x.task.log)
		x.task.mu.Unlock()
	} else {
		x.task = &task{agent: a, message: c.Message.ID, changed: make(chan struct{}), canceled: make(chan struct{})}
		a.begun++ // the next message may come before this one is known as a task
		x.task.now.ID = fmt.Sprintf("%s-task-%d", a.ID, a.begun)
		x.task.now.ContextID = c.Message.ContextID
		if x.task.now.ContextID == "" {
			x.task.now.ContextID = fmt.Sprintf("%s-context-%d", a.ID, a.begun)
		}
		x.task.now.History = []a2a.Message{c.Message}
	}
	script := a.script
	a.turns.Go(func() { script(x) })
	return x, at, nil
}

// begin makes the task known: a script that says nothing about it answers otherwise.
func (x *Turn) begin() {
	x.agent.mu.Lock()
	defer x.agent.mu.Unlock()
	if !slices.Contains(x.agent.tasks, x.task) {
		x.agent.tasks = append(x.agent.tasks, x.task)
		first := x.task.copy()
		first.Status.State = a2a.TaskStateSubmitted
		x.task.add(first)
	}
}

// Status says where the task stands; parts, when there are any, are its message.
func (x *Turn) Status(state a2a.TaskState, parts ...a2a.Part) {
	s := a2a.TaskStatus{State: state}
	if len(parts) > 0 {
		s.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: parts}
	}
	x.Stands(s)
}

// Stands is Status for a status as it is given, whose message gets the ids of the task.
func (x *Turn) Stands(s a2a.TaskStatus) {
	x.begin()
	x.task.mu.Lock()
	id, ctx, n := x.task.now.ID, x.task.now.ContextID, len(x.task.log)
	x.task.mu.Unlock()
	if s.Message != nil {
		m := *s.Message
		m.ID, m.TaskID, m.ContextID = fmt.Sprintf("%s-said-%d", id, n), id, ctx
		s.Message = &m
	}
	x.task.add(&a2a.StatusUpdate{TaskID: id, ContextID: ctx, Status: s})
}

// Say is Status with words.
func (x *Turn) Say(state a2a.TaskState, text string) { x.Status(state, a2a.TextPart(text)) }

// Write adds text to an artifact.
func (x *Turn) Write(artifact, text string) { x.Give(artifact, a2a.TextPart(text)) }

// Give adds parts to an artifact.
func (x *Turn) Give(artifact string, parts ...a2a.Part) {
	x.begin()
	x.task.mu.Lock()
	id, ctx := x.task.now.ID, x.task.now.ContextID
	more := slices.ContainsFunc(x.task.now.Artifacts, func(a a2a.Artifact) bool { return a.ID == artifact })
	x.task.mu.Unlock()
	x.task.add(&a2a.ArtifactUpdate{
		TaskID: id, ContextID: ctx, Artifact: a2a.Artifact{ID: artifact, Parts: parts}, Append: more,
	})
}

// Hide says something about the task that no open stream shows: only a look at the task does.
func (x *Turn) Hide(e a2a.Event) {
	x.task.mu.Lock()
	defer x.task.mu.Unlock()
	x.task.now.Apply(e)
}

// Reply answers with a message and no task.
func (x *Turn) Reply(parts ...a2a.Part) {
	x.answer <- answer{event: &a2a.Message{
		ID: "reply-to-" + x.Message.ID, Role: a2a.RoleAgent, ContextID: x.task.now.ContextID, Parts: parts,
	}}
}

// Fail answers with an error and no task.
func (x *Turn) Fail(err error) { x.answer <- answer{err: err} }

// Task is the id of the task.
func (x *Turn) Task() string { return x.task.now.ID }

// Canceled is closed when somebody cancels the task.
func (x *Turn) Canceled() <-chan struct{} { return x.task.canceled }

// Await is orchestrator.Caller's.
func (as *Agents) Await(ctx context.Context, g *orchestrator.Agent, id string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t, err := as.agent(g).find(id)
		if err != nil {
			yield(nil, err)
			return
		}
		t.mu.Lock()
		at := len(t.log)
		t.mu.Unlock()
		now := t.copy()
		if !yield(now, nil) || now.Status.State.Terminal() || now.Status.State.Interrupted() {
			return
		}
		t.follow(ctx, at, yield)
	}
}

// Get is orchestrator.Caller's.
func (as *Agents) Get(ctx context.Context, g *orchestrator.Agent, r *a2a.GetRequest) (*a2a.Task, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a := as.agent(g)
	t, err := a.find(r.ID)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.gets++
	a.mu.Unlock()
	now := t.copy()
	if r.HistoryLength != nil {
		now.History = now.History[len(now.History)-min(len(now.History), *r.HistoryLength):]
	}
	return now, nil
}

// Cancel is orchestrator.Caller's.
func (as *Agents) Cancel(_ context.Context, g *orchestrator.Agent, r *a2a.CancelRequest) (*a2a.Task, error) {
	a := as.agent(g)
	a.mu.Lock()
	a.cancels++
	refused := a.stop
	a.mu.Unlock()
	if refused != nil {
		return nil, refused
	}
	t, err := a.find(r.ID)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	state := t.now.Status.State
	select {
	case <-t.canceled:
	default:
		close(t.canceled)
	}
	id, ctx := t.now.ID, t.now.ContextID
	t.mu.Unlock()
	if state.Terminal() && state != a2a.TaskStateCanceled {
		return nil, &a2a.Error{Kind: a2a.KindTaskNotCancelable, Code: -32002, Message: "Task cannot be canceled"}
	}
	t.add(&a2a.StatusUpdate{TaskID: id, ContextID: ctx, Status: a2a.TaskStatus{State: a2a.TaskStateCanceled}})
	return t.copy(), nil
}

// Find is orchestrator.Caller's.
func (as *Agents) Find(_ context.Context, g *orchestrator.Agent, _, messageID string) (*a2a.Task, error) {
	a := as.agent(g)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down != nil {
		return nil, a.down
	}
	for _, t := range a.tasks {
		if t.message == messageID && !a.blind {
			return t.copy(), nil
		}
	}
	return nil, nil
}

// Errors that a network makes.
var (
	// ErrRefused means that nobody listens: nothing was executed.
	ErrRefused = &orchestrator.Fault{Kind: "refused", Where: orchestrator.WhereNetwork, What: "Nobody listens there.", Retry: true}

	// ErrReset means that the connection broke: the message may have arrived.
	ErrReset = &orchestrator.Fault{Kind: "cut", Where: orchestrator.WhereNetwork, What: "The connection broke.", MayHaveRun: true, Retry: true}
)
