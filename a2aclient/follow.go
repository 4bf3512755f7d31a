package a2aclient

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// follow yields the rest of a task whose id is known, until it ends, needs an answer, or cannot be reached for too long.
func (f *follower) follow(ctx context.Context) {
	var (
		c         = f.c
		subscribe = c.Streams()
		vain      = 0 // subscriptions in a row that brought nothing and failed
		pause     = c.o.PollMin
		failing   time.Time // since when nothing works
		tried     bool      // to be told by push
	)
	for {
		before := f.yielded
		var err error
		resume, looked := f.ids.resume(), false
		if !subscribe || resume == "" {
			err = f.look(ctx)
			looked = err == nil
		}
		if !f.done && looked && !subscribe && f.hook.config == nil && !tried {
			tried = true
			if f.register(ctx); f.hook.config != nil {
				continue // the task may have moved before the agent knew the webhook
			}
		}
		if !f.done && err == nil && subscribe {
			err = f.subscribed(ctx, resume)
			if !f.done && refuses(err) {
				subscribe, f.ids, err = false, ids{}, nil
				if resume != "" {
					continue // nobody has looked yet
				}
			}
		}
		switch {
		case f.done:
			return
		case ctx.Err() != nil:
			f.fail(context.Cause(ctx))
			return
		case err != nil && !passing(err):
			f.fail(err)
			return
		}
		if f.yielded > before {
			pause, vain = c.o.PollMin, 0
		}
		if err != nil && (looked || resume != "") {
			vain++
		}
		if resume != "" && f.yielded == before && (err == nil || vain >= 3) {
			f.ids, vain = ids{}, 0 // resuming leads nowhere: look instead
		}
		if vain >= 3 {
			subscribe = false
		}
		rest := pause
		var e *Error
		switch {
		case err == nil || looked || f.yielded > before:
			failing = time.Time{}
		case failing.IsZero():
			failing = time.Now()
			c.log.Info("the connection to an agent is lost", "agent", c.o.Peer, "task", f.task, "err", err)
		case time.Since(failing) >= c.o.Patience:
			f.fail(c.lost(err))
			return
		}
		if subscribe && f.yielded > before {
			rest = c.o.PollMin / 5 // the stream ended, but it was good for something
		}
		if err != nil {
			f.broken = true
			if errors.As(err, &e) && e.RetryAfter > rest {
				rest = min(e.RetryAfter, c.o.PollMax)
			}
			rest = min(rest, max(c.o.Patience/4, time.Millisecond))
		}
		if f.hook.woken != nil && err == nil {
			rest = c.o.PollMax // the agent says itself when there is something to see
		}
		if err := f.rest(ctx, rest); err != nil {
			f.fail(err)
			return
		}
		pause = min(pause+pause/2, c.o.PollMax)
	}
}

// rest waits that long, or until the webhook of the task is called.
func (f *follower) rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case _, open := <-f.hook.woken:
		if !open {
			f.hook.end() // from here on it is polled
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// passing reports whether err may be gone the next time: nothing but trying again helps.
func passing(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case card.KindDNS, card.KindRefused, card.KindUnreachable, card.KindTimeout, card.KindCut, card.KindRateLimited,
		card.KindUnavailable, card.KindGateway, card.KindGarbage:
		return true
	}
	return e.Kind == card.KindAgent && e.Status >= 500
}

// refuses reports whether err is the agent's refusal to let us subscribe. What became of the task is another question:
// some answer that they do not know it when only nothing runs for it.
func refuses(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case card.KindTaskNotFound, card.KindTaskEnded, card.KindUnsupported, card.KindAgent, card.KindNotFound, card.KindRedirect,
		card.KindVersion, card.KindTooLarge:
		return true
	}
	return e.Kind == card.KindGarbage && e.Status != 0
}

// lost is the end of our patience.
func (c *Client) lost(err error) *Error {
	e := &Error{
		Kind: card.KindCut, Where: card.WhereNetwork, Retry: true, Err: err,
		What: "The connection to " + c.name() + " was lost and could not be made again.",
		Do:   "Try again: the task may have gone on meanwhile.",
	}
	var last *Error
	if errors.As(err, &last) {
		e.Where, e.Raw, e.Status = last.Where, last.What, last.Status
	}
	return e
}

// subscribed yields the events of a subscription until it ends.
func (f *follower) subscribed(ctx context.Context, resume string) error {
	w := f.c.use.Load()
	q := &request{
		dialect: w.speech.Load().dialect, op: wire.OpSubscribe, params: &a2a.SubscribeRequest{ID: f.task}, lastEvent: resume,
	}
	x, err := w.begin(ctx, q)
	if err != nil {
		return err
	}
	f.dirty = true // overlaps and holes where streams meet are found at the end
	if resume != "" || q.dialect == wire.NEW || !x.streams() {
		return f.read(ctx, q, x)
	}
	return f.rung(ctx, x)
}

// rung follows a subscription that does not say where it begins (before v1.0 none does). What it carries cannot be told
// from what is known already, so it serves as a bell: when it moves, the task is looked at. Only of a task that is not kept
// beyond its end is the end taken from here.
func (f *follower) rung(ctx context.Context, x answer) error {
	bell := make(chan struct{}, 1)
	over := make(chan struct{})
	var end atomic.Pointer[a2a.StatusUpdate]
	go func() {
		defer close(over)
		for fr, err := range x.events() {
			if err != nil {
				return
			}
			if e, ok := fr.event.(*a2a.StatusUpdate); ok && e.Status.State.Terminal() {
				end.Store(e)
			}
			select {
			case bell <- struct{}{}:
			default:
			}
		}
	}()
	defer func() {
		x.end("", nil)
		<-over
	}()
	for {
		err := f.look(ctx)
		if f.begun() && errors.Is(err, a2a.ErrTaskNotFound) {
			if end.Load() == nil { // which may be on its way
				timer := time.NewTimer(f.c.o.PollMin)
				select {
				case <-over:
				case <-timer.C:
				case <-ctx.Done():
				}
				timer.Stop()
			}
			if e := end.Load(); e != nil {
				f.take(ctx, e)
			}
			if f.done {
				return nil
			}
		}
		if err != nil || f.done {
			return err
		}
		timer := time.NewTimer(f.c.o.PollMax)
		select {
		case <-bell:
			timer.Stop()
			if err := wait(ctx, f.c.o.PollMin/5); err != nil { // let what comes together be looked at together
				return err
			}
		case <-timer.C:
		case <-over:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}
