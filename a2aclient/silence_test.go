package a2aclient_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2aclient"
)

// A stream that stays open and says nothing while its task goes on is noticed.
func TestSilentStream(t *testing.T) {
	t.Parallel()
	var idle atomic.Int32
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("WORKING")); t.until() },
		"GetTask":              func(t *turn) { t.result(bare("COMPLETED")) },
	})
	o := &a2aclient.Options{IdleTime: 20 * time.Millisecond, Idle: func(task string, d time.Duration) {
		if task == "T" && d == 20*time.Millisecond {
			idle.Add(1)
		}
	}}
	collect(t, a.client("1.0", o).Stream(ctx(t), hello())).want(t, "task:working, gap, completed")
	if idle.Load() != 1 {
		t.Errorf("silence was told %d times", idle.Load())
	}
}

// One that moves without its stream is noticed as well, before it ends.
func TestStreamFallsBehind(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("WORKING")); t.until() },
		"GetTask": func(t *turn) {
			t.result(bare("WORKING", artifacts(artifact("a", strings.Repeat("x", t.N)))))
		},
		"SubscribeToTask": func(t *turn) {
			t.open()
			t.frames(task("WORKING"), chunk("b", "y", false), status("COMPLETED"))
		},
	})
	got := collect(t, a.client("1.0", &a2aclient.Options{IdleTime: 20 * time.Millisecond}).Stream(ctx(t), hello()))
	if got.err != nil || got.task.Status.State != a2a.TaskStateCompleted || a.count("SubscribeToTask") != 1 {
		t.Errorf("%v after %s", got, a.called())
	}
}

// A long silence alone is no reason to give a stream up.
func TestQuietStream(t *testing.T) {
	t.Parallel()
	a := newAgent(t, map[string]func(*turn){
		"SendStreamingMessage": func(t *turn) {
			t.open()
			t.frames(task("WORKING"))
			for range 5 {
				time.Sleep(30 * time.Millisecond)
				fmt.Fprint(t.ResponseWriter, ": ping\n\n")
				t.flush()
			}
			t.frames(status("COMPLETED"))
		},
		"GetTask": func(t *turn) { t.result(bare("WORKING")) },
	})
	collect(t, a.client("1.0", &a2aclient.Options{IdleTime: 20 * time.Millisecond}).Stream(ctx(t), hello())).
		want(t, "task:working, completed")
	if a.count("GetTask") == 0 || a.count("SubscribeToTask") != 0 {
		t.Errorf("called %s", a.called())
	}
}
