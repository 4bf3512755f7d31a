package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// hooks are the webhooks of callers, one path each.
type hooks struct {
	*httptest.Server
	mu  sync.Mutex
	got map[string]*told // by path
}

// told is what one webhook was told.
type told struct {
	seqs   []int64           // of the events, when they came first
	bodies map[string][]byte // by webhook-id
	again  int               // what came once more
	ended  bool
}

func newHooks(t *testing.T) *hooks {
	h := &hooks{got: map[string]*told{}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // who sent it was killed
		}
		if err := h.take(r.URL.Path, r.Header.Get("webhook-id"), body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hooks) take(path, id string, body []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.got[path]
	if k == nil {
		k = &told{bodies: map[string][]byte{}}
		h.got[path] = k
	}
	if was, ok := k.bodies[id]; ok {
		k.again++
		if !bytes.Equal(was, body) {
			return fmt.Errorf("two bodies under %s", id)
		}
		return nil
	}
	seq, err := strconv.ParseInt(id[strings.LastIndexByte(id, '-')+1:], 10, 64) // the registration, and the event's place
	if err != nil {
		return fmt.Errorf("webhook-id %q", id)
	}
	k.bodies[id], k.seqs = body, append(k.seqs, seq)
	k.ended = k.ended || bytes.Contains(body, []byte("TASK_STATE_COMPLETED"))
	return nil
}

// of returns what the webhook of a path was told so far.
func (h *hooks) of(path string) told {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k := h.got[path]; k != nil {
		return told{seqs: slices.Clone(k.seqs), again: k.again, ended: k.ended}
	}
	return told{}
}

// Webhooks that were registered at any node are told each event once, in order: by one of the nodes. When that one is
// killed, another goes on where it was.
func TestPushes(t *testing.T) {
	w := newWorld(t)
	p, h := newPeer(t, "Writer"), newHooks(t)
	leading := w.node("leading", "--push-loopback")
	w.worker("worker")
	agent := w.add("cluster", "leading", p)
	w.idempotent(agent)
	begin := func(at *process, path string) string {
		var sent struct{ Task task }
		w.must(w.call(at, "SendMessage", map[string]any{
			"message": map[string]any{
				"messageId": path, "role": "ROLE_USER", "parts": []any{map[string]any{"text": path}},
				"metadata": map[string]any{"urn:parley:agent": agent},
			},
			"configuration": map[string]any{"returnImmediately": true, "taskPushNotificationConfig": map[string]any{"url": h.URL + path}},
		}, &sent))
		return sent.Task.ID
	}
	tasks := map[string]string{} // by path
	end := func(paths ...string) {
		t.Helper()
		w.eventually("the webhooks know of the end", func() bool {
			return !slices.ContainsFunc(paths, func(path string) bool { return !h.of(path).ended })
		})
	}

	tasks["/first"] = begin(leading, "/first")
	end("/first") // so it leads
	other := w.node("other", "--push-loopback")
	for i := range 6 {
		path := fmt.Sprintf("/both/%d", i)
		at := []*process{leading, other}[i%2]
		tasks[path] = begin(at, path)
	}
	end("/both/0", "/both/1", "/both/2", "/both/3", "/both/4", "/both/5")
	for path := range tasks {
		if n := h.of(path).again; n != 0 {
			t.Errorf("%s was told %d things once more, though nobody died", path, n)
		}
	}

	late := []string{"/late/0", "/late/1", "/late/2", "/late/3"}
	for i, path := range late {
		tasks[path] = begin([]*process{leading, other}[i%2], path)
	}
	w.eventually("they are being told", func() bool {
		return !slices.ContainsFunc(late[:1], func(path string) bool { return len(h.of(path).seqs) == 0 })
	})
	w.kill(leading)
	killed := time.Now()
	tasks["/after"] = begin(other, "/after")
	end(append(late, "/after")...)
	t.Logf("the leading node was killed: all was told %s later", time.Since(killed).Round(time.Millisecond))

	db := w.open()
	for path, id := range tasks {
		got, want := h.of(path), w.log(db, id, "task", "status", "artifact")
		if !slices.Equal(got.seqs, want) {
			t.Errorf("%s was told %v of %v", path, got.seqs, want)
		}
	}
}
