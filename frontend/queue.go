package frontend

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"parley/frontend/view"
	"parley/orchestrator"
)

// queueSetting holds what waits to be said, so that it outlives the program.
const queueSetting = "chat.waiting"

const maxQueue = 20 // messages waiting in one chat

// waiting is a message that is said when what goes on in its chat has ended.
type waiting struct {
	ID   string `json:"id"` // of the message: said once, whoever says it
	To   string `json:"to"`
	Text string `json:"text"`
}

// queue holds the messages that wait, by chat. One is said when nothing goes on there and nobody is asked anything: what
// is said into an open question would answer it.
type queue struct {
	site *Site
	mu   sync.Mutex
	by   map[string][]waiting
	busy map[string]bool // being said
}

func newQueue(s *Site) *queue {
	q := &queue{site: s, by: map[string][]waiting{}, busy: map[string]bool{}}
	if b, err := s.store.Setting(s.ctx, queueSetting); err == nil && b != "" {
		_ = json.Unmarshal([]byte(b), &q.by)
	}
	return q
}

func (q *queue) of(conversation string) []waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.by[conversation])
}

// change changes what waits in a chat, and returns when that is stored.
func (q *queue) change(ctx context.Context, conversation string, f func([]waiting) []waiting) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.by[conversation]
	if now := f(slices.Clone(was)); len(now) > 0 {
		q.by[conversation] = now
	} else {
		delete(q.by, conversation)
	}
	b, err := json.Marshal(q.by)
	if err == nil {
		err = q.site.store.Write(ctx, &orchestrator.Batch{Settings: map[string]string{queueSetting: string(b)}})
	}
	if err != nil {
		q.by[conversation] = was
		return err
	}
	q.site.rooms.touch(conversation)
	return nil
}

func (q *queue) remove(ctx context.Context, conversation, id string) error {
	return q.change(ctx, conversation, func(ws []waiting) []waiting {
		return slices.DeleteFunc(ws, func(w waiting) bool { return w.ID == id })
	})
}

// going reports whether something goes on in a chat, so that what is said there now has to wait.
func (q *queue) going(ctx context.Context, conversation string) bool {
	c, err := q.site.store.Conversation(ctx, conversation)
	return err == nil && c.State == orchestrator.ConversationWorking
}

// look says what can be said now. It is called whenever a chat may have changed.
func (q *queue) look() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, ws := range q.by {
		if len(ws) == 0 || q.busy[id] || !q.site.enter() {
			continue
		}
		q.busy[id] = true
		go func() {
			defer q.site.wg.Done()
			q.next(q.site.ctx, id)
			q.mu.Lock()
			delete(q.busy, id)
			q.mu.Unlock()
		}()
	}
}

func (q *queue) next(ctx context.Context, conversation string) {
	c, err := q.site.store.Conversation(ctx, conversation)
	if err != nil || c.State == orchestrator.ConversationWorking || c.State == orchestrator.ConversationAsking || q.site.store.Healthy() != nil {
		return
	}
	ws := q.of(conversation)
	if len(ws) == 0 {
		return
	}
	if err := q.say(ctx, conversation, ws[0]); err != nil && ctx.Err() == nil {
		q.site.log.WarnContext(ctx, "a waiting message was not said", "conversation", conversation, "error", err)
	}
}

// say says a waiting message. It leaves the queue once it is said; said twice it is still one message.
func (q *queue) say(ctx context.Context, conversation string, w waiting) error {
	if _, err := q.site.runner.Say(ctx, &orchestrator.Say{ConversationID: conversation, To: w.To, MessageID: w.ID, Text: w.Text}); err != nil {
		return err
	}
	return q.remove(ctx, conversation, w.ID)
}

// queued changes one waiting message: it is said now, or not at all.
func (s *Site) queued(w http.ResponseWriter, r *http.Request) error {
	ctx, id := r.Context(), r.PathValue("id")
	if r.FormValue("now") != "" {
		for _, m := range s.queue.of(id) {
			if m.ID == r.PathValue("message") {
				if err := s.queue.say(ctx, id, m); err != nil {
					return err
				}
			}
		}
	} else if err := s.queue.remove(ctx, id, r.PathValue("message")); err != nil {
		return err
	}
	return done(w, r, "/c/"+url.PathEscape(id))
}

// queueView is what waits in a chat, as it is shown.
func (s *Site) queueView(ctx context.Context, conversation string) []view.Waiting {
	var vs []view.Waiting
	for _, w := range s.queue.of(conversation) {
		v := view.Waiting{Href: "/c/" + url.PathEscape(conversation) + "/queue/" + url.PathEscape(w.ID), Text: w.Text}
		if w.To != "" && w.To != orchestrator.Auto {
			v.To = s.people.link(ctx, w.To).Name
		}
		vs = append(vs, v)
	}
	return vs
}
