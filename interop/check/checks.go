package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

func (r *run) all() {
	if p := r.plan.Echo; p != nil {
		r.with(p, r.echo)
	}
	if p := r.plan.Stream; p != nil {
		r.with(p, r.stream)
	}
	if p := r.plan.Ask; p != nil {
		r.with(p, r.ask)
	}
	if p := r.plan.Slow; p != nil {
		r.with(p, r.slow)
	}
	if p := r.plan.Parts; p != nil {
		r.with(p, r.parts)
	}
	if p := r.plan.Files; p != nil {
		r.with(p, r.files)
	}
}

// with connects to the agent of a role and runs its checks.
func (r *run) with(p *Role, checks func(*Role, Client)) {
	c, err := r.dial(context.Background(), p.URL, r.plan.Token)
	if err != nil {
		r.check("connect", func(context.Context) (string, error) { return "", fmt.Errorf("%s: %w", p.URL, err) })
		return
	}
	checks(p, c)
}

func (r *run) echo(p *Role, c Client) {
	r.check("card", func(ctx context.Context) (string, error) {
		card, err := c.Card(ctx)
		switch {
		case err != nil:
			return "", err
		case card.Name == "" || card.Skills == 0 || !card.Streaming:
			return "", fmt.Errorf("card %+v", card)
		}
		return card.Name, nil
	})
	var first *Reply
	r.check("send", func(ctx context.Context) (string, error) {
		var err error
		if first, err = c.Send(ctx, Message{Text: p.Text}); err != nil {
			return "", err
		}
		if first.Message == p.Task || !strings.Contains(Text(first.Parts), "hello") || first.ContextID == "" {
			return "", fmt.Errorf("reply %+v", first)
		}
		return Text(first.Parts), nil
	})
	r.check("send-in-context", func(ctx context.Context) (string, error) {
		if first == nil {
			return "", errors.New("there was no first reply")
		}
		next, err := c.Send(ctx, Message{Text: p.Text, ContextID: first.ContextID})
		if err != nil {
			return "", err
		}
		if next.ContextID != first.ContextID {
			return "", fmt.Errorf("context %q became %q", first.ContextID, next.ContextID)
		}
		return next.ContextID, nil
	})
	r.check("stream-of-one-answer", func(ctx context.Context) (string, error) {
		f := &fold{}
		if err := f.all(c.Stream(ctx, Message{Text: p.Text})); err != nil {
			return "", err
		}
		if !strings.Contains(f.text, "hello") || f.state != "" == !p.Task {
			return "", fmt.Errorf("%d events, text %q, state %q", f.n, f.text, f.state)
		}
		return fmt.Sprintf("%d events", f.n), nil
	})
	r.check("text-of-all-scripts", func(ctx context.Context) (string, error) {
		const text = "hello 東京 여행 é 🚢 <b>&amp;</b> \" \\ \u2028"
		reply, err := c.Send(ctx, Message{Text: strings.Replace(p.Text, "hello", text, 1)})
		if err != nil {
			return "", err
		}
		if !strings.Contains(Text(reply.Parts), text) {
			return "", fmt.Errorf("came back as %q", Text(reply.Parts))
		}
		return "", nil
	})
	if r.plan.Token != "" {
		r.check("wrong-token", func(ctx context.Context) (string, error) {
			c, err := r.dial(ctx, p.URL, "not-"+r.plan.Token)
			if err == nil {
				_, err = c.Send(ctx, Message{Text: p.Text})
			}
			if err == nil {
				return "", errors.New("was let in")
			}
			return err.Error(), nil
		})
	}
}

func (r *run) stream(p *Role, c Client) {
	f := &fold{}
	r.check("stream", func(ctx context.Context) (string, error) {
		if err := f.all(c.Stream(ctx, Message{Text: p.Text})); err != nil {
			return "", err
		}
		if f.first != "task" || f.state != "completed" || f.chunks < 5 || f.text == "" {
			return "", fmt.Errorf("first %q, state %q, %d chunks, %d bytes", f.first, f.state, f.chunks, len(f.text))
		}
		return fmt.Sprintf("%d chunks, %d bytes", f.chunks, len(f.text)), nil
	})
	r.check("get", func(ctx context.Context) (string, error) {
		task, err := c.Get(ctx, f.task)
		if err != nil {
			return "", err
		}
		if task.State != "completed" || task.ContextID != f.context || Text(task.Parts) != f.text {
			return "", fmt.Errorf("state %q, context %q, %d bytes; streamed %q, %d bytes", task.State, task.ContextID, len(Text(task.Parts)), f.context, len(f.text))
		}
		return "", nil
	})
	r.check("get-unknown", func(ctx context.Context) (string, error) {
		_, err := c.Get(ctx, "0198a000-0000-7000-8000-000000000000")
		return r.wants(c, err, "task-not-found")
	})
	r.check("cancel-completed", func(ctx context.Context) (string, error) {
		_, err := c.Cancel(ctx, f.task)
		return r.wants(c, err, "task-not-cancelable")
	})
	r.check("send-to-completed", func(ctx context.Context) (string, error) {
		_, err := c.Send(ctx, Message{Text: p.Text, TaskID: f.task, ContextID: f.context})
		return r.wants(c, err, "unsupported-operation", "invalid-params", "invalid-request")
	})
	r.check("subscribe", func(ctx context.Context) (string, error) {
		left := &fold{}
		for e, err := range c.Stream(ctx, Message{Text: p.Text}) {
			if err != nil {
				return "", err
			}
			if left.add(e); left.chunks == 2 {
				break
			}
		}
		again := &fold{}
		if err := again.all(c.Subscribe(ctx, left.task)); err != nil {
			return "", err
		}
		task, err := c.Get(ctx, left.task)
		if err != nil {
			return "", err
		}
		if again.task != left.task || again.state != "completed" || !strings.HasSuffix(Text(task.Parts), again.text) || again.text == "" {
			return "", fmt.Errorf("left %s after %d chunks; then task %s, state %q, %d of %d bytes", left.task, left.chunks, again.task, again.state, len(again.text), len(Text(task.Parts)))
		}
		return fmt.Sprintf("%d events after coming back", again.n), nil
	})
	r.check("push-refused", func(ctx context.Context) (string, error) {
		return r.wants(c, c.Push(ctx, f.task, "http://127.0.0.1:9/hook"), "push-not-supported")
	})
	r.check("list", func(ctx context.Context) (string, error) {
		var seen []string
		for token := ""; ; {
			page, next, err := c.List(ctx, "", 2, token)
			if err != nil {
				return "", err
			}
			for _, id := range page {
				if slices.Contains(seen, id) {
					return "", fmt.Errorf("task %s is listed twice", id)
				}
			}
			if len(page) > 2 {
				return "", fmt.Errorf("%d tasks on a page of 2", len(page))
			}
			seen = append(seen, page...)
			if token = next; token == "" {
				break
			}
		}
		if !slices.Contains(seen, f.task) {
			return "", fmt.Errorf("task %s is not among %d", f.task, len(seen))
		}
		return fmt.Sprintf("%d tasks", len(seen)), nil
	})
}

func (r *run) ask(p *Role, c Client) {
	r.check("input-required", func(ctx context.Context) (string, error) {
		task, err := c.Send(ctx, Message{Text: p.Text})
		if err != nil {
			return "", err
		}
		id, talk := task.TaskID, task.ContextID
		for i, answer := range p.Answers {
			if task.State != "input-required" {
				return "", fmt.Errorf("before answer %d: state %q", i+1, task.State)
			}
			if task, err = c.Send(ctx, Message{Text: answer, TaskID: id, ContextID: talk}); err != nil {
				return "", fmt.Errorf("answer %d: %w", i+1, err)
			}
			if task.TaskID != id || task.ContextID != talk {
				return "", fmt.Errorf("task %s in %s became %s in %s", id, talk, task.TaskID, task.ContextID)
			}
		}
		if task.State != "completed" || len(task.Parts) == 0 {
			return "", fmt.Errorf("state %q, %d parts", task.State, len(task.Parts))
		}
		return fmt.Sprintf("%d answers", len(p.Answers)), nil
	})
	r.check("input-required-streaming", func(ctx context.Context) (string, error) {
		f := &fold{}
		if err := f.all(c.Stream(ctx, Message{Text: p.Text})); err != nil {
			return "", err
		}
		id, talk := f.task, f.context
		for i, answer := range p.Answers {
			if f.state != "input-required" {
				return "", fmt.Errorf("before answer %d: state %q", i+1, f.state)
			}
			f.state = ""
			if err := f.all(c.Stream(ctx, Message{Text: answer, TaskID: id, ContextID: talk})); err != nil {
				return "", fmt.Errorf("answer %d: %w", i+1, err)
			}
			if f.task != id || f.context != talk {
				return "", fmt.Errorf("task %s in %s became %s in %s", id, talk, f.task, f.context)
			}
		}
		if f.state != "completed" {
			return "", fmt.Errorf("state %q", f.state)
		}
		return fmt.Sprintf("%d events", f.n), nil
	})
}

func (r *run) slow(p *Role, c Client) {
	r.check("send-without-waiting, cancel", func(ctx context.Context) (string, error) {
		task, err := c.Send(ctx, Message{Text: p.Text, NoWait: true})
		if err != nil {
			return "", err
		}
		if task.Message || task.State != "submitted" && task.State != "working" {
			return "", fmt.Errorf("answered %+v", task)
		}
		stopped, err := c.Cancel(ctx, task.TaskID)
		if err != nil {
			return "", err
		}
		f := &fold{state: stopped.State}
		if f.state != "canceled" { // it may still be on its way there
			if err := f.all(c.Subscribe(ctx, task.TaskID)); err != nil {
				return "", err
			}
		}
		if f.state != "canceled" {
			return "", fmt.Errorf("state %q", f.state)
		}
		return "", nil
	})
	r.check("cancel while streaming", func(ctx context.Context) (string, error) {
		f := &fold{}
		asked := false
		for e, err := range c.Stream(ctx, Message{Text: p.Text}) {
			if err != nil {
				return "", err
			}
			if f.add(e); !asked && f.task != "" {
				asked = true
				if _, err := c.Cancel(ctx, f.task); err != nil {
					return "", err
				}
			}
		}
		if f.state != "canceled" {
			return "", fmt.Errorf("the stream ended in state %q", f.state)
		}
		return fmt.Sprintf("%d events", f.n), nil
	})
	r.check("cancel-unknown", func(ctx context.Context) (string, error) {
		_, err := c.Cancel(ctx, "0198a000-0000-7000-8000-000000000000")
		return r.wants(c, err, "task-not-found")
	})
}

func (r *run) parts(p *Role, c Client) {
	all := make([]byte, 3*256)
	for i := range all {
		all[i] = byte(i)
	}
	sent := []Part{
		{Bytes: all, Name: "all bytes.bin", MediaType: "application/octet-stream"},
		{Bytes: []byte("aGVsbG8="), Name: "looks-like-base64.txt", MediaType: "text/plain"},
		{Data: map[string]any{"n": 1.5, "deep": []any{"a", nil, true}}},
	}
	r.check("file-and-data-parts", func(ctx context.Context) (string, error) {
		reply, err := c.Send(ctx, Message{Text: p.Text, More: sent})
		if err != nil {
			return "", err
		}
		for _, want := range sent {
			if !slices.ContainsFunc(reply.Parts, func(got Part) bool {
				return bytes.Equal(got.Bytes, want.Bytes) && reflect.DeepEqual(got.Data, want.Data) && got.Name == want.Name
			}) {
				return "", fmt.Errorf("part %q did not come back among %+v", want.Name, reply.Parts)
			}
		}
		return fmt.Sprintf("%d parts", len(reply.Parts)), nil
	})
}

func (r *run) files(p *Role, c Client) {
	r.check("files", func(ctx context.Context) (string, error) {
		reply, err := c.Send(ctx, Message{Text: p.Text})
		if err != nil {
			return "", err
		}
		for _, part := range reply.Parts {
			if part.MediaType == "image/png" && bytes.HasPrefix(part.Bytes, []byte("\x89PNG\r\n")) {
				return fmt.Sprintf("%d parts", len(reply.Parts)), nil
			}
		}
		return "", fmt.Errorf("no picture among %d parts", len(reply.Parts))
	})
}

// wants expects an error of one of the kinds.
func (r *run) wants(c Client, err error, kinds ...string) (string, error) {
	if err == nil {
		return "", fmt.Errorf("no error; want %s", strings.Join(kinds, " or "))
	}
	if k := c.Kind(err); !slices.Contains(kinds, k) {
		return "", fmt.Errorf("kind %q; want %s: %w", k, strings.Join(kinds, " or "), err)
	}
	return err.Error(), nil
}
