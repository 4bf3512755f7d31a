package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"
	"time"
)

// Request is one line to a client.
type Request struct {
	N  int    `json:"n"`            // its number
	Do string `json:"do"`           // dial, card, send, stream, subscribe, get, cancel, list, push-set, push-get, push-list, push-delete, extended, leave
	At int    `json:"at,omitempty"` // the number of the dial whose client is meant; of leave, the stream to leave

	Dial    *Dial    `json:"dial,omitempty"`
	Message *Message `json:"message,omitempty"`
	Push    *Push    `json:"push,omitempty"`
	Task    string   `json:"task,omitempty"`
	ID      string   `json:"id,omitempty"` // of a push configuration
	History *int     `json:"history,omitempty"`
	Context string   `json:"context,omitempty"`
	Size    int      `json:"size,omitempty"`
	Token   string   `json:"token,omitempty"`
}

// Answer is one line from a client.
type Answer struct {
	N      int      `json:"n"`
	More   bool     `json:"more,omitempty"` // an event of a stream that goes on
	None   bool     `json:"none,omitempty"` // not offered by this SDK
	Error  string   `json:"error,omitempty"`
	Kind   string   `json:"kind,omitempty"` // of the error
	Event  *Event   `json:"event,omitempty"`
	Card   *Card    `json:"card,omitempty"`
	Tasks  []string `json:"tasks,omitempty"`
	Next   string   `json:"next,omitempty"`
	Push   *Push    `json:"push,omitempty"`
	Pushes []*Push  `json:"pushes,omitempty"`
}

// Main is the main function of a Go peer: "serve BINDING [TRAIT]" serves its agent and prints "ready URL", "client" answers
// requests. kind names a protocol error, as Failure does.
func Main(serve func(binding, trait string) error, dial func(context.Context, *Dial) (Client, error), kind func(error) string) {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "serve":
		err = serve(args[1], "")
	case len(args) == 3 && args[0] == "serve":
		err = serve(args[1], args[2])
	case len(args) == 1 && args[0] == "client":
		err = answer(os.Stdin, os.Stdout, dial, kind)
	default:
		err = fmt.Errorf("usage: %s serve BINDING [TRAIT] | client", os.Args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type conductor struct {
	dial func(context.Context, *Dial) (Client, error)
	kind func(error) string

	mu      sync.Mutex
	out     *json.Encoder
	clients map[int]Client
	leave   map[int]context.CancelFunc
}

func answer(in io.Reader, out io.Writer, dial func(context.Context, *Dial) (Client, error), kind func(error) string) error {
	c := &conductor{dial: dial, kind: kind, out: json.NewEncoder(out), clients: map[int]Client{}, leave: map[int]context.CancelFunc{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil //nolint:nilerr // the end of the input is the end of the program
		}
		r := &Request{}
		if err := json.Unmarshal(line, r); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		c.mu.Lock()
		if r.Do == "leave" {
			if stop := c.leave[r.At]; stop != nil {
				stop()
			}
		} else {
			c.leave[r.N] = cancel
		}
		client := c.clients[r.At]
		c.mu.Unlock()
		go func() {
			defer cancel()
			a, err := c.do(ctx, client, r)
			if a == nil {
				a = &Answer{}
			}
			if errors.Is(err, ErrNone) {
				a.None = true
			} else if err != nil {
				a.Error, a.Kind = err.Error(), kind(err)
			}
			c.say(r, a)
		}()
	}
}

func (c *conductor) say(r *Request, a *Answer) {
	a.N = r.N
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Encode(a)
}

func (c *conductor) do(ctx context.Context, client Client, r *Request) (a *Answer, err error) {
	a = &Answer{}
	if client == nil && r.Do != "dial" && r.Do != "leave" {
		return a, fmt.Errorf("there is no client %d", r.At)
	}
	switch r.Do {
	case "dial":
		client, err = c.dial(ctx, r.Dial)
		if err == nil {
			c.mu.Lock()
			c.clients[r.N] = client
			c.mu.Unlock()
		}
	case "leave":
	case "card":
		a.Card, err = client.Card(ctx)
	case "send":
		a.Event, err = client.Send(ctx, r.Message)
	case "stream":
		err = c.stream(r, client.Stream(ctx, r.Message))
	case "subscribe":
		err = c.stream(r, client.Subscribe(ctx, r.Task))
	case "get":
		a.Event, err = client.Get(ctx, r.Task, r.History)
	case "cancel":
		a.Event, err = client.Cancel(ctx, r.Task)
	case "list":
		a.Tasks, a.Next, err = client.List(ctx, r.Context, r.Size, r.Token)
	case "push-set":
		a.Push, err = client.PushSet(ctx, r.Push)
	case "push-get":
		a.Push, err = client.PushGet(ctx, r.Task, r.ID)
	case "push-list":
		a.Pushes, err = client.PushList(ctx, r.Task)
	case "push-delete":
		err = client.PushDelete(ctx, r.Task, r.ID)
	case "extended":
		a.Card, err = client.Extended(ctx)
	default:
		err = fmt.Errorf("there is no operation %q", r.Do)
	}
	return a, err
}

func (c *conductor) stream(r *Request, events iter.Seq2[*Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		c.say(r, &Answer{More: true, Event: e})
	}
	return nil
}

// Fail is a stream that fails.
func Fail(err error) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) { yield(nil, err) }
}
