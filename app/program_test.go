package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/app"
	"parley/app/demo"
)

// envToken is the token that the tests' programs take from the environment.
const envToken = "token-of-the-environment"

// program is the whole program in this process: real listeners on loopback, a real database, real agents.
type program struct {
	*app.App
	*testing.T
	dir   string
	ready *app.Ready
	log   *logBuffer
	ctl   *app.Control
}

// start starts the program with the demo agents on a new data directory.
func start(t *testing.T, change ...func(*app.Config)) *program {
	t.Helper()
	return startIn(t, t.TempDir(), change...)
}

func startIn(t *testing.T, dir string, change ...func(*app.Config)) *program {
	t.Helper()
	p := &program{T: t, dir: dir, log: &logBuffer{}}
	cfg := &app.Config{
		Data: dir, Version: "test", UI: "127.0.0.1:0", A2A: "127.0.0.1:0", GRPC: "127.0.0.1:0", EnvToken: envToken, Demo: demoAgents,
		Logger: slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(cfg)
	}
	var err error
	if p.App, err = app.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop() })
	if p.ready, err = p.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.ctl, err = app.Dial(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return p
}

func demoAgents(ctx context.Context, o *app.DemoOptions) (app.DemoServer, error) {
	return demo.Handler(ctx, &demo.Options{Log: o.Log, Base: o.Base, Token: o.Token, Logger: o.Logger})
}

// stop ends the program as SIGTERM does.
func (p *program) stop() {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Second)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		p.Errorf("close: %v", err)
	}
	if s := p.log.String(); strings.Contains(s, "panic") {
		p.Errorf("the log speaks of a panic:\n%s", s)
	}
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// verb asks for something over the control socket, as the command line does.
func verb[Out any](p *program, name string, in any) Out {
	p.Helper()
	var out Out
	if err := p.ctl.Call(p.Context(), name, in, &out); err != nil {
		p.Fatalf("%s: %v", name, err)
	}
	return out
}

// token makes a token and returns its secret.
func (p *program) token(t app.TokenInfo) string {
	p.Helper()
	if t.Name == "" {
		t.Name = "test"
	}
	return verb[app.TokenInfo](p, "token.new", t).Secret
}

// reply is an answer, read to its end.
type reply struct {
	*http.Response
	body []byte
}

// client keeps no connections, so that nothing is open when the program ends.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// send sends a request; header is name, value, name, value. An empty value takes the header away.
func (p *program) send(method, url, body string, header ...string) *http.Response {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, url, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		switch name, value := header[i], header[i+1]; {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	resp, err := client(p.T).Do(r)
	if err != nil {
		p.Fatalf("%s %s: %v", method, url, err)
	}
	p.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (p *program) do(method, url, body string, header ...string) *reply {
	p.Helper()
	resp := p.send(method, url, body, header...)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Fatalf("%s %s: %v", method, url, err)
	}
	resp.Body.Close()
	return &reply{resp, b}
}

// a2a is an address of the A2A plane; the path begins without a slash.
func (p *program) a2a(path string) string { return p.ready.A2A + path }

func authorized(token string, header []string) []string {
	h := []string{"Content-Type", "application/json"}
	if token != "" {
		h = append(h, "Authorization", "Bearer "+token)
	}
	return append(h, header...)
}

func request(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
}

// call makes an A2A call at a path of the A2A plane.
func (p *program) call(path, token, method, params string, header ...string) *reply {
	p.Helper()
	return p.do("POST", p.a2a(path), request(method, params), authorized(token, header)...)
}

// get follows names and indexes through JSON; "" when there is nothing.
func get(b []byte, path string) string {
	var v any
	if json.Unmarshal(b, &v) != nil {
		return ""
	}
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return ""
			}
			v = in[i]
		default:
			return ""
		}
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, _ = json.Marshal(v)
	return string(b)
}

// get returns what stands in the answer.
func (r *reply) get(path string) string { return get(r.body, path) }

// result returns what stands in the result; the call must have gone well.
func (r *reply) result(t *testing.T, path string) string {
	t.Helper()
	if r.StatusCode != 200 || r.get("error") != "" {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return r.get("result." + path)
}

// say is the params of a v1.0 message in text.
func say(id, text string, more ...string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]%s}}`, id, text, strings.Join(more, ""))
}

func about(task string) string { return fmt.Sprintf(`{"id":%q}`, task) }

// frame is one event of a stream.
type frame struct {
	id   string
	data []byte
}

// frames are a stream of a call, read one by one.
type frames struct {
	t    *testing.T
	resp *http.Response
	in   *bufio.Reader
}

func (p *program) stream(path, token, method, params string, header ...string) *frames {
	p.Helper()
	resp := p.send("POST", p.a2a(path), request(method, params), authorized(token, header)...)
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || !strings.HasPrefix(ct, "text/event-stream") {
		b, _ := io.ReadAll(resp.Body)
		p.Fatalf("%s answered no stream: %d %s", method, resp.StatusCode, b)
	}
	return &frames{p.T, resp, bufio.NewReader(resp.Body)}
}

// next returns the next event; ok is false at the end of the stream.
func (f *frames) next() (e frame, ok bool) {
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			return frame{}, false
		}
		line = strings.TrimRight(line, "\r\n")
		if v, is := strings.CutPrefix(line, "id: "); is {
			e.id = v
		}
		if v, is := strings.CutPrefix(line, "data: "); is {
			e.data = []byte(v)
		}
		if line == "" && e.data != nil {
			return e, true
		}
	}
}

func (f *frames) rest() (all []frame) {
	for {
		e, ok := f.next()
		if !ok {
			return all
		}
		all = append(all, e)
	}
}

// until reads up to an event in which a text stands.
func (f *frames) until(text string) frame {
	f.t.Helper()
	for {
		e, ok := f.next()
		if !ok {
			f.t.Fatalf("the stream ended without %q", text)
		}
		if bytes.Contains(e.data, []byte(text)) {
			return e
		}
	}
}

// eventually waits for what becomes true soon.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen: %s", what)
		}
	}
}
