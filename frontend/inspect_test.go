package frontend

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// wireMemory is a log of the wire in memory.
type wireMemory struct {
	mu  sync.Mutex
	all []*orchestrator.WireRecord // oldest first
}

func (m *wireMemory) RecordWire(r *orchestrator.WireRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := *r
	now.ID = int64(len(m.all) + 1)
	now.Sizes = [2]int{len(r.Request), len(r.Response)}
	m.all = append(m.all, &now)
}

func (m *wireMemory) WireRecords(_ context.Context, q orchestrator.WireQuery) ([]*orchestrator.WireRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*orchestrator.WireRecord
	for _, r := range slices.Backward(m.all) {
		if q.RunID != "" && r.RunID != q.RunID && !slices.Contains(q.Calls, r.RunID) || q.TaskID != "" && r.TaskID != q.TaskID || q.Peer != "" && r.Peer != q.Peer ||
			q.Method != "" && r.Method != q.Method || q.Way == orchestrator.WireIn && !r.Inbound || q.Way == orchestrator.WireOut && r.Inbound ||
			q.Way == orchestrator.WirePush && r.Method != orchestrator.WirePushMethod || q.Failed && r.Status == 200 && r.Err == "" ||
			q.Before != 0 && r.ID >= q.Before || q.Text != "" && !strings.Contains(string(r.Request)+string(r.Response), q.Text) {
			continue
		}
		if len(out) < q.Limit || q.Limit == 0 {
			out = append(out, r)
		}
	}
	return out, nil
}

func (m *wireMemory) WireRecord(_ context.Context, id int64) (*orchestrator.WireRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id < 1 || id > int64(len(m.all)) {
		return nil, orchestrator.ErrNotFound
	}
	return m.all[id-1], nil
}

func (m *wireMemory) WireHead(context.Context) (id, stored, most int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.all)), int64(1000 * len(m.all)), 256 << 20, nil
}

func (m *wireMemory) WireNames(context.Context) (peers, methods []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.all {
		peers, methods = append(peers, r.Peer), append(methods, r.Method)
	}
	slices.Sort(peers)
	slices.Sort(methods)
	return slices.Compact(peers), slices.Compact(methods), nil
}

// looker is an inspector that does what it is told.
type looker struct {
	mu       sync.Mutex
	canceled []string
	refuses  map[string]error
	tested   []string
	replayed []string
	task     *a2a.Task
	events   chan a2a.Event
	pushes   []*orchestrator.Push
	wire     *wireMemory
	err      error
}

func (l *looker) CancelTask(_ context.Context, run string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refuses[run]; err != nil {
		return err
	}
	l.canceled = append(l.canceled, run)
	return nil
}

func (l *looker) TasksAt(context.Context, string) ([]a2a.Task, error) {
	if l.err != nil {
		return nil, l.err
	}
	return []a2a.Task{*l.task}, nil
}

func (l *looker) TaskAt(context.Context, string, string) (*a2a.Task, error) { return l.task, l.err }

func (l *looker) CancelAt(_ context.Context, _, task string) (*a2a.Task, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.canceled = append(l.canceled, task)
	t := *l.task
	t.Status.State = a2a.TaskStateCanceled
	return &t, nil
}

func (l *looker) AwaitAt(ctx context.Context, _, _ string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for {
			select {
			case e, ok := <-l.events:
				if !ok || !yield(e, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (l *looker) Pushes(context.Context, string) ([]*orchestrator.Push, error) { return l.pushes, nil }

func (l *looker) TestPush(_ context.Context, run, push string) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tested = append(l.tested, run+" "+push)
	return 200, l.err
}

func (l *looker) Replay(_ context.Context, r *orchestrator.WireRecord, body []byte) (*orchestrator.WireRecord, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	l.replayed = append(l.replayed, string(body))
	now := *r
	now.Request, now.At = body, r.At.Add(time.Minute)
	l.wire.RecordWire(&now)
	id, _, _, _ := l.wire.WireHead(context.Background())
	return l.wire.WireRecord(context.Background(), id)
}

// inspected gives a world tasks of several callers, questions, and records of the wire.
func inspected(w *world) *looker {
	w.Helper()
	wire := &wireMemory{}
	l := &looker{wire: wire, refuses: map[string]error{}, events: make(chan a2a.Event, 8)}
	l.task = &a2a.Task{
		ID: "far", ContextID: "cx", Status: a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: clock},
		History: []a2a.Message{{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Begun elsewhere")}}},
	}
	l.pushes = []*orchestrator.Push{
		{ID: "p1", Who: "kestrel", Task: "in1", URL: "https://crm.example/hook?…", State: "waiting", Attempts: 2, Error: "the webhook answered 503", Next: clock},
		{ID: "p2", Ours: true, Who: "atlas", Task: "far", URL: "http://127.0.0.1:7421/hooks/…", State: "live"},
	}
	w.Site.wire, w.opts.Inspector = wire, l
	w.chatWith("c1")
	w.begin("c1", "r1", "Compare three stores")
	w.tell("c1", "r1", status("r1", a2a.TaskStateInputRequired, "Which board is closest to the fleet?"), &orchestrator.Batch{
		Runs:  []*orchestrator.Run{{ID: "r1", ConversationID: "c1", To: "atlas", State: a2a.TaskStateInputRequired, Created: clock, Updated: clock, Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal}},
		Steps: []*orchestrator.Step{{ID: "1", RunID: "r1", AgentID: "atlas", Attempt: 2, State: orchestrator.StepAsking, ChildTask: "far", Updated: clock}},
		Asks: []*orchestrator.Ask{{
			ID: "q1", RunID: "r1", StepID: "1", ConversationID: "c1", Principal: orchestrator.LocalPrincipal, AgentID: "atlas", Kind: orchestrator.AskInput,
			Prompt: "Which board is closest to the fleet?", State: orchestrator.AskOpen, Opened: clock,
		}, {
			ID: "q0", RunID: "r1", ConversationID: "c1", Principal: orchestrator.LocalPrincipal, AgentID: "quill", Kind: orchestrator.AskChoice,
			Prompt: "Which tag is the base?", State: orchestrator.AskAnswered, Answer: []byte(`"v0.41.2"`), Opened: clock, Closed: clock,
		}},
	})
	w.note("c1", "r1", orchestrator.EventSending, map[string]any{"agent": "atlas", "attempt": 2}, nil)
	w.note("c1", "r1", orchestrator.EventGap, map[string]any{"reason": "the line broke"}, nil)
	w.tell("c1", "r1", &a2a.ArtifactUpdate{TaskID: "r1", Artifact: a2a.Artifact{ID: "art", Name: "plan.md", Parts: []a2a.Part{a2a.TextPart("a plan")}}}, nil)
	w.tell("", "in1", &a2a.Task{ID: "in1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: clock}, History: []a2a.Message{{ID: "k", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Summarise the minutes")}}}}, &orchestrator.Batch{
		Runs: []*orchestrator.Run{{ID: "in1", To: "quill", State: a2a.TaskStateWorking, Created: clock.Add(-time.Minute), Updated: clock.Add(-time.Minute), Scope: "agents/quill", Principal: "kestrel"}},
	})
	w.write(&orchestrator.Batch{Runs: []*orchestrator.Run{{
		ID: "bad", ConversationID: "c1", To: "quill", State: a2a.TaskStateFailed, Created: clock.Add(-time.Hour), Updated: clock.Add(-time.Hour + 4*time.Second), Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal,
	}}})
	for _, r := range []*orchestrator.WireRecord{
		{
			At: clock, Peer: "atlas", RunID: "r1", TaskID: "far", Method: "SendStreamingMessage", Dialect: "v1.0", URL: "https://atlas.example/a2a", Status: 200, Took: time.Minute,
			Header:  map[string][]string{"Content-Type": {"application/json"}, "A2a-Version": {"1.0"}, "Authorization": {"[masked]"}},
			Request: []byte(`{"jsonrpc":"2.0","id":1,"params":{"message":{"messageId":"m1","parts":[{"text":"It's <b>mine</b>"}]},"token":"[masked]"}}`),
		},
		{
			At: clock.Add(time.Second), Inbound: true, Peer: "kestrel", RunID: "in1", TaskID: "in1", Method: "SendMessage", Dialect: "v1.0", URL: "/rpc", Status: 200, Took: 14 * time.Millisecond,
			Header: map[string][]string{"Host": {"127.0.0.1:7421"}}, Request: []byte(`{"id":2}`), Response: []byte(`{"id":2,"result":{"task":{"id":"in1"}}}`),
		},
		{At: clock.Add(2 * time.Second), Peer: "quill", Method: "GetTask", TaskID: "x", URL: "https://quill.example/a2a", Err: "context deadline exceeded", Took: 5 * time.Second, Request: []byte(`{"id":3}`)},
		{At: clock.Add(3 * time.Second), Inbound: true, Peer: "atlas", RunID: "r1", TaskID: "far", Method: orchestrator.WirePushMethod, URL: "/hooks/…", Status: 204, Took: 3 * time.Millisecond, Request: []byte(`{"task":{"id":"far"}}`)},
	} {
		wire.RecordWire(r)
	}
	return l
}
