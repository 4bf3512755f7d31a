package a2aserver_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aserver"
)

// TestPushRateSpellings: an origin has one limit, however its name is written.
func TestPushRateSpellings(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, counting(3), &a2aserver.PushOptions{Target: func(u *url.URL) (a2aserver.PushTarget, error) {
		way, _ := openTarget(u)
		way.Rate, way.Origin = 20, u.Scheme+"://"+strings.Replace(u.Host, "127.0.0.1", "localhost", 1)
		return way, nil
	}})
	began := time.Now()
	for i := range 10 {
		name := [...]string{"localhost", "127.0.0.1"}[i%2]
		p.begin("count", to(strings.Replace(h.URL, "127.0.0.1", name, 1)+"/"+strconv.Itoa(i)))
	}
	h.await(40)
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("40 requests at 20 a second, with a burst of 20, took %v", took)
	}
}

// TestPushHandshakeRate: the question whether a webhook wants to be told counts as a request to it.
func TestPushHandshakeRate(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	h := newHook(t, nil)
	h.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	p := newPusher(t, execFunc(obey), &a2aserver.PushOptions{Target: func(u *url.URL) (a2aserver.PushTarget, error) {
		way, _ := openTarget(u)
		way.Rate = 20
		return way, nil
	}})
	began := time.Now()
	for i := range 40 {
		r := &a2aserver.PushRegistration{Principal: "alice", Dialect: wire.OLD, Config: a2a.PushConfig{TaskID: "t", URL: h.URL + "?" + strconv.Itoa(i)}}
		if err := p.Check(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); asked.Load() != 40 || took < 900*time.Millisecond {
		t.Errorf("%d questions at 20 a second, with a burst of 20, took %v", asked.Load(), took)
	}
}

// deletedMeanwhile is a store from which a registration is deleted right after all were listed.
type deletedMeanwhile struct {
	a2aserver.PushStore
	then func()
}

func (s *deletedMeanwhile) Open(ctx context.Context) iter.Seq2[*a2aserver.PushRow, error] {
	return func(yield func(*a2aserver.PushRow, error) bool) {
		for r, err := range s.PushStore.Open(ctx) {
			if !yield(r, err) {
				return
			}
		}
		if s.then != nil {
			s.then()
		}
	}
}

// TestPushReplayOfADeleted: what is deleted while somebody asks for its replay gets nothing more.
func TestPushReplayOfADeleted(t *testing.T) {
	t.Parallel()
	h := newHook(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) })
	store := &deletedMeanwhile{PushStore: a2aserver.NewMemoryPushStore()}
	p := newPusher(t, counting(3), &a2aserver.PushOptions{Store: store})
	task := p.begin("count", to(h.URL))
	row := p.settled(1)[0]
	store.then = func() {
		if err := p.Delete(t.Context(), "alice", &a2a.PushDeleteRequest{TaskID: task, ID: row.Config.ID}); err != nil {
			t.Error(err)
		}
	}
	if err := p.Replay(t.Context(), row.UID); !errors.Is(err, a2aserver.ErrNoRegistration) {
		t.Errorf("replay: %v", err)
	}
	want(t, "registrations followed", p.Following(), 0)
}

// TestPushResumeRate: a start with very many registrations takes them up bit by bit, and each in the end.
func TestPushResumeRate(t *testing.T) {
	t.Parallel()
	const n = 600
	store := a2aserver.NewMemoryPushStore()
	for i := range n {
		row := &a2aserver.PushRow{
			PushProgress: a2aserver.PushProgress{UID: strconv.Itoa(i)}, Scope: "s", Principal: "alice",
			Config: a2a.PushConfig{TaskID: "t" + strconv.Itoa(i), ID: "c", URL: "https://hooks.example/"},
		}
		if err := store.Put(t.Context(), row, 1); err != nil {
			t.Fatal(err)
		}
	}
	var taken atomic.Int32
	began := time.Now()
	newPusher(t, execFunc(obey), &a2aserver.PushOptions{
		Store: store, Retries: []time.Duration{time.Hour},
		Target: func(*url.URL) (a2aserver.PushTarget, error) {
			taken.Add(1)
			return a2aserver.PushTarget{}, errors.New("not now")
		},
	})
	eventually(t, "all are taken up", func() bool { return taken.Load() == n })
	if took := time.Since(began); took < time.Second {
		t.Errorf("%d registrations were taken up in %v", n, took)
	}
}
