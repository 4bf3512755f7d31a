package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// reader returns a client of an agent that may reach origin, under small limits.
func reader(t *testing.T, origin string, o Options, p Policy) *http.Client {
	t.Helper()
	p.Agent = "a"
	o.Grants = grants{"a": {origin}}.of
	return newEgress(t, &o).Client(p)
}

func readAll(t *testing.T, c *http.Client, u string) (int, error) {
	t.Helper()
	resp, err := get(t, c, u)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	return int(n), err
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*TooLarge](err)
	return ok
}

func isStalled(err error) bool {
	s, ok := errors.AsType[*Stalled](err)
	return ok && s.Timeout()
}

func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSizes holds each kind of content against its limit: one byte less, as many, one more; with a length, in chunks,
// and compressed.
func TestSizes(t *testing.T) {
	t.Parallel()
	const card, answer, file = 1000, 3000, 5000
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		data := bytes.Repeat([]byte("abcdefgh"), n/8+1)[:n]
		switch r.FormValue("as") {
		case "length":
			w.Header().Set("Content-Length", strconv.Itoa(n))
		case "gzip":
			w.Header().Set("Content-Encoding", "gzip")
			data = zip(t, data)
		case "stream":
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			w.(http.Flusher).Flush()
		case "chunks":
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write(data)
	})
	o := Options{Card: Limit{card, time.Minute}, Answer: Limit{answer, time.Minute}, File: Limit{file, time.Minute}}
	for content, limit := range map[Content]int{Card: card, Answer: answer, File: file} {
		c := reader(t, origin, o, Policy{Content: content})
		for _, as := range []string{"length", "chunks", "gzip"} {
			for _, n := range []int{0, limit - 1, limit, limit + 1, 10 * limit} {
				got, err := readAll(t, c, fmt.Sprintf("%s/?n=%d&as=%s", origin, n, as))
				if n <= limit && (err != nil || got != n) {
					t.Errorf("content %d, %s, %d of %d: %d, %v", content, as, n, limit, got, err)
				}
				if n > limit && (!isTooLarge(err) || got > limit) {
					t.Errorf("content %d, %s, %d of %d: %d, %v", content, as, n, limit, got, err)
				}
			}
		}
		// A stream has no size of its own.
		if got, err := readAll(t, c, fmt.Sprintf("%s/?n=%d&as=stream", origin, 10*limit)); err != nil || got != 10*limit {
			t.Errorf("stream: %d, %v", got, err)
		}
	}
}

// TestShippedSizes holds the defaults.
func TestShippedSizes(t *testing.T) {
	t.Parallel()
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.ParseInt(r.FormValue("n"), 10, 64)
		_, _ = io.CopyN(w, zeros{}, n)
	})
	for content, limit := range map[Content]int{Card: 256 << 10, Answer: 8 << 20, File: 32 << 20} {
		c := reader(t, origin, Options{}, Policy{Content: content})
		for n, ok := range map[int]bool{limit - 1: true, limit: true, limit + 1: false} {
			if got, err := readAll(t, c, fmt.Sprintf("%s/?n=%d", origin, n)); (err == nil) != ok || ok && got != n {
				t.Errorf("content %d, %d bytes: %d, %v", content, n, got, err)
			}
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestGzipBomb reads half a gigabyte of one byte that is half a megabyte on the wire.
func TestGzipBomb(t *testing.T) {
	t.Parallel()
	// A gzip file may be many, one after the other: 512 times the same megabyte.
	bomb := bytes.Repeat(zip(t, make([]byte, 1<<20)), 512)
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "GZIP")
		if r.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = w.Write(bomb)
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, p := range []Policy{{Content: Card}, {}, {Content: File}} {
		for _, path := range []string{"/", "/stream"} {
			if n, err := readAll(t, reader(t, origin, Options{}, p), origin+path); !isTooLarge(err) || n > 33<<20 {
				t.Errorf("content %d%s: %d bytes, %v", p.Content, path, n, err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if grew := int64(after.HeapSys) - int64(before.HeapSys); grew > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grew>>20)
	}
}

// TestRatio expands to just as much as is believed, and to more.
func TestRatio(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		out, wire int64
		ok        bool
	}{
		{ratioGrace, 1, true},
		{ratioGrace + 1, 1, false},
		{maxRatio * 5000, 5000, true},
		{maxRatio*5000 - 1, 5000, true},
		{maxRatio*5000 + 1, 5000, false},
	} {
		// What counts are the two counters: they stand right before one more byte.
		data := zip(t, []byte("x"))
		g := &gunzip{wire: counter{r: bytes.NewReader(data)}}
		z, err := gzip.NewReader(&g.wire)
		if err != nil {
			t.Fatal(err)
		}
		g.z, g.out = z, tt.out-1
		g.wire.n = tt.wire
		if _, err := g.Read(make([]byte, 1)); isTooLarge(err) == tt.ok {
			t.Errorf("%d of %d: %v", tt.out, tt.wire, err)
		}
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
		}
		switch e := r.FormValue("e"); e {
		case "broken":
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "this is not gzip at all")
		case "cut":
			w.Header().Set("Content-Encoding", "gzip")
			data := zip(t, []byte("hello"))
			_, _ = w.Write(data[:len(data)-4])
		case "gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zip(t, []byte("hello")))
		default:
			w.Header().Set("Content-Encoding", e)
			fmt.Fprint(w, "hello")
		}
	})
	c := reader(t, origin, Options{}, Policy{})
	for e, ok := range map[string]bool{"": true, "identity": true, "gzip": true, "broken": false, "cut": false, "br": false, "zstd": false, "gzip, gzip": false} {
		resp, err := get(t, c, origin+"/?e="+strings.ReplaceAll(e, " ", "+"))
		var data []byte
		if err == nil {
			data, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if (err == nil) != ok || ok && string(data) != "hello" {
			t.Errorf("%q: %q, %v", e, data, err)
		}
		if ok && (resp.Header.Get("Content-Encoding") == "gzip") {
			t.Errorf("%q: expanded, and yet said to be encoded", e)
		}
	}
}

// TestSlow meets servers that are too slow in each phase.
func TestSlow(t *testing.T) {
	t.Parallel()
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/header":
			<-r.Context().Done()
			return
		case "/stream", "/quiet-stream":
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
				if r.URL.Path == "/quiet" || r.URL.Path == "/quiet-stream" {
					continue
				}
				fmt.Fprint(w, "x")
				_ = http.NewResponseController(w).Flush()
			}
		}
	})
	const short = 150 * time.Millisecond
	endless := Limit{Bytes: 1 << 20, Time: time.Hour}
	for _, tt := range []struct {
		name, path string
		o          Options
		p          Policy
	}{
		{"no header", "/header", Options{HeaderTime: short}, Policy{}},
		{"no header, by policy", "/header", Options{}, Policy{HeaderTime: short}},
		{"silence", "/quiet", Options{IdleTime: short, Answer: endless}, Policy{}},
		{"a silent stream", "/quiet-stream", Options{StreamTime: short}, Policy{}},
		{"byte by byte for ever", "/slow", Options{Answer: Limit{1 << 20, short}}, Policy{}},
		{"a card byte by byte", "/slow", Options{Card: Limit{1 << 20, short}}, Policy{Content: Card}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := readAll(t, reader(t, origin, tt.o, tt.p), origin+tt.path)
			if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
				t.Errorf("%v is not a timeout", err)
			}
			if !strings.Contains(tt.name, "header") && !isStalled(err) {
				t.Errorf("%v is not a *Stalled", err)
			}
			if took := time.Since(began); took < short || took > 100*short {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestSilence drives the watch by a clock of its own: what counts as silence is waiting for the server, and nothing else.
func TestSilence(t *testing.T) {
	t.Parallel()
	const idle = 4 * time.Second
	for _, tt := range []struct {
		name       string
		gap, pause time.Duration // between what the server sends, and between our reads
		whole      time.Duration
		ended      bool
		by         time.Duration // when, at the latest
	}{
		{name: "it goes on", gap: idle - 1},
		{name: "silence", gap: 100 * idle, ended: true, by: idle + idle/2},
		{name: "we are slow", gap: time.Second, pause: 10 * idle},
		{name: "it never comes to an end", gap: time.Second, whole: 10 * time.Second, ended: true, by: 11 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				server, wire := io.Pipe()
				context.AfterFunc(ctx, func() { server.CloseWithError(ctx.Err()) }) // as a transport does
				var sender sync.WaitGroup
				sender.Go(func() {
					for {
						time.Sleep(tt.gap)
						if _, err := wire.Write([]byte("x")); err != nil {
							return
						}
					}
				})
				defer sender.Wait()
				b := &body{src: server, closer: server, left: unlimited, idle: idle, whole: tt.whole, ctx: ctx, cancel: cancel, end: func() { cancel(nil) }}
				if tt.whole > 0 {
					b.deadline = time.Now().Add(tt.whole)
				}
				b.start()
				defer b.Close()
				began := time.Now()
				var err error
				for range 50 {
					if _, err = b.Read(make([]byte, 8)); err != nil {
						break
					}
					time.Sleep(tt.pause)
				}
				if isStalled(err) != tt.ended || !tt.ended && err != nil {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				if took := time.Since(began); tt.ended && (took < min(idle, tt.by) || took > tt.by) {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestUpgrade refuses a server that changes the protocol.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	origin := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(buf, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		buf.Flush()
	})
	if err := fetch(t, reader(t, origin, Options{}, Policy{}), origin); err == nil {
		t.Error("accepted")
	}
}

// TestLargeHeader bounds the header of a response.
func TestLargeHeader(t *testing.T) {
	t.Parallel()
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		w.Header().Set("X-Large", strings.Repeat("x", n))
	})
	c := reader(t, origin, Options{}, Policy{})
	if err := fetch(t, c, origin+"/?n=20000"); err != nil {
		t.Error(err)
	}
	if err := fetch(t, c, origin+"/?n=40000"); err == nil {
		t.Error("a header of 40,000 bytes was accepted")
	}
}

func BenchmarkStreamRead(b *testing.B) {
	body := &body{src: zeros{}, left: unlimited, idle: time.Minute, end: func() {}, closer: io.NopCloser(nil)}
	body.start()
	defer body.timer.Stop()
	p := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = body.Read(p)
	}
}

// BenchmarkRequest compares a small call through an agent's client with the same call through a bare one.
func BenchmarkRequest(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	defer s.Close()
	e := New(&Options{Grants: grants{"a": {s.URL}}.of})
	defer e.Close()
	for name, c := range map[string]*http.Client{"egress": e.Client(Policy{Agent: "a"}), "bare": {Transport: &http.Transport{}}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, s.URL, strings.NewReader("{}"))
				resp, err := c.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}
