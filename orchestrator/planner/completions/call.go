package completions

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"
)

// Complete asks the model and returns its whole answer. The error is ctx's, or an *Error.
func (c *Client) Complete(ctx context.Context, r *Request) (*Reply, error) {
	asked := ctx
	ctx, stop := context.WithTimeout(ctx, c.o.Time)
	defer stop()
	for n := 1; ; n++ {
		reply, err := c.once(ctx, r)
		if err == nil {
			return reply, nil
		}
		if asked.Err() != nil {
			return nil, asked.Err()
		}
		if c.refuses(err) {
			n--
			continue // at once, without what it does not take: at most as often as there are such parameters
		}
		wait := c.pause(n + 1)
		if err.After > 0 {
			wait = err.After
		}
		deadline, _ := ctx.Deadline()
		if !err.again(n) || n >= c.o.Attempts || wait > c.o.Longest || time.Until(deadline) <= wait {
			return nil, err
		}
		c.o.Logger.DebugContext(ctx, "the model is asked again", "attempt", n+1, "in", wait, "because", err)
		if c.o.Sleep(ctx, wait) != nil {
			if asked.Err() != nil {
				return nil, asked.Err()
			}
			return nil, err
		}
	}
}

// once makes one attempt.
func (c *Client) once(ctx context.Context, r *Request) (*Reply, *Error) {
	body, err := c.body(r)
	if err != nil {
		return nil, &Error{Kind: BadRequest, Err: err}
	}
	resp, e := c.do(ctx, http.MethodPost, "/chat/completions", body)
	if e != nil {
		return nil, e
	}
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	in := &limited{r: resp.Body, left: maxAnswer}
	if kind == "text/event-stream" {
		return readStream(in)
	}
	return readWhole(in)
}

// do sends one request, and turns every response but a good one into an error.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, *Error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Kind: BadRequest, Err: err}
	}
	req.Header.Set("Accept", "application/json")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream, application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, sendError(err)
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, errorOf(resp)
	}
	return resp, nil
}

// Models returns the names of the models that the endpoint offers, sorted. It is asked once. The error is an *Error.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	ctx, stop := context.WithTimeout(ctx, min(c.o.Time, 30*time.Second))
	defer stop()
	resp, e := c.do(ctx, http.MethodGet, "/models", nil)
	if e != nil {
		return nil, e
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(&limited{r: resp.Body, left: maxAnswer})
	if err != nil {
		return nil, cutOr(err)
	}
	type model struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	var v struct {
		Data   []model `json:"data"`
		Models []model `json:"models"` // some say it so
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, &Error{Kind: Garbage, Said: short(string(raw)), Err: err}
	}
	names := []string{}
	for _, m := range append(v.Data, v.Models...) {
		if m.ID == "" {
			m.ID = m.Name
		}
		if m.ID != "" && len(names) < maxModels {
			names = append(names, m.ID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// maxModels is how many names are read of an endpoint that offers more.
const maxModels = 2000
