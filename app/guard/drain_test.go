package guard

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestShutdown ends a server with open streams: each gets the reason, new requests 503, and Shutdown returns in time.
func TestShutdown(t *testing.T) {
	t.Parallel()
	d := NewDrain()
	p := openHandler(t, &Options{Drain: d}, nil, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "open\n")
		_ = http.NewResponseController(w).Flush()
		<-d.Begun()
		fmt.Fprintf(w, "closing: %s\n", d.Reason())
	})
	const streams = 20
	var readers sync.WaitGroup
	var ended atomic.Int64
	opened := make(chan struct{}, streams)
	for range streams {
		readers.Go(func() {
			r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+p.addr, nil)
			resp, err := p.client().Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			lines := bufio.NewScanner(resp.Body)
			lines.Scan()
			opened <- struct{}{}
			lines.Scan()
			if lines.Text() == "closing: restart" {
				ended.Add(1)
			}
		})
	}
	for range streams {
		<-opened
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := d.Shutdown(ctx, "restart", p.srv); err != nil {
		t.Error(err)
	}
	readers.Wait()
	if ended.Load() != streams {
		t.Errorf("%d of %d streams were told", ended.Load(), streams)
	}
}

func TestRefuseWhileDraining(t *testing.T) {
	t.Parallel()
	p := open(t, nil, nil)
	p.o.Drain.Begin("x")
	resp := p.do(t, "GET", "/", "")
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "5" || !resp.Close || p.ran.Load() != 0 {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if body := text(t, resp); !strings.Contains(body, "shutting down") {
		t.Errorf("%q", body)
	}
}

// TestShutdownCutsOff has a handler that does not listen.
func TestShutdownCutsOff(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	p := openHandler(t, nil, nil, func(_ http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	})
	go func() {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+p.addr, nil)
		if resp, err := p.client().Do(r); err == nil {
			resp.Body.Close()
		}
	}()
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := p.o.Drain.Shutdown(ctx, "x", p.srv); err == nil {
		t.Error("a request that was cut off was not reported")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestDrainHooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := NewDrain()
		var mu sync.Mutex
		var told []string
		note := func(name string) func(string) {
			return func(reason string) {
				time.Sleep(time.Second) // hooks run beside one another
				mu.Lock()
				defer mu.Unlock()
				told = append(told, name+" "+reason)
			}
		}
		d.OnBegin(note("a"))
		d.OnBegin(note("b"))
		remove := d.OnBegin(note("gone"))
		remove()
		remove()
		began := time.Now()
		d.Begin("update")
		d.Begin("again")
		if time.Since(began) != time.Second || len(told) != 2 || d.Reason() != "update" {
			t.Errorf("after %v: %v, reason %q", time.Since(began), told, d.Reason())
		}
		d.OnBegin(note("late"))()
		if len(told) != 3 || told[2] != "late update" {
			t.Errorf("a late hook: %v", told)
		}
	})
}

// TestStuckHook does not hold Shutdown beyond its time.
func TestStuckHook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := NewDrain()
		stuck := make(chan struct{})
		d.OnBegin(func(string) { <-stuck })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		_ = d.Shutdown(ctx, "x", &http.Server{})
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("it took %v", took)
		}
		close(stuck)
	})
}
