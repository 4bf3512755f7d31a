package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"

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
	task   string   // the task it is about, "" for none; our id of it
	active []string // the extensions in force
}

// answer carries the call out. It returns a result (see wire.AppendResult), or the events of a stream, or an error; the
// events are to be ranged over once, and where their first item is an error the call is refused as with any other.
func (a *asked) answer(ctx context.Context) (result any, events iter.Seq2[[]*a2a.Entry, error], err error) {
	if a.feeds.draining() {
		return nil, nil, closingError()
	}
	if err := checkVersion(a.version, a.call.Dialect); err != nil {
		return nil, nil, err
	}
	card := a.card(ctx, a.request)
	if card == nil {
		return nil, nil, errNoAgent
	}
	c := a.call
	switch c.Op {
	case wire.OpStream, wire.OpSubscribe:
		if !card.Capabilities.Streaming {
			return nil, nil, &a2a.Error{Kind: a2a.KindUnsupportedOperation, Message: "this agent does not stream"}
		}
	}
	if c.Send != nil {
		if c.Send.Configuration.Push != nil {
			return nil, nil, a2a.ErrPushNotSupported
		}
		if a.active, err = negotiateExtensions(a.extensions, card); err != nil {
			return nil, nil, err
		}
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
		events, err = a.subscribe(ctx), nil
	case wire.OpGet:
		a.task = c.Get.ID
		result, err = a.tasks.Task(ctx, a.principal, c.Get)
	case wire.OpCancel:
		a.task = c.Cancel.ID
		result, err = a.tasks.Cancel(ctx, a.principal, c.Cancel)
	case wire.OpList:
		result, err = a.tasks.List(ctx, a.principal, c.List)
	case wire.OpPushSet, wire.OpPushGet, wire.OpPushList, wire.OpPushDelete:
		err = a2a.ErrPushNotSupported
	case wire.OpExtendedCard:
		err = &a2a.Error{Kind: a2a.KindExtendedCardNotSet, Message: "no extended card is configured"}
		if c.Dialect == wire.NEW && !card.Capabilities.ExtendedAgentCard {
			err = &a2a.Error{Kind: a2a.KindUnsupportedOperation, Message: "this agent has no extended card"}
		}
	default:
		err = a2a.Errorf(a2a.KindMethodNotFound, "there is no method of that name")
	}
	return result, events, err
}

// errNoAgent says that there is no agent here: a 404 over HTTP, whatever the call.
var errNoAgent = &a2a.Error{Kind: a2a.KindMethodNotFound, Message: "there is no agent here"}

// send starts what the message asks for and waits for the answer: a Message, or the task once it has ended or waits for
// somebody; or, when the caller does not want to wait, the task as soon as there is one.
func (a *asked) send(ctx context.Context) (any, error) {
	send := a.call.Send
	started, err := a.tasks.Start(ctx, a.principal, send)
	if err != nil {
		return nil, err
	}
	a.task = started.TaskID
	wait, done := context.WithTimeout(ctx, a.o.BlockingTimeout)
	defer done()
	answer, err := a.await(wait, started)
	if ctx.Err() != nil {
		return nil, &a2a.Error{Kind: a2a.KindUnavailable, Message: "the caller has gone", Err: ctx.Err()}
	}
	if answer != nil {
		return answer, nil
	}
	if err != nil && !errors.Is(err, ErrClosing) {
		return nil, lost(err)
	}
	task, missing := a.tasks.Task(ctx, a.principal, &a2a.GetRequest{ID: started.TaskID, HistoryLength: send.Configuration.HistoryLength})
	if missing != nil {
		return nil, cmp.Or(err, lost(missing))
	}
	return task, nil
}

// await returns the Message that is the answer, or nil once the task is in a state to be returned.
func (a *asked) await(ctx context.Context, s Started) (*a2a.Message, error) {
	for entries, err := range a.tasks.Events(ctx, a.principal, s.TaskID, s.After) {
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			event, err := e.Event()
			if err != nil {
				return nil, err
			}
			if m, ok := event.(*a2a.Message); ok && !isReply(event) {
				return m, nil
			}
			state := a2a.EventState(event)
			if a.call.Send.Configuration.ReturnImmediately || state.Terminal() || state.Interrupted() {
				return nil, nil
			}
		}
	}
	return nil, nil
}

// lost turns the answer that there is no such task, right after it was started, into what it means.
func lost(err error) error {
	if errors.Is(err, a2a.ErrTaskNotFound) {
		return &a2a.Error{Kind: a2a.KindUnavailable, Message: "the message could not be stored; send it again", Err: err}
	}
	return err
}
