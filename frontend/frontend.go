// Package frontend is the page: server-rendered HTML, one WebSocket a window that keeps it live, and plain forms. The same
// handler serves the browser and the window.
//
// Promises:
//   - what a window shows was committed before: it is drawn from items and events of the store, never from memory alone;
//   - every window of a conversation shows the same thing, whatever it missed; a slow one is behind, and delays nobody;
//   - nothing an agent wrote reaches the page but escaped, or as sanitised HTML; nothing is fetched from elsewhere
//     without a click;
//   - a form works without script; what was typed is not lost when the server says no;
//   - a link works without script; with it, one from a chat to another keeps the page and fetches what differs.
//
// Host checks, the session and the security headers are whoever mounts it: see Options.CheckOrigin.
package frontend

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"parley/frontend/view"
	"parley/orchestrator"
)

// Options of New; nil is fine.
type Options struct {
	Logger      *slog.Logger             // nil = discard
	Shell       Shell                    // nil in a browser
	Version     string                   // shown in the settings
	CheckOrigin func(*http.Request) bool // for the WebSocket; nil = same host
	Valid       func(*http.Request) bool // whether what opened a WebSocket is still let in: asked again and again; nil = always
	SignOut     string                   // where a browser posts to end its session; "" = it has none
	Fleeting    bool                     // credentials are kept in memory only: the forms for them say so
	Demo        Demo                     // nil: no demo agents are at hand
	Planner     orchestrator.Planner     // nil: no run has a plan
	Library     orchestrator.Library     // nil: no workflows are kept
	Inspector   orchestrator.Inspector   // nil: what it does is not offered
	Now         func() time.Time         // nil = time.Now
	Publisher   orchestrator.Publisher   // nil: the page of our own agent is not there
	Upkeep      orchestrator.Upkeep      // nil: its part of the settings is not shown
	Models      orchestrator.Models      // likewise
	Linger      time.Duration            // how long a conversation stays followed without a window; 0 = 30 s
	Handle      map[string]http.Handler  // further patterns, such as the storybook's while developing
}

// Site is the page with all that is live in it.
type Site struct {
	store    orchestrator.Store
	ledger   orchestrator.Ledger  // the store, where it is one
	wire     orchestrator.WireLog // the store, where it is one
	runner   orchestrator.Runner
	registry orchestrator.Registry

	log     *slog.Logger
	opts    Options
	now     func() time.Time
	md      *markdown
	assets  *assets
	people  *directory
	pages   *cache[string] // finished articles by item
	found   *previews      // cards that were previewed and not yet approved
	secrets secrets        // tokens that were made and not yet shown

	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	ending  sync.Mutex // held while wg grows, and while Close begins
	wg      sync.WaitGroup
	lobby   *lobby
	queue   *queue
	bin     *bin
	rooms   *rooms
	boards  *boards
	titles  *cache[string] // of tasks, by run
	steps   *cache[string] // what stepOf knows, by run
	ends    *cache[string] // the kinds of what runs failed by, by run
	watched watches
	opened  atomic.Int64  // sockets
	ping    time.Duration // between the pings of a socket
	looked  atomic.Bool   // somebody looks at the window of our own
	tongue  atomic.Value  // the code of the language that a page was last served in, a string
	mux     http.Handler
}

// New returns the site over a store, a driver and a registry. Close ends it.
func New(store orchestrator.Store, runner orchestrator.Runner, registry orchestrator.Registry, opts *Options) *Site {
	s := &Site{store: store, runner: runner, registry: registry}
	s.ledger, _ = store.(orchestrator.Ledger)
	s.wire, _ = store.(orchestrator.WireLog)
	if opts != nil {
		s.opts = *opts
	}
	s.log = s.opts.Logger
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.now = s.opts.Now
	if s.now == nil {
		s.now = time.Now
	}
	s.ping = pingEvery
	if s.opts.Linger == 0 {
		s.opts.Linger = 30 * time.Second
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.md = newMarkdown(func() context.Context { return s.spoken(s.ctx) })
	s.assets = newAssets()
	s.people = &directory{store: store}
	s.pages = newCache[string](cachedHTML)
	s.titles, s.steps, s.ends = newCache[string](cachedTitles), newCache[string](cachedTitles), newCache[string](cachedTitles)
	s.found = &previews{now: s.now}
	s.rooms = &rooms{site: s, open: map[string]*room{}}
	s.bin = &bin{site: s, undo: undoFor}
	s.lobby = newLobby(s)
	s.queue = newQueue(s)
	s.boards = newBoards(s, map[string]drawBoard{"/inbox": s.inboxBoard, "/tasks": s.tasksBoard, "/wire": s.wireBoard, "/runs": s.runBoard, "/workflows": s.workflowsBoard})
	s.mux = s.routes()
	s.wg.Go(s.lobby.run)
	s.wg.Go(s.boards.run)
	s.wg.Go(s.notify)
	return s
}

// Handler serves the pages, the files and the socket.
func (s *Site) Handler() http.Handler { return s.mux }

// Close ends every socket, telling it why, and waits for what is going on. It may be called twice.
func (s *Site) Close(reason string) {
	s.bin.empty()
	s.ending.Lock()
	s.cancel(closing(reason))
	s.ending.Unlock()
	s.wg.Wait()
}

// enter counts one more thing that Close waits for; false means that the site is closing.
func (s *Site) enter() bool {
	s.ending.Lock()
	defer s.ending.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.wg.Add(1)
	return true
}

type closing string

func (c closing) Error() string { return string(c) }

// directory knows the agents by id: their names and flags, also of those that were removed.
type directory struct {
	store orchestrator.Store
	mu    sync.Mutex
	known map[string]view.AgentLink // nil = to be read
}

// link returns how an agent is shown. One that nobody knows any more keeps its id for a name, and has no page.
func (d *directory) link(ctx context.Context, id string) view.AgentLink {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		as, err := d.store.ListAgents(ctx)
		if err != nil {
			return stranger(id)
		}
		d.known = map[string]view.AgentLink{}
		for _, l := range linksOf(as) {
			d.known[l.ID] = l
		}
	}
	if l, ok := d.known[id]; ok {
		return l
	}
	a, err := d.store.Agent(ctx, id)
	if err != nil {
		return stranger(id)
	}
	d.known[id] = agentLink(a)
	return d.known[id]
}

func stranger(id string) view.AgentLink {
	return view.AgentLink{Name: id, Called: id, Flag: view.FlagOf(id, hueOf(id))}
}

func (d *directory) forget() {
	d.mu.Lock()
	d.known = nil
	d.mu.Unlock()
}

func agentLink(a *orchestrator.Agent) view.AgentLink {
	name := cmp.Or(a.Name, a.ID)
	return view.AgentLink{ID: a.ID, Name: name, Called: name, Flag: view.FlagOf(name, a.Hue)}
}

// linksOf shows agents beside each other: where another that can be written to is called the same, the id stands beside the
// name.
func linksOf(as []*orchestrator.Agent) []view.AgentLink {
	called := map[string]int{}
	for _, a := range as {
		if a.Trust == orchestrator.TrustApproved {
			called[a.Name]++
		}
	}
	links := make([]view.AgentLink, len(as))
	for i, a := range as {
		links[i] = agentLink(a)
		others := called[a.Name]
		if a.Trust == orchestrator.TrustApproved {
			others--
		}
		if others > 0 && links[i].Name != a.ID {
			links[i].Name += " (" + a.ID + ")"
		}
	}
	return links
}

// hueOf is a stable hue for an agent without one.
func hueOf(id string) int {
	h := uint32(2166136261)
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return int(h % 12)
}

// speaker returns who says what an agent says; "" is Parley itself.
func (s *Site) speaker(ctx context.Context, agent string) view.Speaker {
	if agent == "" || agent == orchestrator.Auto || agent == orchestrator.OwnAgent {
		return view.Speaker{Name: "Parley", Parley: true}
	}
	l := s.people.link(ctx, agent)
	v := view.Speaker{Name: l.Name, Flag: l.Flag}
	if l.ID != "" {
		v.Href = "/agents/" + url.PathEscape(l.ID)
	}
	return v
}
