package crashtest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var runs = flag.Int("runs", 16, "how many workflows TestPlans carries out")

// crashFile is a workflow in which every kind of step stands that can be cut in two: messages at once and after one
// another, one for each of a list, an agent that asks, and what they said passed on.
const crashFile = `
name: Crash
inputs: {n: {type: string}}
steps:
  - {id: a, agent: peer, message: "${{ inputs.n }} a"}
  - {id: b, agent: peer, message: "${{ inputs.n }} b"}
  - {id: c, needs: [a, b], for-each: ["x", "y"], agent: peer, message: "${{ inputs.n }} c${{ item }} (${{ steps.a.text }}, ${{ steps.b.text }})"}
  - {id: q, needs: a, agent: peer, message: "ask ${{ inputs.n }} q"}
  - {id: d, needs: [c, q], outputs: {said: "${{ steps.c.text }}, ${{ steps.q.text }}"}}
  - {id: e, needs: d, agent: peer, message: "${{ inputs.n }} e (${{ steps.d.data.said }})"}
outputs: {all: "${{ steps.e.text }}"}
`

// wanted is what the outcome of crashFile is, and what the peer is to do for it, once each.
func wanted(n string) (all string, effects []string) {
	did := func(s string) string { return "did " + s }
	a, b := n+" a", n+" b"
	cx := fmt.Sprintf("%s cx (%s, %s)", n, did(a), did(b))
	cy := fmt.Sprintf("%s cy (%s, %s)", n, did(a), did(b))
	q, yes := "ask "+n+" q", "yes "+n
	e := fmt.Sprintf("%s e (%s\n\n%s, %s)", n, did(cx), did(cy), did(yes))
	return did(e), []string{a, b, cx, cy, q, yes, e}
}

// peer is an agent outside the program that acts once on a message id: whatever it did for one it did for good.
type peer struct {
	*httptest.Server
	mu      sync.Mutex
	random  *rand.Rand
	answers map[string]map[string]any // by message id: the task
	tasks   map[string]map[string]any
	effects map[string]int // by text
	resent  int
}

func newPeer(seed uint64) *peer {
	p := &peer{
		random:  rand.New(rand.NewPCG(seed, 1)),
		answers: map[string]map[string]any{}, tasks: map[string]map[string]any{}, effects: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "Peer", "description": "Does what it is told once.", "version": "1",
			"supportedInterfaces": []any{map[string]any{"url": p.URL + "/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}},
			"capabilities":        map[string]any{"streaming": false},
			"defaultInputModes":   []string{"text/plain"}, "defaultOutputModes": []string{"text/plain"},
			"skills": []any{map[string]any{"id": "do", "name": "Do", "description": "Does it.", "tags": []string{"do"}}},
		})
	})
	mux.HandleFunc("POST /", p.serve)
	p.Server = httptest.NewUnstartedServer(mux) // somebody may be looking for whoever had its port before
	p.Start()
	return p
}

func (p *peer) serve(w http.ResponseWriter, r *http.Request) {
	var call struct {
		ID     json.RawMessage
		Method string
		Params struct {
			ID      string
			Message struct {
				MessageID, TaskID, ContextID string
				Parts                        []struct{ Text string }
			}
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &call) != nil {
		http.Error(w, "not JSON", http.StatusBadRequest)
		return
	}
	reply := map[string]any{"jsonrpc": "2.0", "id": call.ID}
	switch call.Method {
	case "SendMessage":
		m := call.Params.Message
		text := ""
		for _, part := range m.Parts {
			text += part.Text
		}
		p.pause() // before it has done anything
		reply["result"] = map[string]any{"task": p.take(m.MessageID, m.TaskID, m.ContextID, text)}
		p.pause() // and after it has
	case "GetTask":
		p.mu.Lock()
		task := p.tasks[call.Params.ID]
		p.mu.Unlock()
		if reply["result"] = task; task == nil {
			delete(reply, "result")
			reply["error"] = map[string]any{"code": -32001, "message": "Task not found"}
		}
	default:
		reply["error"] = map[string]any{"code": -32601, "message": "Method not found"}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply)
}

func (p *peer) pause() {
	p.mu.Lock()
	d := time.Duration(p.random.IntN(20)) * time.Millisecond
	p.mu.Unlock()
	time.Sleep(d) // the work
}

// take does what a message says, unless it was done.
func (p *peer) take(id, task, contextID, text string) map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.answers[id]; old != nil {
		p.resent++
		return old
	}
	p.effects[text]++
	if task == "" {
		task = fmt.Sprintf("task-%d", len(p.tasks)+1)
	}
	if contextID == "" {
		contextID = "context-" + task
	}
	t := map[string]any{"id": task, "contextId": contextID}
	if strings.HasPrefix(text, "ask ") {
		t["status"] = map[string]any{"state": "TASK_STATE_INPUT_REQUIRED", "message": map[string]any{
			"messageId": "q-" + task, "role": "ROLE_AGENT", "parts": []any{map[string]any{"text": "Really, " + strings.Fields(text)[1] + "?"}},
		}}
	} else {
		t["status"] = map[string]any{"state": "TASK_STATE_COMPLETED"}
		t["artifacts"] = []any{map[string]any{"artifactId": "a", "parts": []any{map[string]any{"text": "did " + text}}}}
	}
	p.answers[id], p.tasks[task] = t, t
	return t
}

// planned is one workflow that is carried out.
type planned struct {
	n, task string
	state   string
	asks    []string
	all     string // what it gave
}

// TestPlans kills the program while it carries out workflows, again and again. Each of them comes to its end with what it
// is to give, and an agent that acts once on a message id did all that it was to do once: nothing was left out, and nothing
// was sent a second time under another id.
func TestPlans(t *testing.T) {
	t.Parallel()
	h := newHarness(t, target{"plans", []string{"serve", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0", "--grpc", "off"}, ""}, "")
	agent := newPeer(h.random.Uint64())
	defer agent.Close()
	p, err := h.start()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "agents", "add", agent.URL, "--yes", "--data", h.data).CombinedOutput(); err != nil {
		t.Fatalf("the peer could not be connected: %v\n%s", err, out)
	}
	if err := p.terminate(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(h.data, database))
	if err != nil {
		t.Fatal(err)
	}
	// Who runs the peer knows that it acts once on a message id; no card can say so.
	if _, err := db.Exec(`UPDATE agents SET idempotent = 1`); err != nil {
		t.Fatal(err)
	}
	db.Close()

	var all []*planned
	for len(all) < *runs {
		batch := make([]*planned, min(8, *runs-len(all)))
		for i := range batch {
			batch[i] = &planned{n: fmt.Sprintf("n%d", len(all)+i)}
		}
		if err := h.plans(batch, 1+h.random.IntN(4)); err != nil {
			t.Fatal(err)
		}
		all = append(all, batch...)
	}
	agent.mu.Lock()
	defer agent.mu.Unlock()
	done := map[string]bool{}
	for _, r := range all {
		want, effects := wanted(r.n)
		if r.state != "TASK_STATE_COMPLETED" || r.all != want {
			t.Errorf("%s ended as %s with %q, want %q", r.n, r.state, r.all, want)
		}
		for _, e := range effects {
			if done[e] = true; agent.effects[e] != 1 {
				t.Errorf("the peer did %q %d times", e, agent.effects[e])
			}
		}
	}
	for e := range agent.effects {
		if !done[e] {
			t.Errorf("the peer did %q, which nobody wanted", e)
		}
	}
	t.Logf("%d workflows, %d kills, %d effects, %d messages that came twice; longest start %s", len(all), h.kills, len(agent.effects), agent.resent, h.longestStart)
}

// plans carries out some workflows at once, and kills the program so many times before they have ended.
func (h *harness) plans(batch []*planned, kills int) error {
	for ; ; kills-- {
		if kills > 0 && h.random.IntN(8) == 0 {
			if err := h.killAtStart(); err != nil {
				return err
			}
		}
		p, err := h.start()
		if err != nil {
			return err
		}
		instant := 5 * time.Minute
		if kills > 0 {
			instant = time.Duration(h.random.IntN(300)) * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(h.t.Context(), instant)
		err = h.carryOn(ctx, newClient(p.url), batch)
		cancel()
		switch {
		case kills > 0 && errors.Is(err, context.DeadlineExceeded):
			p.kill()
			h.kills++
		case err != nil:
			p.kill()
			return fmt.Errorf("%w\n%s", err, p.logged)
		default:
			return p.terminate()
		}
	}
}

// carryOn begins what is not known to have begun, answers what is asked, and returns when all have ended.
func (h *harness) carryOn(ctx context.Context, c *client, batch []*planned) error {
	failed := make(chan error, len(batch))
	for _, r := range batch {
		go func() { failed <- r.carryOn(ctx, c) }()
	}
	var err error
	for range batch {
		err = errors.Join(err, <-failed)
	}
	if ctx.Err() != nil {
		return context.DeadlineExceeded
	}
	return err
}

func (r *planned) carryOn(ctx context.Context, c *client) error {
	for r.state != "TASK_STATE_COMPLETED" {
		var err error
		switch {
		case r.task == "":
			err = r.begin(ctx, c)
		case r.state == "TASK_STATE_INPUT_REQUIRED" && len(r.asks) > 0:
			err = r.answer(ctx, c)
		default:
			err = r.look(ctx, c)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("%s: %w", r.n, err)
		case r.state == "TASK_STATE_FAILED" || r.state == "TASK_STATE_CANCELED" || r.state == "TASK_STATE_REJECTED":
			return fmt.Errorf("%s ended as %s", r.n, r.state)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (r *planned) begin(ctx context.Context, c *client) error {
	result, err := c.call(ctx, "SendMessage", map[string]any{
		"configuration": map[string]any{"returnImmediately": true},
		"message": map[string]any{"messageId": "begin-" + r.n, "role": "ROLE_USER", "parts": []any{
			map[string]any{"data": map[string]any{"workflow": crashFile, "inputs": map[string]any{"n": r.n}}},
		}},
	})
	if err != nil {
		return err
	}
	var v struct{ Task struct{ ID string } }
	if err := json.Unmarshal(result, &v); err != nil || v.Task.ID == "" {
		return fmt.Errorf("the answer is no task: %s", result)
	}
	r.task = v.Task.ID
	return nil
}

func (r *planned) look(ctx context.Context, c *client) error {
	result, err := c.call(ctx, "GetTask", map[string]any{"id": r.task})
	if err != nil {
		return err
	}
	type part struct {
		Data struct {
			All  string
			Asks []struct{ ID string }
		}
	}
	var v struct {
		Status struct {
			State   string
			Message struct{ Parts []part }
		}
		Artifacts []struct{ Parts []part }
	}
	if err := json.Unmarshal(result, &v); err != nil {
		return fmt.Errorf("%w in %s", err, result)
	}
	r.state, r.asks = v.Status.State, nil
	for _, p := range v.Status.Message.Parts {
		for _, a := range p.Data.Asks {
			r.asks = append(r.asks, a.ID)
		}
	}
	for _, a := range v.Artifacts {
		for _, p := range a.Parts {
			r.all = p.Data.All
		}
	}
	return nil
}

func (r *planned) answer(ctx context.Context, c *client) error {
	ask := r.asks[0]
	r.asks = r.asks[1:]
	_, err := c.call(ctx, "SendMessage", map[string]any{
		"configuration": map[string]any{"returnImmediately": true},
		"message": map[string]any{"messageId": "answer-" + ask, "role": "ROLE_USER", "taskId": r.task, "parts": []any{
			map[string]any{"text": "yes " + r.n}, map[string]any{"data": map[string]any{"ask": ask}},
		}},
	})
	var no *refused
	if errors.As(err, &no) { // it was answered before, and the status is old
		return nil
	}
	return err
}

// call makes one call and returns its result.
func (c *client) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return unwrap(b)
}
