package guard

import (
	"net/http"
	"sync/atomic"
	"time"
)

// patience ends what a client asked for over HTTP/2 and does not take. On one connection it may ask for hundreds of things and
// leave no room for an answer, so that each waits in memory for ever; over HTTP/1.1 a connection is one thing, and connections
// are counted. Time runs only while something is written: what is silent meanwhile is left alone, and a handler that sets a
// deadline of its own goes by that.
func patience(next http.Handler, d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			next.ServeHTTP(w, r)
			return
		}
		p := &patient{ResponseWriter: w, under: http.NewResponseController(w), time: d}
		defer p.begin() // what is left in buffers is written after us
		next.ServeHTTP(p, r)
	})
}

// patient is a ResponseWriter each of whose writes may take some time and no more.
type patient struct {
	http.ResponseWriter
	under *http.ResponseController
	time  time.Duration
	own   atomic.Bool // the handler has set a deadline
}

func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// A stream of HTTP/2 always has deadlines; what has none ends by itself.
func (p *patient) begin() {
	if !p.own.Load() {
		_ = p.under.SetWriteDeadline(time.Now().Add(p.time))
	}
}

func (p *patient) end() {
	if !p.own.Load() {
		_ = p.under.SetWriteDeadline(time.Time{})
	}
}

func (p *patient) Write(b []byte) (int, error) {
	p.begin()
	defer p.end()
	return p.ResponseWriter.Write(b)
}

// FlushError is for http.ResponseController.
func (p *patient) FlushError() error {
	p.begin()
	defer p.end()
	return p.under.Flush()
}

// SetWriteDeadline is for http.ResponseController.
func (p *patient) SetWriteDeadline(t time.Time) error {
	p.own.Store(!t.IsZero())
	return p.under.SetWriteDeadline(t)
}
