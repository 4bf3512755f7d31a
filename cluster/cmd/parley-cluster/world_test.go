package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/a2a"
	"parley/a2aserver"
	"parley/app/cli"
	"parley/cluster/postgres"
	"parley/cluster/postgres/postgrestest"
	"parley/cluster/temporal/servertest"
	"parley/orchestrator"
)

// The servers that the tests share.
var (
	database *postgrestest.Server
	engine   *servertest.Server
)

// as says which program this one plays when the tests start it: the cluster's, or the one for one machine.
const as = "PARLEY_TEST_AS"

// built names a parley-cluster to start instead, which was built as people have it: to measure, not to test.
const built = "PARLEY_CLUSTER_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(as) {
	case "cluster":
		main()
	case "single":
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	code := func() int {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var err error
		if database, err = postgrestest.Start(ctx); err == nil {
			defer database.Close()
			if engine, err = servertest.Start(ctx); err == nil {
				defer engine.Close()
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			if os.Getenv("PARLEY_CLUSTER_TESTS") == "" && (errors.Is(err, servertest.ErrMissing) || errors.Is(err, postgrestest.ErrMissing)) {
				return 0
			}
			return 1
		}
		return m.Run()
	}()
	os.Exit(code)
}

// world is one store with the processes around it.
type world struct {
	*testing.T
	ctx   context.Context
	store string
	flags []string
	dir   string
}

const token = "let-me-in-let-me-in"

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(cancel)
	w := &world{T: t, ctx: ctx, dir: t.TempDir()}
	// Its key is locked in a way that takes milliseconds, with the passphrase that the processes have: the standard way
	// takes each of them seconds.
	key, err := os.ReadFile("testdata/vault.key")
	w.must(err)
	w.must(os.Mkdir(filepath.Join(w.dir, "secrets"), 0o700))
	w.must(os.WriteFile(filepath.Join(w.dir, "secrets", "vault.key"), key, 0o600))
	w.store, err = database.Schema(ctx, w.dir)
	w.must(err)
	w.flags = []string{
		"--store", w.store, "--temporal", engine.Address, "--namespace", engine.Namespace, "--task-queue", w.dir,
		"--heartbeat", "2s", "--sweep", "1s", "--secrets", filepath.Join(w.dir, "secrets"),
	}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) command(program, data string, args ...string) *exec.Cmd {
	path := os.Args[0]
	if program == "cluster" {
		path, args = cmp.Or(os.Getenv(built), path), append(args, w.flags...)
	}
	cmd := exec.CommandContext(w.ctx, path, append(args, "--data", filepath.Join(w.dir, data))...)
	cmd.Env = append(os.Environ(), as+"="+program, "PARLEY_PASSPHRASE=open sesame")
	if args[0] == "serve" { // a worker lets nobody in, and carries on what the token's holder began all the same
		cmd.Env = append(cmd.Env, "PARLEY_A2A_TOKEN="+token)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run carries out a command and returns what it printed.
func (w *world) run(program, data string, args ...string) string {
	w.Helper()
	cmd := w.command(program, data, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("%v: %v\n%s%s", args, err, out, &errs)
	}
	return string(out)
}

// process is a node or a worker.
type process struct {
	cmd *exec.Cmd
	log string // its file
	a2a string
}

// start starts a process and waits until it is ready.
func (w *world) start(program, data string, args ...string) *process {
	w.Helper()
	p := &process{cmd: w.command(program, data, args...), log: filepath.Join(w.dir, data+".log")}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	w.must(err)
	defer log.Close()
	p.cmd.Stderr = log
	out, err := p.cmd.StdoutPipe()
	w.must(err)
	w.must(p.cmd.Start())
	w.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		if b, err := os.ReadFile(p.log); err == nil && w.Failed() {
			w.Logf("%s:\n%s", data, b[max(0, len(b)-4000):])
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready ") {
		b, _ := os.ReadFile(p.log)
		w.Fatalf("%s is not ready: %q, %v\n%s", data, line, err, b)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	for _, field := range strings.Fields(line) {
		if u, ok := strings.CutPrefix(field, "a2a="); ok {
			p.a2a, err = url.PathUnescape(u)
			w.must(err)
		}
	}
	return p
}

func (w *world) node(name string, args ...string) *process {
	w.Helper()
	return w.start("cluster", name, append([]string{"serve", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0", "--grpc", "off"}, args...)...)
}

func (w *world) worker(name string) *process {
	w.Helper()
	return w.start("cluster", name, "worker")
}

// kill ends a process as a power cut does.
func (w *world) kill(p *process) {
	w.Helper()
	w.must(p.cmd.Process.Signal(syscall.SIGKILL))
	_ = p.cmd.Wait()
}

// stop asks a process to end, and waits for it.
func (w *world) stop(p *process) {
	w.Helper()
	w.must(p.cmd.Process.Signal(syscall.SIGTERM))
	if err := p.cmd.Wait(); err != nil {
		w.Errorf("a process that was asked to end: %v", err)
	}
}

func (w *world) eventually(what string, ok func() bool) {
	w.Helper()
	for !ok() {
		select {
		case <-w.ctx.Done():
			w.Fatalf("waited in vain until %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// call posts to our own agent at a node.
func (w *world) call(p *process, method string, params, result any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	w.must(err)
	r, err := http.NewRequestWithContext(w.ctx, http.MethodPost, p.a2a, bytes.NewReader(body))
	w.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var answer struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %d %s", method, answer.Error.Code, answer.Error.Message)
	}
	return json.Unmarshal(answer.Result, result)
}

// task is what the tests look at of one.
type task struct {
	ID     string
	Status struct {
		State   string
		Message struct{ Parts []struct{ Text string } }
	}
	Artifacts []struct {
		Name  string
		Parts []struct {
			Text string
			Data json.RawMessage
		}
	}
}

func (t *task) ended() bool {
	return slices.Contains([]string{"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"}, t.Status.State)
}

// send begins a task and does not wait for it. The same id may be sent again, also to another node.
func (w *world) send(p *process, id string, metadata map[string]any, parts ...any) (string, error) {
	var sent struct{ Task task }
	err := w.call(p, "SendMessage", map[string]any{
		"message":       map[string]any{"messageId": id, "role": "ROLE_USER", "parts": parts, "metadata": metadata},
		"configuration": map[string]any{"returnImmediately": true},
	}, &sent)
	return sent.Task.ID, err
}

func (w *world) get(p *process, id string) *task {
	w.Helper()
	t := &task{}
	w.must(w.call(p, "GetTask", map[string]any{"id": id}, t))
	return t
}

// until waits for the end of a task.
func (w *world) until(p *process, id string) *task {
	w.Helper()
	t := &task{}
	w.eventually("task "+id+" ended", func() bool {
		t = w.get(p, id)
		return t.ended()
	})
	return t
}

// peer is an agent that acts once on a message id, and counts how often it acted.
type peer struct {
	url string

	mu      sync.Mutex
	effects map[string]int // by what it was told
	sent    int            // messages, repeated ones too
	agent   *a2aserver.Agent
}

func newPeer(t *testing.T, name string) *peer {
	t.Helper()
	p := &peer{effects: map[string]int{}}
	srv := httptest.NewUnstartedServer(nil)
	p.url = "http://" + srv.Listener.Addr().String() + "/"
	card := &a2a.AgentCard{
		Name: name, Description: "Writes what it is told.", Version: "1", Capabilities: a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Interfaces: []a2a.AgentInterface{{URL: p.url, Binding: a2a.BindingJSONRPC, Version: "1.0"}},
		Skills:     []a2a.AgentSkill{{ID: "x", Name: "X", Description: "Writes", Tags: []string{"writing"}}},
	}
	p.agent = a2aserver.NewAgent(p, a2aserver.NewMemoryLog(), nil)
	h := a2aserver.NewHandler(p.agent, func(context.Context, *http.Request) *a2a.AgentCard { return card }, &a2aserver.HandlerOptions{
		Authenticate: func(*http.Request) (string, error) { return "us", nil },
	})
	srv.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // who sent it was killed
		}
		if bytes.Contains(body, []byte(`"messageId"`)) {
			p.mu.Lock()
			p.sent++
			p.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(rw, r)
	})
	srv.Start()
	t.Cleanup(func() {
		h.Drain()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.agent.Close(ctx)
		srv.CloseClientConnections()
		srv.Close()
	})
	return p
}

// Execute writes what it was told in five pieces, about one and a half seconds long; "ask …" asks first.
func (p *peer) Execute(ctx context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		said := a2a.Text(t.Message.Parts)
		p.mu.Lock()
		p.effects[said]++
		p.mu.Unlock()
		state := func(s a2a.TaskState, text string) bool {
			u := &a2a.StatusUpdate{}
			if u.Status.State = s; text != "" {
				u.Status.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(text)}}
			}
			return yield(u, nil)
		}
		if strings.HasPrefix(said, "ask ") {
			state(a2a.TaskStateInputRequired, "Which one?")
			return
		}
		if !state(a2a.TaskStateWorking, "") {
			return
		}
		for i := range 5 {
			select {
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
				return
			}
			u := &a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "text", Parts: []a2a.Part{a2a.TextPart(fmt.Sprintf("%s/%d ", said, i))}}, Append: i > 0, LastChunk: i == 4}
			if !yield(u, nil) {
				return
			}
		}
	}
}

func (p *peer) counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := make(map[string]int, len(p.effects))
	for k, v := range p.effects {
		c[k] = v
	}
	return c
}

// messages returns how many messages came, repeated ones too.
func (p *peer) messages() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

func text(parts []struct {
	Text string
	Data json.RawMessage
},
) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func whole(said string) string {
	return said + "/0 " + said + "/1 " + said + "/2 " + said + "/3 " + said + "/4 "
}

// open opens the store beside the processes.
func (w *world) open() *pgx.Conn {
	w.Helper()
	db, err := pgx.Connect(w.ctx, w.store)
	w.must(err)
	w.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

// log returns the numbers of a run's events of some kinds, or of all runs for "", and of all kinds for none.
func (w *world) log(db *pgx.Conn, run string, kinds ...string) []int64 {
	w.Helper()
	rows, err := db.Query(w.ctx, `SELECT seq FROM events WHERE ($1 = '' OR run = $1) AND ($2::text[] IS NULL OR kind = ANY ($2)) ORDER BY seq`, run, kinds)
	w.must(err)
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	w.must(err)
	return seqs
}

// idempotent has it known of the agents that they act once on a repeated message id, as it is of Parley's own.
func (w *world) idempotent(ids ...string) {
	w.Helper()
	db, err := postgres.Open(w.ctx, w.store, nil)
	w.must(err)
	defer db.Close()
	for _, id := range ids {
		row, err := db.Agent(w.ctx, id)
		w.must(err)
		again := *row
		again.Idempotent = true
		w.must(db.Write(w.ctx, &orchestrator.Batch{Agents: []*orchestrator.Agent{&again}}))
	}
}

// add makes an agent known at a node and returns its id.
func (w *world) add(program, data string, p *peer) string {
	w.Helper()
	var added []struct{ ID string }
	out := w.run(program, data, "agents", "add", p.url, "--yes", "--json")
	if err := json.Unmarshal([]byte(out), &added); err != nil || len(added) != 1 {
		w.Fatalf("agents add: %s, %v", out, err)
	}
	return added[0].ID
}
