package crashtest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// hooks is the webhooks of all tasks: one path each. It outlives the program.
type hooks struct {
	*httptest.Server
	mu  sync.Mutex
	got map[string]*told // by path
}

// told is what one webhook was told.
type told struct {
	seqs   []int64           // of the events, when they came first
	bodies map[string][]byte // by webhook-id
	posts  int
	ended  bool
	fault  error
}

func newHooks(t *testing.T) *hooks {
	h := &hooks{got: map[string]*told{}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hooks) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the program was killed while it sent
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.got[r.URL.Path]
	if k == nil {
		k = &told{bodies: map[string][]byte{}}
		h.got[r.URL.Path] = k
	}
	k.posts++
	id := r.Header.Get("webhook-id")
	seq, err := strconv.ParseInt(id[strings.LastIndexByte(id, '-')+1:], 10, 64) // the registration, and the event's place
	if err != nil {
		k.fault = fmt.Errorf("webhook-id %q", id)
		return
	}
	if was, ok := k.bodies[id]; ok {
		if !bytes.Equal(was, body) {
			k.fault = fmt.Errorf("two bodies under %s", id)
		}
		return
	}
	k.bodies[id] = body
	k.seqs = append(k.seqs, seq)
	for _, state := range []string{"COMPLETED", "FAILED", "CANCELED"} {
		k.ended = k.ended || bytes.Contains(body, []byte("TASK_STATE_"+state))
	}
}

// pushed is a task whose webhook was acknowledged.
type pushed struct{ task, path string }

// pushes has clients start tasks with webhooks until the program is killed, and returns those that were acknowledged.
func (h *harness) pushes(p *process, hook *hooks, round int) (all []pushed) {
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	c := newClient(p.url)
	instant := time.NewTimer(100*time.Millisecond + time.Duration(h.random.IntN(600))*time.Millisecond)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				path := fmt.Sprintf("/%d/%d/%d", round, w, i)
				task, err := c.register(ctx, hook.URL+path)
				if err != nil {
					return
				}
				mu.Lock()
				all = append(all, pushed{task, path})
				mu.Unlock()
			}
		})
	}
	<-instant.C
	p.kill()
	cancel()
	wg.Wait()
	c.http.CloseIdleConnections()
	h.kills++
	return all
}

// register starts a task whose events go to a webhook.
func (c *client) register(ctx context.Context, hook string) (task string, err error) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
		"params": map[string]any{
			"message": map[string]any{
				"messageId": hook, "role": "ROLE_USER", "parts": []any{map[string]any{"text": "#bench status n=12 every=3ms"}},
			},
			"configuration": map[string]any{"returnImmediately": true, "taskPushNotificationConfig": map[string]any{"url": hook}},
		},
	})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.http.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	result, err := unwrap(b)
	if err != nil {
		return "", err
	}
	if task = inspect(result).task; task == "" {
		return "", fmt.Errorf("no task in %s", b)
	}
	return task, nil
}

// runPushes kills the program n times under such load, and then holds it to what it acknowledged: every event of every
// task came, in order, the same under the same id. between runs while the program is down; patience is
// how long none more may be reported to its end while some are not.
func (h *harness) runPushes(hook *hooks, n int, patience time.Duration, between func() error) error {
	var all []pushed
	for round := range n {
		p, err := h.start()
		if err != nil {
			return err
		}
		all = append(all, h.pushes(p, hook, round)...)
		if err := between(); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return errors.New("nothing was acknowledged")
	}
	p, err := h.start()
	if err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	missing, before := len(all), len(all)
	for deadline := time.Now().Add(patience); missing > 0 && time.Now().Before(deadline); <-tick.C {
		if missing < before {
			deadline = time.Now().Add(patience)
		}
		before, missing = missing, 0
		hook.mu.Lock()
		for _, k := range all {
			if t := hook.got[k.path]; t == nil || !t.ended {
				missing++
			}
		}
		hook.mu.Unlock()
	}
	if err := p.terminate(); err != nil {
		return err
	}
	if err := h.integrity(); err != nil {
		return err
	}
	if missing > 0 {
		return fmt.Errorf("%w: %d of %d tasks were not reported to their end", errBroken, missing, len(all))
	}
	hook.mu.Lock()
	defer hook.mu.Unlock()
	posts, events := 0, 0
	for _, k := range all {
		got := hook.got[k.path]
		want, err := h.stored(k.task)
		switch {
		case err != nil:
			return err
		case got.fault != nil:
			return fmt.Errorf("%w: task %s: %w", errBroken, k.task, got.fault)
		case !slices.Equal(got.seqs, want):
			return fmt.Errorf("%w: task %s: events %v were reported, of %v", errBroken, k.task, got.seqs, want)
		}
		posts, events = posts+got.posts, events+len(want)
	}
	h.t.Logf("%d kills, %d tasks, %d events in %d posts", h.kills, len(all), events, posts)
	return nil
}

// stored are the places of a task's events in the log.
func (h *harness) stored(task string) (seqs []int64, err error) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(h.data, database))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Query(`SELECT e.seq FROM events e JOIN runs r ON r.key = e.run
		WHERE r.id = ? AND e.kind IN ('task', 'status', 'artifact') ORDER BY e.seq`, task)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		if err := rows.Scan(&seq); err != nil {
			return nil, err
		}
		seqs = append(seqs, seq)
	}
	return seqs, rows.Err()
}

// TestCrashPushes: no kill loses a push that was promised.
func TestCrashPushes(t *testing.T) {
	t.Parallel()
	for _, tg := range targets {
		if tg.name == "run" {
			tg.args = append(slices.Clone(tg.args), "--push-loopback")
		}
		t.Run(tg.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, tg, "")
			if err := h.runPushes(newHooks(t), max(2, *cycles/2), 30*time.Second, func() error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPlantedPushFault: a cursor that was moved too far is seen.
func TestPlantedPushFault(t *testing.T) {
	t.Parallel()
	h := newHarness(t, targets[0], "")
	err := h.runPushes(newHooks(t), 2, 5*time.Second, func() error {
		db, err := sql.Open("sqlite3", "file:"+filepath.Join(h.data, database))
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = db.Exec(`UPDATE push SET seq = (SELECT max(seq) FROM events) WHERE state = ''`)
		return err
	})
	if !errors.Is(err, errBroken) {
		t.Errorf("the harness reports %v", err)
	}
}
