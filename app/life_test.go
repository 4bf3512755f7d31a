package app_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"parley/app"
	"parley/orchestrator"
)

// After a restart everything is where it was: the demo agents at their address, open runs at work, questions open.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir)
	demo := p.ready.Demo
	slow := p.stream("agents/slow", envToken, "SendStreamingMessage", say("s", "#slow 5s"))
	begun, _ := slow.next()
	task := get(begun.data, "result.task.id")
	slow.until("1 of 5")
	asked := p.call("agents/travel", envToken, "SendMessage", say("t", "Plan a trip to Bergen")).result(t, "task.id")
	own := p.tell(t, "travel", "Plan a trip to Oslo")
	if len(own.asks) != 1 {
		t.Fatalf("it did not ask: %+v", own.lines)
	}
	p.stop()
	if _, ok := slow.next(); ok {
		slow.rest()
	}

	p = startIn(t, dir)
	if p.ready.Demo != demo {
		t.Errorf("the demo agents were at %s and are at %s", demo, p.ready.Demo)
	}
	s := p.stream("agents/slow", envToken, "SubscribeToTask", about(task), "Last-Event-ID", begun.id)
	s.until("Done, after 5 seconds.")
	if r := p.call("agents/slow", envToken, "GetTask", about(task)); r.result(t, "status.state") != completed {
		t.Errorf("%s", r.body)
	}
	more := fmt.Sprintf(`,"taskId":%q`, asked)
	if r := p.call("agents/travel", envToken, "SendMessage", say("t2", "from Oslo, 2026-12-01 until 2026-12-05", more)); r.result(t, "task.status.state") != completed {
		t.Errorf("%s", r.body)
	}
	verb[struct{}](p, "answer", app.AnswerTo{Ask: own.asks[0].ID, Text: "from Bergen, 2026-12-01 until 2026-12-05"})
	var run string
	for _, l := range own.lines {
		run = max(run, l.Run)
	}
	eventually(t, "the run of the conversation ends", func() bool {
		return get(verb[rawJSON](p, "task.get", app.TaskRef{ID: run}), "status.state") == completed
	})
	if s := p.log.String(); strings.Contains(s, "level=ERROR") {
		t.Errorf("the log:\n%s", s)
	}
}

type rawJSON []byte

func (r *rawJSON) UnmarshalJSON(b []byte) error { *r = append(rawJSON(nil), b...); return nil }

// The end takes as long as it needs and no longer, tells whoever listens, and leaves one whole file.
func TestClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir)
	cookie := p.login()
	var open []*frames
	for i := range 20 {
		s := p.stream("agents/slow", envToken, "SendStreamingMessage", say(fmt.Sprint("m", i), "#slow 90s"))
		s.until("of 90")
		open = append(open, s)
	}
	socket := p.socket(cookie)
	if _, err := os.Stat(filepath.Join(dir, "parley.db-wal")); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Second)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	if d := time.Since(began); d > 12*time.Second {
		t.Errorf("it took %v", d)
	}
	for _, s := range open {
		s.rest() // ends: the connection was not left hanging
	}
	_ = socket.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := drain(socket); err != nil {
		t.Errorf("the page's socket: %v", err)
	}
	for _, name := range []string{"parley.db-wal", "parley.db-shm", "demo/parley.db-wal"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	if _, err := app.Dial(t.Context(), dir); err == nil {
		t.Error("the control socket still answers")
	}
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("close again: %v", err)
	}
}

// socket opens the page's WebSocket by hand.
func (p *program) socket(cookie string) net.Conn {
	p.Helper()
	u, err := url.Parse(p.page())
	if err != nil {
		p.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nCookie: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", u.Host, u.Host, cookie)
	b := make([]byte, 12)
	if _, err := conn.Read(b); err != nil || string(b) != "HTTP/1.1 101" {
		p.Fatalf("the socket was answered %q, %v", b, err)
	}
	return conn
}

// drain reads a connection to its end.
func drain(conn net.Conn) (n int, err error) {
	b := make([]byte, 4096)
	for {
		m, err := conn.Read(b)
		n += m
		var late net.Error
		switch {
		case err == nil:
		case errors.As(err, &late) && late.Timeout():
			return n, errors.New("it was left open")
		default:
			return n, nil
		}
	}
}

// One process has the data directory.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	p := start(t)
	_, err := app.Open(t.Context(), &app.Config{Data: p.dir})
	if !errors.Is(err, app.ErrRunning) {
		t.Fatalf("a second one: %v", err)
	}
	if s := verb[app.Status](p, "status", struct{}{}); !s.Serving || s.A2A != p.ready.A2A || strings.Contains(s.UI, "token") && s.UI == p.ready.UI {
		t.Errorf("the first: %+v", s)
	}
	p.stop()
	again, err := app.Open(t.Context(), &app.Config{Data: p.dir})
	if err != nil {
		t.Fatalf("after the first: %v", err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// What is kept is for its owner alone.
func TestModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no modes there")
	}
	dir := filepath.Join(t.TempDir(), "made", "here")
	p := startIn(t, dir)
	p.connect(newPeer(t), "outside", &app.Credential{Kind: "bearer", Secret: "s"})
	p.tell(t, "files", "hello")
	p.call("agents/echo", envToken, "SendMessage", say("m", strings.Repeat("x", 200_000)))
	seen := 0
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // a file that came and went
		}
		seen++
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %o", path, mode)
		}
		return nil
	}); err != nil || seen < 8 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// A store that takes no writes acknowledges nothing, says so everywhere, and goes on when it can.
func TestNothingIsAcknowledgedUnstored(t *testing.T) {
	t.Parallel()
	p := start(t)
	cookie := p.login()
	before := p.call("agents/bench", envToken, "SendMessage", say("before", "#bench task")).result(t, "task.id")

	db, err := sql.Open("sqlite3", "file:"+filepath.Join(p.dir, "parley.db")+"?_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil { // another program holds the file
		t.Fatal(err)
	}
	for _, path := range []string{"agents/bench", ""} {
		r := p.call(path, envToken, "SendMessage", say("lost"+path, "#bench task", `,"metadata":{"urn:parley:agent":"bench"}`))
		if r.StatusCode != 503 || r.get("error.message") == "" || r.get("result") != "" || r.Header.Get("Retry-After") == "" {
			t.Errorf("/%s: %d %v %s", path, r.StatusCode, r.Header, r.body)
		}
		if insides.Match(r.body) {
			t.Errorf("it tells of our insides: %s", r.body)
		}
	}
	if r := p.call("agents/bench", envToken, "GetTask", about(before)); r.result(t, "status.state") != completed {
		t.Errorf("reading: %s", r.body)
	}
	if s := verb[app.Status](p, "status", struct{}{}); s.Fault == "" {
		t.Errorf("the status does not say it: %+v", s)
	}
	err = p.ctl.Call(t.Context(), "send", app.Message{To: "echo", Text: "lost"}, nil)
	if f, ok := errors.AsType[*orchestrator.Fault](err); !ok || f.What == "" {
		t.Errorf("the command line: %v", err)
	}
	const why = "Nothing is stored until it lets go"
	if r := p.do("GET", p.page()+"settings", "", "Cookie", cookie); r.StatusCode != 200 || !strings.Contains(string(r.body), why) {
		t.Errorf("the page does not say it: %d", r.StatusCode)
	}
	origin := strings.TrimSuffix(p.page(), "/")
	if r := p.do("POST", p.page()+"say", "to=echo&text=lost", "Cookie", cookie, "Origin", origin, "Content-Type", "application/x-www-form-urlencoded"); r.StatusCode != 503 || !strings.Contains(string(r.body), why) {
		t.Errorf("the page took a message: %d %v", r.StatusCode, r.Header)
	}

	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it stores again", func() bool {
		return p.call("agents/bench", envToken, "SendMessage", say("lost", "#bench task")).StatusCode == 200
	})
	if r := p.call("agents/bench", envToken, "ListTasks", "{}"); r.result(t, "totalSize") != "2" {
		t.Errorf("what was not acknowledged was stored: %s", r.body)
	}
}
