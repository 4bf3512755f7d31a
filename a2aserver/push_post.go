package a2aserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"parley/a2a"
	"parley/a2a/wire"
)

// stay is a redirect policy: a webhook that is elsewhere has to be registered there.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// attempt is how one attempt at a delivery ended.
type attempt struct {
	status     int // 0: there was no answer
	retryAfter time.Duration
	err        error
}

func (a attempt) ok() bool   { return a.err == nil && a.status >= 200 && a.status < 300 }
func (a attempt) gone() bool { return a.status == http.StatusGone }

// reason says to people why it failed. It does not repeat the address, which may hold a secret.
func (a attempt) reason() string {
	if a.err == nil {
		return fmt.Sprintf("the webhook answered %d %s", a.status, http.StatusText(a.status))
	}
	err := a.err
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "the webhook did not answer in time"
	}
	return err.Error()
}

// maxPushAnswer is how much of an answer is read, so that the connection can be used again.
const maxPushAnswer = 16 << 10

// The headers of a delivery beside those of the protocol. They are Standard Webhooks' own.
const (
	webhookID        = "Webhook-Id"
	webhookTimestamp = "Webhook-Timestamp"
)

// post makes one attempt.
func (f *follower) post(client *http.Client, seq int64, body []byte) (a attempt) {
	ctx, done := context.WithTimeout(f.sends, f.s.o.Timeout)
	defer done()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.row.Config.URL, bytes.NewReader(body))
	if err != nil {
		return attempt{err: err}
	}
	began := time.Now()
	if err := f.address(r.Header, seq, body, began); err != nil {
		return attempt{err: err}
	}
	var answer []byte
	resp, err := client.Do(r)
	if err == nil {
		a.status = resp.StatusCode
		a.retryAfter = retryAfter(resp.Header, began)
		answer, _ = io.ReadAll(io.LimitReader(resp.Body, maxPushAnswer)) // what it says besides its status is not needed
		resp.Body.Close()
	}
	a.err = err
	if f.s.o.Tap != nil {
		x := &wire.Exchange{
			At: began, Peer: f.row.Principal, TaskID: f.row.Config.TaskID, Method: "push", Dialect: f.row.Dialect,
			URL: f.row.Config.URL, Status: a.status, Took: time.Since(began), Header: r.Header, Request: body, Response: answer,
		}
		if !a.ok() {
			x.Err = a.reason()
		}
		f.s.o.Tap(ctx, x)
	}
	return a
}

// address sets the headers of a delivery: what the creator's dialect has, and what the registration asks for.
func (f *follower) address(h http.Header, seq int64, body []byte, now time.Time) error {
	c := &f.row.Config
	h["Content-Type"] = jsonType // the one that every receiver takes; v1.0's own application/a2a+json is not
	h.Set("User-Agent", "Parley")
	h.Set(webhookID, f.row.UID+"-"+strconv.FormatInt(seq, 10))
	h.Set(webhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if c.Token != "" {
		h.Set("X-A2A-Notification-Token", c.Token)
		if f.row.Dialect == wire.NEW {
			h.Set("A2A-Notification-Token", c.Token)
		}
	}
	auth, err := pushAuth(c.Authentication)
	if err != nil {
		return err
	}
	switch {
	case auth.jwt:
		token, err := f.jwt(body, now)
		if err != nil {
			return fmt.Errorf("the delivery could not be signed: %w", err)
		}
		h.Set("Authorization", "Bearer "+token)
	case auth.name != "":
		h.Set(auth.name, auth.value)
	case c.Token != "" && f.row.Dialect == wire.OLD: // where v0.1 clients that know no other header look for it
		h.Set("Authorization", "Bearer "+c.Token)
	}
	return nil
}

// jwtLife is how long a JWT of ours is good for.
const jwtLife = 5 * time.Minute

// jwt proves that the body is ours. The claim with the body's hash is the one of the v0.1 samples.
func (f *follower) jwt(body []byte, now time.Time) (string, error) {
	if f.s.o.Sign == nil {
		return "", errors.New("there is no key to sign with")
	}
	sum := sha256.Sum256(body)
	return f.s.o.Sign(map[string]any{
		"aud": f.url.Scheme + "://" + f.url.Host, "iat": now.Unix(), "exp": now.Add(jwtLife).Unix(), "jti": uuid.NewString(),
		"taskId": cmp.Or(f.row.ClientTaskID, f.row.Config.TaskID), "request_body_sha256": hex.EncodeToString(sum[:]),
	})
}

// retryAfter reads the header of that name, in seconds or as a date; 0 without one.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.Atoi(v); err == nil && n > 0 {
		return min(time.Duration(n), longestRetry/time.Second) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// Test delivers the task of a registration as it stands to its webhook, once and whatever else it is owed, and returns
// what the webhook answered: an HTTP status, with an error where that is no success. Where the registration stands does
// not change.
func (s *PushSender) Test(ctx context.Context, task, registration string) (status int, err error) {
	rows, err := s.o.Store.Rows(ctx, task)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(rows, func(r *PushRow) bool { return r.UID == registration })
	if i < 0 {
		return 0, ErrNoRegistration
	}
	r := rows[i]
	tasks := s.o.Tasks(r.Scope)
	if tasks == nil {
		return 0, ErrNoRegistration
	}
	now, err := tasks.Task(ctx, r.Principal, &a2a.GetRequest{ID: task})
	if err != nil {
		return 0, err
	}
	body := a2a.MarshalEvent(now)
	if r.Dialect != wire.NEW {
		p := wire.PushPayload{Event: now, Task: now, ClientTaskID: r.ClientTaskID}
		if r.Dialect == wire.OLD {
			p.Index = wire.NewIndex(r.ClientTaskID)
			p.Index.Seen(now)
		}
		body = wire.AppendPush(nil, r.Dialect, &p)
	}
	f := newFollower(s, r)
	defer f.kill()
	defer context.AfterFunc(ctx, f.kill)()
	t, way, err := s.target(f.url)
	if err != nil {
		return 0, err
	}
	defer s.release(t)
	if err := t.enter(ctx); err != nil {
		return 0, err
	}
	defer t.leave()
	client := *way.HTTP
	client.CheckRedirect = stay
	a := f.post(&client, time.Now().UnixNano(), body) // a number of its own: a receiver takes no delivery twice
	if a.ok() {
		return a.status, nil
	}
	return a.status, errors.New(a.reason())
}

// Of returns the registrations of a task, oldest first, also those whose deliveries are over.
func (s *PushSender) Of(ctx context.Context, task string) ([]*PushRow, error) {
	s.keeper.flush()
	rows, err := s.o.Store.Rows(ctx, task)
	slices.SortFunc(rows, olderRow)
	return rows, err
}
