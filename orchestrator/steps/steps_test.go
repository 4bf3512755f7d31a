package steps_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/orchestratortest"
	"parley/orchestrator/steps"
)

// scripted is a caller made of functions.
type scripted struct {
	orchestrator.Caller
	send  func(context.Context, func(a2a.Event, error) bool)
	await func(context.Context, func(a2a.Event, error) bool)
	get   func(context.Context) (*a2a.Task, error)
	find  func() (*a2a.Task, error)
}

func (s *scripted) Send(ctx context.Context, _ *orchestrator.Agent, _ *a2a.SendRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { s.send(ctx, yield) }
}

func (s *scripted) Await(ctx context.Context, _ *orchestrator.Agent, _ string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { s.await(ctx, yield) }
}

func (s *scripted) Get(ctx context.Context, _ *orchestrator.Agent, _ *a2a.GetRequest) (*a2a.Task, error) {
	return s.get(ctx)
}

func (s *scripted) Find(context.Context, *orchestrator.Agent, string, string) (*a2a.Task, error) {
	return s.find()
}

func ports(c orchestrator.Caller) *steps.Ports {
	return &steps.Ports{
		Caller: c, Log: slog.New(slog.DiscardHandler), FirstReply: time.Minute, Turn: time.Hour, CancelWait: 15 * time.Second,
		PollMin: time.Second, PollMax: 30 * time.Second, PollFailures: 5,
	}
}

var agent = &orchestrator.Agent{ID: "a", Name: "A", Trust: orchestrator.TrustApproved}

// collect reads a sequence to its end: the states, then the error.
func collect(seq iter.Seq2[a2a.Event, error]) (states []a2a.TaskState, err error) {
	for e, failure := range seq {
		if failure != nil {
			return states, failure
		}
		states = append(states, a2a.EventState(e))
	}
	return states, nil
}

func kind(err error) string {
	var f *orchestrator.Fault
	if errors.As(err, &f) {
		return f.Kind
	}
	return ""
}

func TestSendGivesUp(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context, yield func(a2a.Event, error) bool) {
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
	t.Run("no answer at all", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := collect(ports(&scripted{send: hang}).Send(t.Context(), agent, nil))
			if d := time.Since(began); d != time.Minute || kind(err) != "timeout" {
				t.Errorf("after %s: %v", d, err)
			}
			if class, _ := steps.Classify(err); class != engine.Lost {
				t.Errorf("that the message is %s", class)
			}
		})
	})
	t.Run("quiet after the first event", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			states, err := collect(ports(&scripted{send: func(ctx context.Context, yield func(a2a.Event, error) bool) {
				yield(task(a2a.TaskStateWorking), nil)
				hang(ctx, yield)
			}}).Send(t.Context(), agent, nil))
			if d := time.Since(began); d != time.Hour || kind(err) != "timeout" || len(states) != 1 {
				t.Errorf("after %s: %v, %v", d, states, err)
			}
		})
	})
	t.Run("ended without a word", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, err := collect(ports(&scripted{send: func(ctx context.Context, _ func(a2a.Event, error) bool) { <-ctx.Done() }}).Send(t.Context(), agent, nil))
			if kind(err) != "timeout" {
				t.Errorf("%v", err)
			}
		})
	})
	t.Run("the caller leaves", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := collect(ports(&scripted{send: hang}).Send(ctx, agent, nil)); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	})
}

func TestAwaitLooksAgain(t *testing.T) {
	t.Parallel()
	await := &engine.Await{Task: "t"}
	t.Run("until it is back", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			n := 0
			states, err := collect(ports(&scripted{await: func(_ context.Context, yield func(a2a.Event, error) bool) {
				if n++; n <= 5 {
					yield(nil, orchestratortest.ErrRefused)
					return
				}
				yield(task(a2a.TaskStateCompleted), nil)
			}}).Await(t.Context(), agent, await))
			if err != nil || len(states) != 1 || n != 6 {
				t.Errorf("after %d looks: %v, %v", n, states, err)
			}
		})
	})
	t.Run("but not for ever", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			n := 0
			_, err := collect(ports(&scripted{await: func(_ context.Context, yield func(a2a.Event, error) bool) {
				n++
				yield(nil, orchestratortest.ErrRefused)
			}}).Await(t.Context(), agent, await))
			if n != 6 || kind(err) != "refused" {
				t.Errorf("after %d looks: %v", n, err)
			}
		})
	})
	t.Run("failures in a row count", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			n := 0
			states, err := collect(ports(&scripted{await: func(_ context.Context, yield func(a2a.Event, error) bool) {
				n++
				switch {
				case n == 20:
					yield(task(a2a.TaskStateFailed), nil)
				case n%4 == 0:
					if yield(task(a2a.TaskStateWorking), nil) {
						yield(nil, orchestratortest.ErrReset)
					}
				default:
					yield(nil, orchestratortest.ErrReset)
				}
			}}).Await(t.Context(), agent, await))
			if err != nil || n != 20 || len(states) != 5 {
				t.Errorf("after %d looks: %v, %v", n, states, err)
			}
		})
	})
	t.Run("not where it cannot help", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			n := 0
			_, err := collect(ports(&scripted{await: func(_ context.Context, yield func(a2a.Event, error) bool) {
				n++
				yield(nil, a2a.ErrTaskNotFound)
			}}).Await(t.Context(), agent, await))
			if n != 1 || !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("after %d looks: %v", n, err)
			}
		})
	})
	t.Run("no longer than a turn may take", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := collect(ports(&scripted{await: func(_ context.Context, yield func(a2a.Event, error) bool) {
				yield(task(a2a.TaskStateWorking), nil) // and the agent closes the stream each time
			}}).Await(t.Context(), agent, await))
			if d := time.Since(began); d != time.Hour || kind(err) != "timeout" {
				t.Errorf("after %s: %v", d, err)
			}
		})
	})
	t.Run("gaps end nothing", func(t *testing.T) {
		t.Parallel()
		gaps := 0
		for e, err := range ports(&scripted{await: func(_ context.Context, yield func(a2a.Event, error) bool) {
			_ = yield(nil, &orchestrator.Gap{Reason: "r"}) && yield(task(a2a.TaskStateCompleted), nil)
		}}).Await(t.Context(), agent, await) {
			if err != nil {
				gaps++
			} else if a2a.EventState(e) != a2a.TaskStateCompleted {
				t.Errorf("%v", e)
			}
		}
		if gaps != 1 {
			t.Errorf("%d gaps", gaps)
		}
	})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, looks := time.Now(), 0
		states, err := collect(ports(&scripted{
			get: func(context.Context) (*a2a.Task, error) {
				looks++
				switch {
				case looks%3 == 0:
					return nil, orchestratortest.ErrReset
				case time.Since(began) < 10*time.Minute:
					return task(a2a.TaskStateAuthRequired), nil
				}
				return task(a2a.TaskStateWorking), nil
			},
			await: func(_ context.Context, yield func(a2a.Event, error) bool) { yield(task(a2a.TaskStateCompleted), nil) },
		}).Await(t.Context(), agent, &engine.Await{Task: "t", Watching: true}))
		if diff := cmp.Diff([]a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted}, states); diff != "" || err != nil {
			t.Errorf("%v; (-want +got):\n%s", err, diff)
		}
		// A pause is 30 seconds and at most half as much again, and the look after the first may be the third, which fails.
		if late := time.Since(began) - 10*time.Minute; looks > 40 || late > 2*45*time.Second {
			t.Errorf("%d looks, noticed %s late", looks, late)
		}
	})
}

func TestCancelHasItsOwnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // whoever asked has gone
		began := time.Now()
		_, err := ports(canceler{}).Cancel(ctx, agent, &engine.Stop{Task: "t"})
		if d := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || d != 15*time.Second {
			t.Errorf("after %s: %v", d, err)
		}
	})
}

type canceler struct{ orchestrator.Caller }

func (canceler) Cancel(ctx context.Context, _ *orchestrator.Agent, _ *a2a.CancelRequest) (*a2a.Task, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestLocate(t *testing.T) {
	t.Parallel()
	idempotent := &orchestrator.Agent{ID: "a", Idempotent: true}
	mine := task(a2a.TaskStateInputRequired)
	mine.History = []a2a.Message{{ID: "m"}}
	tests := []struct {
		name  string
		agent *orchestrator.Agent
		task  string // of the intent
		found *a2a.Task
		err   error
		want  engine.Class
	}{
		{"found", agent, "", task(a2a.TaskStateWorking), nil, ""},
		{"not found", agent, "", nil, nil, engine.Lost},
		{"not found, and it acts once", idempotent, "", nil, nil, engine.Repeat},
		{"not reached", agent, "", nil, orchestratortest.ErrRefused, engine.Lost},
		{"not reached, and it acts once", idempotent, "", nil, orchestratortest.ErrRefused, engine.Repeat},
		{"a reply that the history shows", agent, "t", mine, nil, ""},
		{"a reply after which it goes on", agent, "t", task(a2a.TaskStateWorking), nil, ""},
		{"a reply to one that still asks", agent, "t", task(a2a.TaskStateInputRequired), nil, engine.Lost},
		{"a reply to one that still asks and acts once", idempotent, "t", task(a2a.TaskStateInputRequired), nil, engine.Repeat},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &scripted{
				find: func() (*a2a.Task, error) { return tt.found, tt.err },
				get:  func(context.Context) (*a2a.Task, error) { return tt.found, tt.err },
			}
			got, err := ports(c).Locate(t.Context(), tt.agent, &engine.Sending{TaskID: tt.task, MessageID: "m"})
			if err != nil || got.Class != tt.want || (got.Task != nil) != (tt.want == "") {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	network := func(kind string, ran bool) error {
		return &orchestrator.Fault{Kind: kind, Where: orchestrator.WhereNetwork, MayHaveRun: ran, What: "x"}
	}
	for _, tt := range []struct {
		err  error
		want engine.Class
	}{
		{network("refused", false), engine.Unsent},
		{network("dns", false), engine.Unsent},
		{network("unreachable", false), engine.Unsent},
		{network("tls", false), engine.Refused},
		{network("cut", true), engine.Lost},
		{network("timeout", true), engine.Lost},
		{&orchestrator.Fault{Kind: "timeout", Where: orchestrator.WhereAgent, MayHaveRun: true}, engine.Lost},
		{&orchestrator.Fault{Kind: "garbage", Where: orchestrator.WhereAgent, MayHaveRun: true}, engine.Lost},
		{&orchestrator.Fault{Kind: "gateway", Where: orchestrator.WhereAgent, MayHaveRun: true}, engine.Lost},
		{&orchestrator.Fault{Kind: "agent-error", Where: orchestrator.WhereAgent, MayHaveRun: true}, engine.Refused},
		{&orchestrator.Fault{Kind: "gateway", Where: orchestrator.WhereAgent}, engine.Refused},
		{&orchestrator.Fault{Kind: "unauthenticated", Where: orchestrator.WhereSignIn}, engine.Refused},
		{&orchestrator.Fault{Kind: "blocked", Where: orchestrator.WhereUs}, engine.Refused},
		{&a2a.Error{Kind: a2a.KindInternal, Code: -32603}, engine.Refused},
		{errors.Join(network("cut", true), &a2a.Error{Kind: a2a.KindInternal, Code: -32603}), engine.Refused},
		{errors.New("what is this"), engine.Lost},
	} {
		class, f := steps.Classify(tt.err)
		if class != tt.want || f == nil {
			t.Errorf("%#v is %s, want %s", tt.err, class, tt.want)
		}
	}
}

func TestFaultOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err   error
		kind  string
		where orchestrator.Where
	}{
		{orchestratortest.ErrRefused, "refused", orchestrator.WhereNetwork},
		{errors.New("x"), "cut", orchestrator.WhereNetwork},
		{a2a.ErrTaskNotFound, "task-not-found", orchestrator.WhereAgent},
		{&a2a.Error{Kind: a2a.KindUnauthenticated}, "unauthenticated", orchestrator.WhereSignIn},
		{&a2a.Error{Kind: a2a.KindInvalidParams, Message: strings.Repeat("long ", 500)}, "invalid-params", orchestrator.WhereAgent},
	} {
		f := steps.FaultOf(tt.err)
		if f.Kind != tt.kind || f.Where != tt.where || f.What == "" || len(f.What) > 700 || len(f.Raw) > 700 {
			t.Errorf("%v: %+v", tt.err, f)
		}
	}
	s := a2a.TaskStatus{State: a2a.TaskStateFailed, Message: &a2a.Message{Parts: []a2a.Part{a2a.TextPart(" Out of paper. ")}}}
	if f := steps.AgentFailed(s); f.What != "Out of paper." || !f.Retry || f.Kind != "agent-failed" {
		t.Errorf("%+v", f)
	}
	// What is final says so to whoever called us, and to nobody else; a person may try again all the same.
	for _, tt := range []struct {
		err  *a2a.Error
		want bool
	}{
		{&a2a.Error{Kind: a2a.KindMethodNotFound, Code: -32601}, true},
		{&a2a.Error{Kind: a2a.KindExtensionRequired, Code: -32008}, true},
		{&a2a.Error{Kind: a2a.KindUnsupportedOperation, Code: -32004, Metadata: map[string]string{a2a.FinalKey: "true"}}, true},
		{&a2a.Error{Kind: a2a.KindUnsupportedOperation, Code: -32004}, false}, // a task that takes no message now
		{&a2a.Error{Kind: a2a.KindInvalidParams, Code: -32602}, false},
	} {
		f := steps.FaultOf(tt.err)
		s.Message.Metadata = steps.Final(f)
		if told := steps.AgentFailed(s); f.Final != tt.want || told.Final != tt.want || !told.Retry {
			t.Errorf("%+v: %+v, told as %s: %+v", tt.err, f, s.Message.Metadata, told)
		}
	}
	known := &orchestrator.Fault{Kind: "unsupported", What: "It cannot do that."}
	if f := steps.FaultOf(errors.Join(known, &a2a.Error{Kind: a2a.KindMethodNotFound})); f.Kind != known.Kind || !f.Final || known.Final {
		t.Errorf("%+v of %+v", f, known)
	}
	for _, other := range []string{``, `[]`, `{"urn:parley:final":"yes"}`, `{"urn:parley:final":false}`, `{"final":true}`} {
		s.Message.Metadata = a2a.Metadata(other)
		if steps.AgentFailed(s).Final {
			t.Errorf("%s counts as final", other)
		}
	}
	if f := steps.AgentFailed(a2a.TaskStatus{State: a2a.TaskStateRejected}); f.What == "" || f.Retry || f.Kind != "agent-declined" {
		t.Errorf("%+v", f)
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	store := orchestratortest.NewMemoryStore()
	p := &steps.Ports{Agents: store}
	if _, err := p.Agent(t.Context(), "a"); kind(err) != "agent-unknown" {
		t.Errorf("%v", err)
	}
	for trust, want := range map[orchestrator.Trust]string{
		orchestrator.TrustApproved: "", orchestrator.TrustPending: "agent-not-approved",
		orchestrator.TrustReview: "agent-not-approved", orchestrator.TrustRemoved: "agent-not-approved",
		orchestrator.TrustBlocked: "blocked",
	} {
		if err := store.Write(t.Context(), &orchestrator.Batch{Agents: []*orchestrator.Agent{{ID: "a", Trust: trust}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Agent(t.Context(), "a"); kind(err) != want {
			t.Errorf("%s: %v", trust, err)
		}
	}
}

// unreadable are agents that cannot be read.
type unreadable struct {
	orchestrator.Agents
	err error
}

func (u unreadable) Agent(context.Context, string) (*orchestrator.Agent, error) { return nil, u.err }

// What fails before anything was sent is our own failure, whatever the store says of it, and is never asked about.
func TestAgentUnreadable(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{errors.New("disk I/O error"), &a2a.Error{Kind: a2a.KindUnavailable, Message: "the disk is full"}} {
		_, err := (&steps.Ports{Agents: unreadable{err: cause}}).Agent(t.Context(), "a")
		class, f := steps.Classify(err)
		if class != engine.Refused || f.Where != orchestrator.WhereUs || !f.Retry || f.MayHaveRun || !errors.Is(err, cause) {
			t.Errorf("%v is %s: %+v", cause, class, f)
		}
	}
	if _, err := (&steps.Ports{Agents: unreadable{err: context.Canceled}}).Agent(t.Context(), "a"); err != context.Canceled {
		t.Errorf("the end of the context is told as %v", err)
	}
}

func TestHops(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]int{
		"": 0, "{}": 0, `{"urn:parley:hops":3}`: 3, `{"urn:parley:hops":-1}`: 0, `{"urn:parley:hops":"3"}`: 0, `[]`: 0,
	} {
		if got := steps.Hops(json.RawMessage(meta)); got != want {
			t.Errorf("%s: %d", meta, got)
		}
	}
	for meta, want := range map[string]string{
		"": `{"urn:parley:hops":2}`, "null": `{"urn:parley:hops":2}`, `{"a":1.50}`: `{"a":1.50,"urn:parley:hops":2}`, `{"urn:parley:hops":1}`: `{"urn:parley:hops":2}`, `[1]`: `[1]`,
	} {
		r := steps.Request(&engine.Sending{MessageID: "m"}, &a2a.Message{ID: "x", Metadata: json.RawMessage(meta)}, 2)
		if got := string(r.Message.Metadata); got != want || r.Message.ID != "m" {
			t.Errorf("%s goes on as %s", meta, got)
		}
	}
}

func TestRetryWaits(t *testing.T) {
	t.Parallel()
	if d := steps.Retry(&engine.Send{Attempt: 1}); d != 0 {
		t.Errorf("the first attempt waits %s", d)
	}
	last := time.Duration(0)
	for n := 2; n <= engine.MaxAttempts; n++ {
		d := steps.Retry(&engine.Send{Attempt: n})
		if d <= last || d > time.Second {
			t.Errorf("attempt %d waits %s", n, d)
		}
		last = d
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	asked := &a2a.Message{ID: "mine", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("go")}}
	a := &steps.Address{Run: "run", Context: "context", Asked: asked, SentID: "sent"}
	child := func(id string, role a2a.Role) a2a.Message {
		return a2a.Message{ID: id, Role: role, TaskID: "child", ContextID: "child-context", ReferenceTaskIDs: []string{"child-0"}}
	}
	theirs := func(m a2a.Message) *a2a.Message { return &m }
	for _, e := range []a2a.Event{
		&a2a.Task{
			ID: "child", ContextID: "child-context", Status: a2a.TaskStatus{Message: theirs(child("s", a2a.RoleAgent))},
			History: []a2a.Message{child("sent", a2a.RoleUser), child("h", a2a.RoleAgent)},
		},
		&a2a.Task{ID: "child", ContextID: "child-context"},
		&a2a.StatusUpdate{TaskID: "child", ContextID: "child-context", Status: a2a.TaskStatus{Message: theirs(child("s", a2a.RoleAgent))}},
		&a2a.ArtifactUpdate{TaskID: "child", ContextID: "child-context"},
		theirs(child("answer", a2a.RoleAgent)),
	} {
		a.Event(e)
		if j := string(a2a.MarshalEvent(e)); strings.Contains(j, "child") || strings.Contains(j, `"sent"`) || !strings.Contains(j, `"context"`) {
			t.Errorf("%s", j)
		}
		if task, ok := e.(*a2a.Task); ok && (len(task.History) == 0 || task.History[0].ID != "mine" || a2a.Text(task.History[0].Parts) != "go") {
			t.Errorf("the history begins with %+v", task.History)
		}
	}
	if asked.TaskID != "" || asked.ContextID != "" {
		t.Errorf("the message itself was changed: %+v", asked)
	}
}
