package a2aserver_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"parley/a2a"
	"parley/a2aserver"
)

func TestCloseDrains(t *testing.T) {
	t.Parallel()
	log := a2aserver.NewMemoryLog()
	release := make(chan struct{})
	a := a2aserver.NewAgent(execFunc(func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(status(a2a.TaskStateWorking))
		<-release
		return nil
	}), log, nil)
	s, err := a.Start(t.Context(), "p", request("m", "x"))
	if err != nil {
		t.Fatal(err)
	}
	closing := make(chan error)
	go func() { closing <- a.Close(t.Context()) }()
	n := 0
	eventually(t, "nothing new is taken", func() bool {
		n++
		_, err := a.Start(t.Context(), "p", request(fmt.Sprint("n", n), "x"))
		return a2a.KindOf(err) == a2a.KindUnavailable
	})
	select {
	case <-closing:
		t.Fatal("Close did not wait for the turn")
	case <-time.After(20 * time.Millisecond):
	}
	close(release)
	if err := <-closing; err != nil {
		t.Fatal(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	eventually(t, "the turn came to its end", func() bool { return state(t, a, s.TaskID) == a2a.TaskStateCompleted })
}

// TestCloseDrainsWhatIsAnswered: a question that is answered already is no turn that waits.
func TestCloseDrainsWhatIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, release := make(chan struct{}), make(chan struct{})
		a := a2aserver.NewAgent(execFunc(func(ctx context.Context, turn *a2aserver.Turn, yield func(a2a.Event) bool) error {
			if turn.Message.ID == "answer" {
				return ctx.Err()
			}
			yield(says(a2a.TaskStateInputRequired, "?"))
			close(asked)
			<-release
			return nil
		}), a2aserver.NewMemoryLog(), nil)
		s, err := a.Start(t.Context(), "p", request("m", "x"))
		if err != nil {
			t.Fatal(err)
		}
		<-asked
		synctest.Wait() // the task is stored
		answer := request("answer", "y")
		answer.Message.TaskID = s.TaskID
		if _, err := a.Start(t.Context(), "p", answer); err != nil {
			t.Fatal(err)
		}
		closing := make(chan error)
		go func() { closing <- a.Close(t.Context()) }()
		synctest.Wait()
		close(release)
		if err := <-closing; err != nil {
			t.Fatal(err)
		}
		want(t, "state", state(t, a, s.TaskID), a2a.TaskStateCompleted)
	})
}

// TestCloseStopsWhatCanBeResumed: a turn that goes on after the restart is not waited for.
func TestCloseStopsWhatCanBeResumed(t *testing.T) {
	t.Parallel()
	log := a2aserver.NewMemoryLog()
	cause := make(chan error, 1)
	work := func(ctx context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(chunk("half"))
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil
	}
	rest := func(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(chunk(" whole"))
		return nil
	}
	a := a2aserver.NewAgent(resumeFunc{work, rest}, log, nil)
	s, err := a.Start(t.Context(), "p", request("m", "x"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is at work", func() bool {
		tk, err := a.Task(t.Context(), "p", &a2a.GetRequest{ID: s.TaskID})
		return err == nil && len(tk.Artifacts) == 1
	})
	start := time.Now()
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("Close took %v", d)
	}
	want(t, "cause", <-cause, a2aserver.ErrClosing)
	b := a2aserver.NewAgent(resumeFunc{work, rest}, log, nil)
	if err := b.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it came to its end", func() bool { return state(t, b, s.TaskID) == a2a.TaskStateCompleted })
	tk, _ := b.Task(t.Context(), "p", &a2a.GetRequest{ID: s.TaskID})
	want(t, "artifact", a2a.Text(tk.Artifacts[0].Parts), "half whole")
}

// TestCloseDoesNotWaitForSignIns: a turn that waits for a person may wait for days.
func TestCloseDoesNotWaitForSignIns(t *testing.T) {
	t.Parallel()
	a := a2aserver.NewAgent(execFunc(func(ctx context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
		yield(status(a2a.TaskStateAuthRequired))
		<-ctx.Done()
		return nil
	}), a2aserver.NewMemoryLog(), nil)
	id := run(t, a, "m", "x")
	start := time.Now()
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("Close took %v", d)
	}
	want(t, "state", state(t, a, id), a2a.TaskStateAuthRequired)
}
