package a2aserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"parley/a2a"
	"parley/a2a/wire"
)

// Webhook is an address that an agent was told to report a task to.
type Webhook struct {
	ID      string // the last segment of its path; not to be guessed
	Peer    string // the agent, in what Tap is told
	Tap     wire.Tap
	TaskID  string // the agent's own id of the task; "" while it is not known: then any is taken
	Token   [sha256.Size]byte
	Pending bool // the agent is being asked just now: a v0.1 agent may want a text said after it first

	limit *rate.Limiter
}

// NewWebhook returns a webhook for a task, with the hash of the token that its posts must show.
func NewWebhook(id, peer, task, token string) *Webhook {
	return &Webhook{
		ID: id, Peer: peer, TaskID: task, Token: sha256.Sum256([]byte(token)), Pending: true,
		limit: rate.NewLimiter(webhookRate, webhookBurst),
	}
}

// WebhookOptions are the choices of Webhooks. Find and Note are required.
type WebhookOptions struct {
	// Find returns the webhook of an id, nil when there is none.
	Find func(id string) *Webhook

	// Note is told of every post but those that came before. It must return at once. A post is a hint and no more: whoever
	// is told reads the task from the agent.
	Note func(ctx context.Context, w *Webhook, n *wire.PushNote)
}

// Webhooks receives what agents report to webhooks of ours, in every form that agents of any version use:
//
//	POST {mount}/{id}                      a report, shown to be genuine by the token, in any header it may be in
//	GET  {mount}/{id}?validationToken=…    the handshake of the first drafts, while the webhook is pending
//
// What it guarantees: an unknown id, whatever else is said, is 404; a wrong token is 401, compared in constant time; posts
// of one webhook and what they cost in memory are bounded; the answer does not wait for anything to be done.
type Webhooks struct {
	o    WebhookOptions
	busy chan struct{} // bodies being read

	mu   sync.Mutex
	seen map[[sha256.Size]byte]struct{}
	ring [][sha256.Size]byte // of seen, oldest first from next
	next int
}

const (
	webhookRate   = rate.Limit(50) // posts a second of one webhook
	webhookBurst  = 200
	webhookBodies = 32   // read at a time
	webhookSeen   = 4096 // posts that are recognised when they come again
	webhookToken  = 256  // length of a validationToken
)

// NewWebhooks returns the receiver.
func NewWebhooks(o *WebhookOptions) *Webhooks {
	h := &Webhooks{
		o: *o, busy: make(chan struct{}, webhookBodies), seen: map[[sha256.Size]byte]struct{}{},
		ring: make([][sha256.Size]byte, 0, webhookSeen),
	}
	return h
}

// ServeHTTP implements http.Handler. The mount takes its prefix away.
func (h *Webhooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Path, "/")
	hook := h.o.Find(id)
	if hook == nil || id == "" {
		answer(w, http.StatusNotFound, "there is no such webhook")
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.take(w, r, hook)
	case http.MethodGet:
		h.greet(w, r, hook)
	default:
		w.Header().Set("Allow", "POST")
		answer(w, http.StatusMethodNotAllowed, "a webhook takes POST requests")
	}
}

// answer writes a line of plain text.
func answer(w http.ResponseWriter, status int, text string) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// greet says a text after an agent that wants to know whether the webhook is ours.
func (h *Webhooks) greet(w http.ResponseWriter, r *http.Request, hook *Webhook) {
	text := r.URL.Query().Get("validationToken")
	plain := strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") == ""
	if !hook.Pending || text == "" || len(text) > webhookToken || !plain {
		answer(w, http.StatusNotFound, "there is no such webhook")
		return
	}
	answer(w, http.StatusOK, text)
}

// take takes a report.
func (h *Webhooks) take(w http.ResponseWriter, r *http.Request, hook *Webhook) {
	began := time.Now()
	var body []byte
	var note *wire.PushNote
	err := h.admit(r, hook)
	if err == nil {
		if body, err = h.read(w, r); err == nil {
			note, err = wire.DecodePush(body)
		}
	}
	if err == nil && note.TaskID != "" && hook.TaskID != "" && note.TaskID != hook.TaskID {
		err = &a2a.Error{Kind: a2a.KindTaskNotFound, Message: "this webhook is for another task"}
	}
	status := http.StatusOK
	if err != nil {
		status = webhookStatus(err)
	}
	again := err == nil && h.again(hook, r, body)
	if err == nil && !again {
		h.o.Note(r.Context(), hook, note)
	}
	if hook.Tap != nil && !again && status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
		x := &wire.Exchange{
			At: began, Inbound: true, Peer: hook.Peer, TaskID: hook.TaskID, Method: "push", URL: "/hooks/…", Status: status,
			Took: time.Since(began), Header: r.Header, Request: body,
		}
		if note != nil {
			x.TaskID = cmp.Or(x.TaskID, note.TaskID)
		}
		if err != nil {
			x.Err = err.Error()
		}
		hook.Tap(r.Context(), x)
	}
	switch status {
	case http.StatusOK:
		w.WriteHeader(status)
		return
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="webhook"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	answer(w, status, err.Error())
}

// webhookStatus is how a report is refused.
func webhookStatus(err error) int {
	switch a2a.KindOf(err) {
	case a2a.KindUnauthenticated:
		return http.StatusUnauthorized
	case a2a.KindRateLimited:
		return http.StatusTooManyRequests
	case a2a.KindUnavailable:
		return http.StatusServiceUnavailable
	case a2a.KindTaskNotFound:
		return http.StatusNotFound
	case a2a.KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case a2a.KindContentType:
		return http.StatusUnsupportedMediaType
	}
	return http.StatusBadRequest
}

// admit decides by the header alone.
func (h *Webhooks) admit(r *http.Request, hook *Webhook) error {
	if !genuine(r.Header, hook) {
		return &a2a.Error{Kind: a2a.KindUnauthenticated, Message: "the token of this webhook is missing or wrong"}
	}
	if !hook.limit.Allow() {
		return &a2a.Error{Kind: a2a.KindRateLimited, Message: "too many reports"}
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return a2a.Errorf(a2a.KindContentType, "the body must not be compressed")
	}
	if ct := r.Header.Get("Content-Type"); ct != "" { // some agents forget it
		t, _, err := mime.ParseMediaType(ct)
		if err != nil || t != "application/json" && !strings.HasSuffix(t, "+json") {
			return a2a.Errorf(a2a.KindContentType, "the Content-Type must be application/json")
		}
	}
	return nil
}

// genuine reports whether a request shows the token, in any of the headers that agents put it in. All are compared, in
// constant time.
func genuine(header http.Header, hook *Webhook) bool {
	ok := 0
	compare := func(given string) {
		sum := sha256.Sum256([]byte(given))
		ok |= subtle.ConstantTimeCompare(sum[:], hook.Token[:])
	}
	compare(header.Get("X-A2A-Notification-Token"))
	compare(header.Get("A2A-Notification-Token"))
	scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		compare(strings.TrimSpace(token))
	}
	return ok == 1
}

// read reads a body, a bounded number of them at a time.
func (h *Webhooks) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	select {
	case h.busy <- struct{}{}:
	default:
		return nil, &a2a.Error{Kind: a2a.KindUnavailable, Message: "too many reports at once"}
	}
	defer func() { <-h.busy }()
	return readBody(w, r)
}

// again reports whether a report has come before, and remembers it: by the id that senders of Standard Webhooks give it,
// else by what it says.
func (h *Webhooks) again(hook *Webhook, r *http.Request, body []byte) bool {
	sum := sha256.New()
	_, _ = io.WriteString(sum, hook.ID+"\x00")
	if id := r.Header.Get(webhookID); id != "" {
		_, _ = io.WriteString(sum, id)
	} else {
		sum.Write(body)
	}
	key := [sha256.Size]byte(sum.Sum(nil))
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.seen[key]; ok {
		return true
	}
	h.seen[key] = struct{}{}
	if len(h.ring) < webhookSeen {
		h.ring = append(h.ring, key)
		return false
	}
	delete(h.seen, h.ring[h.next])
	h.ring[h.next] = key
	h.next = (h.next + 1) % webhookSeen
	return false
}
