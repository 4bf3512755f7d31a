//go:build interop

package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/interop/peer"
)

// A remote is the client program of an SDK.
type remote struct {
	in     io.WriteCloser
	logged *quiet

	mu      sync.Mutex
	n       int
	waiting map[int]chan *peer.Answer
	dead    error
}

// client starts the SDK's client program, until the test ends.
func (s *sdk) client(t *testing.T) *remote {
	t.Helper()
	args := append(slices.Clone(s.program), "client")
	cmd := exec.Command(args[0], args[1:]...)
	r := &remote{logged: &quiet{}, waiting: map[int]chan *peer.Answer{}}
	cmd.Stderr = r.logged
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if r.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() {
		r.read(out)
		exited <- cmd.Wait()
	}()
	t.Cleanup(func() {
		r.in.Close()
		select {
		case <-exited:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-exited
		}
		if t.Failed() {
			t.Logf("%s logged:\n%s", strings.Join(args, " "), tail(r.logged.String(), 60))
		}
	})
	return r
}

func (r *remote) read(out io.Reader) {
	lines := bufio.NewReader(out)
	var err error
	for {
		var line []byte
		if line, err = lines.ReadBytes('\n'); err != nil {
			break
		}
		a := &peer.Answer{}
		if err = json.Unmarshal(line, a); err != nil {
			err = fmt.Errorf("the client said %q: %w", line, err)
			break
		}
		r.mu.Lock()
		to := r.waiting[a.N]
		if !a.More {
			delete(r.waiting, a.N)
		}
		r.mu.Unlock()
		if to != nil {
			to <- a
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dead = fmt.Errorf("the client is gone: %w", err)
	for _, to := range r.waiting {
		close(to)
	}
	r.waiting = map[int]chan *peer.Answer{}
}

// ask sends a request; its answers come over the channel, which is closed when the program dies.
func (r *remote) ask(q *peer.Request) (<-chan *peer.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead != nil {
		return nil, fmt.Errorf("%w\n%s", r.dead, tail(r.logged.String(), 10))
	}
	r.n++
	q.N = r.n
	to := make(chan *peer.Answer, 1000)
	r.waiting[q.N] = to
	b, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	_, err = r.in.Write(append(b, '\n'))
	return to, err
}

func (r *remote) one(ctx context.Context, q *peer.Request) (*peer.Answer, error) {
	to, err := r.ask(q)
	if err != nil {
		return nil, err
	}
	return r.next(ctx, to)
}

func (r *remote) next(ctx context.Context, to <-chan *peer.Answer) (*peer.Answer, error) {
	select {
	case a, ok := <-to:
		switch {
		case !ok:
			return nil, fmt.Errorf("%w\n%s", r.dead, tail(r.logged.String(), 10))
		case a.None:
			return a, peer.ErrNone
		case a.Error != "" || a.Kind != "":
			return a, &peer.Failure{Kind: a.Kind, Text: fmt.Sprintf("%q (%s)", a.Error, a.Kind)}
		}
		return a, nil
	case <-ctx.Done():
		return nil, errors.New("no answer in time")
	}
}

// dial connects to an agent.
func (r *remote) dial(ctx context.Context, d peer.Dial) (peer.Client, error) {
	if d.Extensions == nil {
		d.Extensions = []string{peer.Extension}
	}
	a, err := r.one(ctx, &peer.Request{Do: "dial", Dial: &d})
	if err != nil {
		return nil, err
	}
	return &caller{r, a.N}, nil
}

// A caller is a client that is connected to an agent.
type caller struct {
	*remote
	at int
}

func (c *caller) do(ctx context.Context, q *peer.Request) (*peer.Answer, error) {
	q.At = c.at
	return c.one(ctx, q)
}

func (c *caller) event(ctx context.Context, q *peer.Request) (*peer.Event, error) {
	a, err := c.do(ctx, q)
	if err == nil && a.Event == nil {
		err = fmt.Errorf("%s answered nothing", q.Do)
	}
	if err != nil {
		return nil, err
	}
	return a.Event, nil
}

func (c *caller) events(ctx context.Context, q *peer.Request) iter.Seq2[*peer.Event, error] {
	return func(yield func(*peer.Event, error) bool) {
		q.At = c.at
		to, err := c.ask(q)
		if err != nil {
			yield(nil, err)
			return
		}
		for {
			a, err := c.next(ctx, to)
			if err != nil {
				yield(nil, err)
				return
			}
			if a.Event != nil && !yield(a.Event, nil) {
				_, _ = c.ask(&peer.Request{Do: "leave", At: q.N})
				return
			}
			if !a.More {
				return
			}
		}
	}
}

func (c *caller) Card(ctx context.Context) (*peer.Card, error) {
	return c.aCard(ctx, "card")
}

func (c *caller) Extended(ctx context.Context) (*peer.Card, error) {
	return c.aCard(ctx, "extended")
}

func (c *caller) aCard(ctx context.Context, do string) (*peer.Card, error) {
	a, err := c.do(ctx, &peer.Request{Do: do})
	if err == nil && a.Card == nil {
		err = errors.New("no card")
	}
	if err != nil {
		return nil, err
	}
	return a.Card, nil
}

func (c *caller) Send(ctx context.Context, m *peer.Message) (*peer.Event, error) {
	return c.event(ctx, &peer.Request{Do: "send", Message: m})
}

func (c *caller) Stream(ctx context.Context, m *peer.Message) iter.Seq2[*peer.Event, error] {
	return c.events(ctx, &peer.Request{Do: "stream", Message: m})
}

func (c *caller) Subscribe(ctx context.Context, task string) iter.Seq2[*peer.Event, error] {
	return c.events(ctx, &peer.Request{Do: "subscribe", Task: task})
}

func (c *caller) Get(ctx context.Context, task string, history *int) (*peer.Event, error) {
	return c.event(ctx, &peer.Request{Do: "get", Task: task, History: history})
}

func (c *caller) Cancel(ctx context.Context, task string) (*peer.Event, error) {
	return c.event(ctx, &peer.Request{Do: "cancel", Task: task})
}

func (c *caller) List(ctx context.Context, talk string, size int, token string) ([]string, string, error) {
	a, err := c.do(ctx, &peer.Request{Do: "list", Context: talk, Size: size, Token: token})
	if err != nil {
		return nil, "", err
	}
	return a.Tasks, a.Next, nil
}

func (c *caller) PushSet(ctx context.Context, p *peer.Push) (*peer.Push, error) {
	return c.push(ctx, &peer.Request{Do: "push-set", Push: p})
}

func (c *caller) PushGet(ctx context.Context, task, id string) (*peer.Push, error) {
	return c.push(ctx, &peer.Request{Do: "push-get", Task: task, ID: id})
}

func (c *caller) push(ctx context.Context, q *peer.Request) (*peer.Push, error) {
	a, err := c.do(ctx, q)
	if err == nil && a.Push == nil {
		err = errors.New("no configuration")
	}
	if err != nil {
		return nil, err
	}
	return a.Push, nil
}

func (c *caller) PushList(ctx context.Context, task string) ([]*peer.Push, error) {
	a, err := c.do(ctx, &peer.Request{Do: "push-list", Task: task})
	if err != nil {
		return nil, err
	}
	return a.Pushes, nil
}

func (c *caller) PushDelete(ctx context.Context, task, id string) error {
	_, err := c.do(ctx, &peer.Request{Do: "push-delete", Task: task, ID: id})
	return err
}
