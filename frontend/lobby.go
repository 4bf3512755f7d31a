package frontend

import (
	"context"
	"strconv"
	"sync"
	"time"

	"parley/frontend/view"
)

// lookEvery is how often the store is asked whether it takes writes.
const lookEvery = time.Second

// lobby is what every window shows: the bar of chats and agents, and that nothing can be stored. Only the newest matters.
type lobby struct {
	site *Site
	poke chan struct{}

	mu    sync.Mutex
	n     int64
	lang  string // that was chosen
	html  string // of the bar
	hints string // of the open asks
	sick  string
	frame []byte
	wake  chan struct{}
	asked bool // somebody looks
}

func newLobby(s *Site) *lobby {
	return &lobby{site: s, poke: make(chan struct{}, 1), wake: make(chan struct{})}
}

// since returns the newest frame when it is newer than n, and what to wait on.
func (l *lobby) since(n int64) ([]byte, int64, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked {
		l.asked = true
		l.mark()
	}
	if l.n > n && l.frame != nil {
		return l.frame, l.n, nil
	}
	return nil, n, l.wake
}

func (l *lobby) mark() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// forget has every window wait for a frame that is drawn from now on: the language is another.
func (l *lobby) forget() {
	l.mu.Lock()
	l.frame = nil
	l.mu.Unlock()
	l.mark()
}

// run reads the lists again whenever the store hints that they changed, not more often than sideEvery.
func (l *lobby) run() {
	ctx := l.site.ctx
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for c := range l.site.store.Changes(ctx) {
			if c.AgentID != "" {
				l.site.people.forget()
				l.site.pages.clear()
			}
			if c.ConversationID != "" {
				l.site.queue.look()
				l.site.rooms.touch(c.ConversationID)
			}
			if c.AgentID != "" || c.ConversationID != "" {
				l.mark()
			}
		}
	})
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.poke:
		case <-look.C:
			l.site.queue.look() // a hint may have been lost
			if !l.turned() {
				continue
			}
		}
		l.draw(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(sideEvery):
		}
	}
}

// turned reports whether windows are told something else than the store says of its health.
func (l *lobby) turned() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sick != l.site.sick(l.site.spoken(l.site.ctx))
}

func (l *lobby) draw(ctx context.Context) {
	ctx = l.site.spoken(ctx)
	l.mu.Lock()
	asked := l.asked
	l.mu.Unlock()
	if !asked {
		return
	}
	sick := l.site.sick(ctx)
	side, err := l.site.side(ctx, l.site.now())
	if err != nil {
		if ctx.Err() == nil {
			l.site.log.WarnContext(ctx, "lists not read", "error", err)
		}
		return
	}
	lang, err := l.site.store.Setting(ctx, LanguageSetting)
	if err != nil {
		lang = ""
	}
	if lang != "" {
		ctx = view.Speak(ctx, view.Negotiate(lang, ""))
	}
	html := draw(ctx, view.SideList(side))
	count := ""
	if side.Asking > 0 {
		count = strconv.Itoa(side.Asking)
	}
	hints := draw(ctx, view.AskHints(side.Open))
	l.mu.Lock()
	defer l.mu.Unlock()
	if html == l.html && sick == l.sick && hints == l.hints && lang == l.lang && l.frame != nil {
		return
	}
	l.html, l.sick, l.hints, l.lang = html, sick, hints, lang
	l.n++
	l.frame = (&frame{Lang: lang, Ops: []op{
		{"i", "chats", html},
		{"i", "asking", count},
		{"i", "asking-tab", count},
		{"i", "asks", hints},
		{"i", "sick", draw(ctx, view.Sick(sick))},
		{"i", "held", draw(ctx, view.Held(sick != ""))},
	}}).encode()
	close(l.wake)
	l.wake = make(chan struct{})
}
