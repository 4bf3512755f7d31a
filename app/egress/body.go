package egress

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// guard puts a body in front of what was received, which holds the response to its limits. It closes the response when
// it breaks them at once.
func (t *trip) guard(ctx context.Context, cancel context.CancelCauseFunc, resp *http.Response, end func()) error {
	if resp.Body == http.NoBody {
		end()
		return nil
	}
	b := &body{src: resp.Body, left: unlimited, idle: t.e.o.StreamTime, ctx: ctx, cancel: cancel, end: end, closer: resp.Body}
	switch {
	case isGRPC(resp.Header) && isGRPC(resp.Request.Header):
		b.idle = math.MaxInt64 // the connection is watched, see onlyHTTP2, and its reader caps each message
	case !isStream(resp.Header):
		b.limit, b.left, b.idle = t.limit.Bytes, t.limit.Bytes, t.e.o.IdleTime
		b.whole, b.deadline = t.limit.Time, time.Now().Add(t.limit.Time)
	}
	if b.left != unlimited && resp.ContentLength > b.left {
		resp.Body.Close()
		end()
		return &TooLarge{b.limit}
	}
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		// Not asked for, but some servers insist.
		b.src = &gunzip{wire: counter{r: resp.Body}}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength, resp.Uncompressed = -1, true
	default:
		resp.Body.Close()
		end()
		return fmt.Errorf("the answer is encoded as %.20q, which was not asked for", encoding)
	}
	b.start()
	resp.Body = b
	return nil
}

const unlimited = int64(-1)

// body is the body of a response within its limits. What it adds to a read is two additions; a timer looks now and then
// whether a read has been waiting for too long.
type body struct {
	src    io.Reader
	closer io.Closer
	ctx    context.Context
	cancel context.CancelCauseFunc
	end    func() // lets go of the context

	limit, left int64 // decoded bytes allowed, and still to come; left may be unlimited
	idle, whole time.Duration
	deadline    time.Time // of the whole, zero for none

	turn  atomic.Uint64 // odd while a Read waits, and another number for each
	done  atomic.Bool
	timer *time.Timer
	seen  uint64    // the turn that the timer saw last,
	since time.Time // and when it saw it first
}

func (b *body) Read(p []byte) (int, error) {
	if b.left != unlimited && int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more than allowed tells an end from an excess
	}
	b.turn.Add(1)
	n, err := b.src.Read(p)
	b.turn.Add(1)
	if b.left != unlimited {
		if int64(n) > b.left {
			n = int(b.left)
			b.left = 0
			b.Close()
			return n, &TooLarge{b.limit}
		}
		b.left -= int64(n)
	}
	if err != nil {
		err = b.why(err)
		b.finish()
	}
	return n, err
}

// why prefers our own reason for an end to what the connection says about it.
func (b *body) why(err error) error {
	if err == io.EOF {
		return err
	}
	cause := context.Cause(b.ctx)
	if _, ok := errors.AsType[*Stalled](cause); ok {
		return cause
	}
	if _, ok := errors.AsType[*Refused](cause); ok {
		return cause
	}
	return err
}

func (b *body) Close() error {
	err := b.closer.Close()
	b.finish()
	return err
}

func (b *body) finish() {
	if b.done.CompareAndSwap(false, true) {
		b.timer.Stop()
		b.end()
	}
}

// start begins to watch. The timer is set only once b.timer is there for watch to use.
func (b *body) start() {
	b.timer = time.AfterFunc(math.MaxInt64, b.watch)
	b.timer.Reset(b.next())
}

// next is how long the timer may sleep: a quarter of the silence allowed, so that a stall is noticed soon after.
func (b *body) next() time.Duration {
	d := b.idle / 4
	if !b.deadline.IsZero() {
		d = min(d, time.Until(b.deadline))
	}
	return max(d, time.Millisecond)
}

// watch ends the request when a read has been waiting for too long. Time in which nobody reads does not count as
// silence: then it is our side that is slow.
func (b *body) watch() {
	if b.done.Load() {
		return
	}
	now := time.Now()
	if !b.deadline.IsZero() && !now.Before(b.deadline) {
		b.cancel(&Stalled{After: b.whole, Whole: true})
		return
	}
	if turn := b.turn.Load(); turn != b.seen || turn%2 == 0 {
		b.seen, b.since = turn, now
	} else if now.Sub(b.since) >= b.idle {
		b.cancel(&Stalled{After: b.idle})
		return
	}
	b.timer.Reset(b.next())
	if b.done.Load() {
		b.timer.Stop()
	}
}

// gunzip expands what was compressed, and counts on both sides.
type gunzip struct {
	wire counter
	z    *gzip.Reader
	out  int64
}

const (
	maxRatio   = 100       // no honest text compresses better,
	ratioGrace = 256 << 10 // but for a small one it does not matter
)

func (g *gunzip) Read(p []byte) (int, error) {
	if g.z == nil {
		z, err := gzip.NewReader(&g.wire)
		if err != nil {
			return 0, err
		}
		g.z = z
	}
	n, err := g.z.Read(p)
	g.out += int64(n)
	if g.out > ratioGrace && g.out > maxRatio*g.wire.n {
		return 0, &TooLarge{}
	}
	return n, err
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
