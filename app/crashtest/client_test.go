package crashtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sent is one message of the ledger, and what was acknowledged about it.
type sent struct {
	id, text string
	stream   bool
	events   []event  // of a stream: read to the end of their frames
	reply    [32]byte // of a plain send
	replied  bool
	task     string
}

// event is one event of a stream.
type event struct {
	seq  int64
	sum  [32]byte // of its JSON
	task string
	end  bool // a terminal state
}

// client has a pool of connections of its own: after a kill nothing old is used again.
type client struct {
	url  string
	http *http.Client
}

func newClient(url string) *client {
	return &client{url, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
}

// errBusy says that the server asked for patience: nothing was acknowledged.
var errBusy = errors.New("busy")

func (c *client) post(ctx context.Context, s *sent, method string, last int64) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": method,
		"params": map[string]any{"message": map[string]any{
			"messageId": s.id, "role": "ROLE_USER", "parts": []any{map[string]any{"text": s.text}},
		}},
	})
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
	if last >= 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatInt(last, 10))
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		resp.Body.Close()
		return nil, errBusy
	}
	return resp, nil
}

// send sends a message and waits for the reply.
func (c *client) send(ctx context.Context, s *sent) (sum [32]byte, task string, err error) {
	resp, err := c.post(ctx, s, "SendMessage", -1)
	if err != nil {
		return sum, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return sum, "", err
	}
	result, err := unwrap(body)
	if err != nil {
		return sum, "", err
	}
	return sha256.Sum256(result), inspect(result).task, nil
}

// read sends a message as a stream and calls each with every event that was read to the end of its frame. It returns
// nil when the server ended the stream in good order.
func (c *client) read(ctx context.Context, s *sent, last int64, each func(event)) error {
	resp, err := c.post(ctx, s, "SendStreamingMessage", last)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if t := resp.Header.Get("Content-Type"); !strings.HasPrefix(t, "text/event-stream") {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if _, err := unwrap(body); err != nil {
			return err
		}
		return fmt.Errorf("%w: a stream was answered with %s", errBroken, t)
	}
	lines := bufio.NewReader(resp.Body)
	var seq int64
	var data []byte
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if v, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			if seq, err = strconv.ParseInt(string(v), 10, 64); err != nil {
				return fmt.Errorf("%w: event id %q", errBroken, v)
			}
		} else if v, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			data = append(data, v...)
		} else if len(line) == 0 && len(data) > 0 {
			result, err := unwrap(data)
			if err != nil {
				return err
			}
			e := inspect(result)
			e.seq, e.sum = seq, sha256.Sum256(result)
			each(e)
			data = nil
		}
	}
}

// refused is an error that the server answered.
type refused struct {
	Code    int
	Message string
}

func (e *refused) Error() string { return fmt.Sprintf("refused: %s (%d)", e.Message, e.Code) }

// unwrap takes the result out of a JSON-RPC response.
func unwrap(body []byte) (json.RawMessage, error) {
	var r struct {
		Result json.RawMessage
		Error  *refused
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("%w in %.200q", err, body)
	}
	if r.Error != nil {
		return nil, r.Error
	}
	return r.Result, nil
}

// inspect reads what is needed from a StreamResponse.
func inspect(result json.RawMessage) event {
	type status struct{ State string }
	var r struct {
		Task *struct {
			ID     string
			Status status
		}
		StatusUpdate *struct {
			TaskID string
			Status status
		}
		ArtifactUpdate *struct{ TaskID string }
		Message        *struct{}
	}
	var e event
	if json.Unmarshal(result, &r) != nil {
		return e
	}
	state := ""
	switch {
	case r.Task != nil:
		e.task, state = r.Task.ID, r.Task.Status.State
	case r.StatusUpdate != nil:
		e.task, state = r.StatusUpdate.TaskID, r.StatusUpdate.Status.State
	case r.ArtifactUpdate != nil:
		e.task = r.ArtifactUpdate.TaskID
	case r.Message != nil:
		e.end = true
	}
	switch state {
	case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED":
		e.end = true
	}
	return e
}

// workers is how many clients load the program.
const workers = 8

// load has clients work until the program is killed, at a random instant.
func (h *harness) load(p *process) error {
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	c := newClient(p.url)
	instant := time.NewTimer(20*time.Millisecond + time.Duration(h.random.IntN(1000))*time.Millisecond)
	var mu sync.Mutex // guards the ledger and the random choices
	next := func() *sent {
		mu.Lock()
		defer mu.Unlock()
		s := &sent{id: fmt.Sprintf("m-%d-%d", h.kills, len(h.ledger)), stream: h.random.IntN(4) > 0}
		switch {
		case s.stream:
			s.text = fmt.Sprintf("#bench stream n=%d b=%d every=%dms", 1+h.random.IntN(300), 32+h.random.IntN(400), h.random.IntN(4))
		case h.random.IntN(2) == 0:
			s.text = "#bench task"
		default:
			s.text = fmt.Sprintf("echo %d", len(h.ledger))
		}
		h.ledger = append(h.ledger, s)
		return s
	}
	unexpected := make(chan error, workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				s := next()
				var err error
				if s.stream {
					err = c.read(ctx, s, -1, func(e event) { s.events = append(s.events, e) })
				} else if s.reply, s.task, err = c.send(ctx, s); err == nil {
					s.replied = true
				}
				var no *refused
				if errors.Is(err, errBroken) || errors.As(err, &no) {
					unexpected <- fmt.Errorf("%s: %w", s.text, err)
					return
				}
				if errors.Is(err, errBusy) {
					time.Sleep(20 * time.Millisecond) // as it was asked to
				} else if err != nil {
					return // the program is gone
				}
			}
		})
	}
	<-instant.C
	p.kill()
	cancel()
	wg.Wait()
	c.http.CloseIdleConnections()
	select {
	case err := <-unexpected:
		return fmt.Errorf("under load: %w", err)
	default:
		return nil
	}
}
