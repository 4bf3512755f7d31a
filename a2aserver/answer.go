package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
)

// asked is a call to be answered, whatever it came by: HTTP and gRPC fill it in, answer says what to reply.
type asked struct {
	*Handler
	call      *wire.Call
	principal string

	// What the client said beside the call.
	version    string        // of A2A; "" = nothing
	extensions []string      // those it wants, each item a list with commas
	lastEvent  int64         // the position up to which it has the stream; 0 = none
	request    *http.Request // nil over gRPC

	// What answer found out.
	task   string             // the task it is about, "" for none; our id of it
	active []string           // the extensions in force
	stop   context.CancelFunc // ends the events; nil where there are none
}

// answer carries the call out. It returns a result (see wire.AppendResult), or the events of a stream, or an error; the
// events are to be ranged over once, and where their first item is an error the call is refused as with any other.
func (a *asked) answer(ctx context.Context) (result any, events iter.Seq2[[]*a2a.Entry, error], err error) {
	c := a.call
	if a.feeds.draining() {
		return nil, nil, closingError()
	}
	if err := checkVersion(a.version, c.Dialect); err != nil {
		return nil, nil, err
	}
	card := a.card(ctx, a.request)
	if card == nil {
		return nil, nil, errNoAgent
	}
	if tenant := c.Tenant(); tenant != "" {
		if err := a.checkTenant(ctx, tenant, card); err != nil {
			return nil, nil, err
		}
	}
	if a.active, err = negotiateExtensions(a.extensions, card, c.Send != nil); err != nil {
		return nil, nil, err
	}
	if (c.Op == wire.OpStream || c.Op == wire.OpSubscribe) && !card.Capabilities.Streaming {
		return nil, nil, &a2a.Error{Kind: a2a.KindUnsupportedOperation, Message: "this agent does not stream"}
	}
	if c.Send != nil {
		if err := negotiateModes(c.Send, card); err != nil {
			return nil, nil, err
		}
	}
	switch c.Op {
	case wire.OpSend:
		result, err = a.send(ctx)
	case wire.OpStream:
		events, err = a.stream(ctx)
	case wire.OpSubscribe:
		events, err = a.subscribe(ctx)
	case wire.OpGet:
		if a.old() {
			result, err = a.oldGet(ctx)
			break
		}
		a.task = c.Get.ID
		result, err = a.tasks.Task(ctx, a.principal, c.Get)
	case wire.OpCancel:
		if a.old() {
			result, err = a.oldCancel(ctx)
			break
		}
		a.task = c.Cancel.ID
		result, err = a.cancel(ctx, c.Cancel)
	case wire.OpList:
		result, err = a.tasks.List(ctx, a.principal, c.List)
	case wire.OpPushSet, wire.OpPushGet, wire.OpPushList, wire.OpPushDelete:
		result, err = a.push(ctx)
	case wire.OpExtendedCard:
		result, err = a.extendedCard(ctx, card)
	default:
		err = a2a.Errorf(a2a.KindMethodNotFound, "there is no method of that name")
	}
	return result, events, err
}

// naming adds to a TaskNotFound which task that is, where it does not say.
func (a *asked) naming(err error) error {
	e, ok := err.(*a2a.Error)
	if !ok || e.Kind != a2a.KindTaskNotFound || e.Metadata != nil || a.call.TaskID() == "" {
		return err
	}
	named := *e
	named.Metadata = map[string]string{"taskId": a.call.TaskID()}
	return &named
}

// errNoAgent says that there is no agent here: a 404 over HTTP, whatever the call.
var errNoAgent = &a2a.Error{Kind: a2a.KindMethodNotFound, Message: "there is no agent here"}

// start starts what the message asks for, and has its push configuration stored.
func (a *asked) start(ctx context.Context) (Started, error) {
	send := a.call.Send
	send.Message.Role = a2a.RoleUser // whatever it says: what a client sends is no word of the agent
	client := send.Message.TaskID
	if a.call.Dialect == wire.OLD {
		if err := a.nameTask(ctx); err != nil {
			return Started{}, err
		}
	}
	var push *PushRegistration
	if config := send.Configuration.Push; config != nil {
		send.Configuration.Push = nil // its secrets are nobody else's business
		var err error
		if push, err = a.inlinePush(ctx, config, client); err != nil {
			return Started{}, err
		}
	}
	started, err := a.tasks.Start(ctx, a.principal, send)
	if err != nil {
		return Started{}, err
	}
	a.task = started.TaskID
	if push != nil {
		push.After = started.After
		_, err = a.setPush(ctx, push)
	}
	return started, err
}

// send starts what the message asks for and waits for the answer: a Message, or the task once it has ended or waits for
// somebody; or, when the caller does not want to wait, the task as soon as there is one.
func (a *asked) send(ctx context.Context) (any, error) {
	started, err := a.start(ctx)
	if err != nil {
		return nil, err
	}
	wait, done := context.WithTimeout(ctx, a.o.BlockingTimeout)
	defer done()
	defer context.AfterFunc(a.waits, done)()
	answer, at, err := a.await(wait, started)
	if ctx.Err() != nil {
		return nil, &a2a.Error{Kind: a2a.KindUnavailable, Message: "the caller has gone", Err: ctx.Err()}
	}
	if answer != nil {
		if a.call.Dialect == wire.OLD {
			return messageTask(started.TaskID, answer, at), nil
		}
		return answer, nil
	}
	if err != nil && !errors.Is(err, ErrClosing) {
		return nil, lost(err)
	}
	history := a.call.Send.Configuration.HistoryLength
	task, missing := a.tasks.Task(ctx, a.principal, &a2a.GetRequest{ID: started.TaskID, HistoryLength: history})
	if missing != nil {
		return nil, cmp.Or(err, lost(missing))
	}
	return task, nil
}

// await returns the Message that is the answer and when it came, or nil once the task is in a state to be returned.
func (a *asked) await(ctx context.Context, s Started) (*a2a.Message, time.Time, error) {
	for entries, err := range a.tasks.Events(ctx, a.principal, s.TaskID, s.After) {
		if err != nil {
			return nil, time.Time{}, err
		}
		for _, e := range entries {
			event, err := e.Event()
			if err != nil {
				return nil, time.Time{}, err
			}
			if m, ok := event.(*a2a.Message); ok && !isReply(event) {
				return m, e.At, nil
			}
			state := a2a.EventState(event)
			if a.call.Send.Configuration.ReturnImmediately || state.Terminal() || state.Interrupted() {
				return nil, time.Time{}, nil
			}
		}
	}
	return nil, time.Time{}, nil
}

// cancel cancels a task. Only v1.0 takes a second cancel for a success.
func (a *asked) cancel(ctx context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	if a.call.Dialect != wire.NEW {
		t, err := a.tasks.Task(ctx, a.principal, &a2a.GetRequest{ID: r.ID, HistoryLength: new(int)})
		if err == nil && t.Status.State == a2a.TaskStateCanceled {
			return nil, notCancelable(r.ID)
		}
	}
	return a.tasks.Cancel(ctx, a.principal, r)
}

// extendedCard returns the card for those who signed in. v0.3 over HTTP+JSON, and over gRPC, has one method for both
// cards, which shows the public one to everybody else.
func (a *asked) extendedCard(ctx context.Context, card *a2a.AgentCard) (*a2a.AgentCard, error) {
	offered := card.Capabilities.ExtendedAgentCard
	if offered && a.o.ExtendedCard != nil {
		if extended := a.o.ExtendedCard(ctx, a.principal); extended != nil {
			return extended, nil
		}
	}
	switch {
	case a.call.Dialect == wire.PROTO:
		return card, nil
	case a.call.Dialect == wire.NEW && !offered:
		return nil, &a2a.Error{Kind: a2a.KindUnsupportedOperation, Message: "this agent has no extended card"}
	}
	return nil, &a2a.Error{Kind: a2a.KindExtendedCardNotSet, Message: "no extended card is configured"}
}

// lost turns the answer that there is no such task, right after it was started, into what it means.
func lost(err error) error {
	if errors.Is(err, a2a.ErrTaskNotFound) {
		return &a2a.Error{Kind: a2a.KindUnavailable, Message: "the message could not be stored; send it again", Err: err}
	}
	return err
}
