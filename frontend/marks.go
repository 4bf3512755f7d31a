package frontend

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"parley/frontend/view"
	"parley/orchestrator"
)

// What a person does to a chat as a whole: name it, pin it, delete it and take that back.

const (
	maxName = 200 // characters of a chat's name
	undoFor = 10 * time.Second
)

// renameChat names a chat; an empty name is its title again.
func (s *Site) renameChat(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	name := strings.Join(strings.Fields(r.FormValue("name")), " ")
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName])
	}
	c, err := s.store.Conversation(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if name == c.Title {
		name = ""
	}
	return s.markChat(w, r, orchestrator.ChatMark{ConversationID: c.ID, Name: &name})
}

func (s *Site) pinChat(w http.ResponseWriter, r *http.Request) error {
	pinned := r.FormValue("pinned") == "true"
	return s.markChat(w, r, orchestrator.ChatMark{ConversationID: r.PathValue("id"), Pinned: &pinned})
}

func (s *Site) markChat(w http.ResponseWriter, r *http.Request, m orchestrator.ChatMark) error {
	if _, err := s.store.Conversation(r.Context(), m.ConversationID); err != nil {
		return err
	}
	if err := s.store.Write(r.Context(), &orchestrator.Batch{Marks: []orchestrator.ChatMark{m}}); err != nil {
		return err
	}
	s.lobby.mark()
	s.rooms.touch(m.ConversationID)
	return done(w, r, "/c/"+url.PathEscape(m.ConversationID))
}

// bin holds the chats that were deleted a moment ago. They are shown nowhere any more, and erased when their time is up,
// or when the site closes; until then it can be taken back. When the program is killed meanwhile they are there again:
// nothing is lost by accident.
type bin struct {
	site  *Site
	undo  time.Duration // how long it can be taken back
	mu    sync.Mutex
	chats map[string]*time.Timer
}

func (b *bin) has(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.chats[id] != nil
}

func (b *bin) put(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.chats == nil {
		b.chats = map[string]*time.Timer{}
	}
	if b.chats[id] == nil {
		b.chats[id] = time.AfterFunc(b.undo, func() { b.erase(id) })
	}
}

// back takes a chat out again. It reports whether it was there.
func (b *bin) back(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.chats[id]
	if t == nil || !t.Stop() {
		return false
	}
	delete(b.chats, id)
	return true
}

func (b *bin) erase(id string) {
	err := b.site.store.Erase(context.WithoutCancel(b.site.ctx), id)
	if err != nil && !errors.Is(err, orchestrator.ErrNotFound) {
		b.site.log.Error("chat not erased", "conversation", id, "error", err)
	}
	b.mu.Lock()
	delete(b.chats, id)
	b.mu.Unlock()
	b.site.lobby.mark()
	b.site.rooms.touch(id)
}

// empty erases what is in the bin.
func (b *bin) empty() {
	b.mu.Lock()
	var ids []string
	for id, t := range b.chats {
		if t.Stop() {
			ids = append(ids, id)
		}
	}
	b.mu.Unlock()
	for _, id := range ids {
		b.erase(id)
	}
}

// conversation returns a chat that is not deleted.
func (s *Site) conversation(ctx context.Context, id string) (*orchestrator.Conversation, error) {
	if s.bin.has(id) {
		return nil, orchestrator.ErrNotFound
	}
	return s.store.Conversation(ctx, id)
}

func (s *Site) deleteChat(w http.ResponseWriter, r *http.Request) error {
	c, err := s.store.Conversation(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	s.bin.put(c.ID) // windows that show it are told when it is erased
	s.lobby.mark()
	return moved(w, r, "/?deleted="+url.QueryEscape(c.ID))
}

// undelete takes a deletion back.
func (s *Site) undelete(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if !s.bin.back(id) {
		if _, err := s.store.Conversation(r.Context(), id); err != nil {
			return &fail{http.StatusGone, &orchestrator.Fault{
				Kind: "erased", Where: orchestrator.WhereUs, What: "This chat is erased already.", Do: "Go back to the chats.",
			}}
		}
	}
	s.lobby.mark()
	return moved(w, r, "/c/"+url.PathEscape(id))
}

// deleted says of the page after a deletion that it can be taken back.
func (s *Site) deleted(ctx context.Context, id string) *view.Toast {
	if id == "" || !s.bin.has(id) {
		return nil
	}
	c, err := s.store.Conversation(ctx, id)
	if err != nil {
		return nil
	}
	return &view.Toast{Text: view.T(ctx, "“%s” is deleted.", titleOf(ctx, c)), Undo: "/c/" + url.PathEscape(id) + "/undelete"}
}
