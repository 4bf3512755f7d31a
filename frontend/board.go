package frontend

import (
	"context"
	"errors"
	"hash/fnv"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"

	"parley/orchestrator"
)

// A page that is a list, or says how one thing stands, is live by a board: what it is drawn from is drawn again whenever
// the store hints at a change, and a window is sent the difference between that and what it says that it shows. Nothing
// is remembered for a window, and one that was away is served as one that was there.

// row is an element of a board. Its HTML carries the id and, as data-v, the version: the hash of what is drawn.
type row struct{ id, v, html string }

// section is an element whose children are rows in an order.
type section struct {
	id   string
	rows []row
}

// html returns the rows one after the other.
func (s section) html() string {
	var b strings.Builder
	for _, r := range s.rows {
		b.WriteString(r.html)
	}
	return b.String()
}

// board is the part of a page that is live.
type board struct {
	fixed    []row     // always there, replaced as they change
	sections []section // whose rows come, go and move
	next     string    // where the page after this one begins; "" = there is none

	// poll returns a number that is another whenever the board may be; nil: the store's hints tell.
	poll   func(context.Context) int64
	polled int64 // what it was for this one
}

// newRow draws a row. The component's outermost element has the id, and data-v with nothing in it.
func newRow(ctx context.Context, id string, c templ.Component) row {
	html := draw(ctx, c)
	h := fnv.New64a()
	_, _ = h.Write([]byte(html))
	v := strconv.FormatUint(h.Sum64(), 36)
	return row{id, v, strings.Replace(html, `data-v=""`, `data-v="`+v+`"`, 1)}
}

// find returns the HTML of a fixed row, or of the rows of a section.
func (b *board) find(id string) string {
	for _, r := range b.fixed {
		if r.id == id {
			return r.html
		}
	}
	for _, s := range b.sections {
		if s.id == id {
			return s.html()
		}
	}
	return ""
}

// onPage is what a window says of its board: of each section, and of the fixed rows under "", ids and versions in order.
type onPage map[string][][2]string

// seen is what a window shows once it was sent b.
func (b *board) seen() onPage {
	of := func(rows []row) [][2]string {
		out := make([][2]string, len(rows))
		for i, r := range rows {
			out[i] = [2]string{r.id, r.v}
		}
		return out
	}
	have := onPage{"": of(b.fixed)}
	for _, s := range b.sections {
		have[s.id] = of(s.rows)
	}
	return have
}

// since returns what turns what a window shows into b.
func (b *board) since(have onPage) []op {
	var ops []op
	for _, r := range b.fixed {
		for _, h := range have[""] {
			if h[0] == r.id && h[1] != r.v {
				ops = append(ops, op{"r", r.id, r.html})
			}
		}
	}
	for _, s := range b.sections {
		if had, ok := have[s.id]; ok {
			ops = append(ops, s.since(had)...)
		}
	}
	return ops
}

func (s section) since(have [][2]string) []op {
	at := make(map[string]int, len(s.rows))
	for i, r := range s.rows {
		at[r.id] = i
	}
	stay := keepOrder(have, at)
	var ops []op
	for _, h := range have {
		if !stay[h[0]] {
			ops = append(ops, op{"x", h[0], ""})
		}
	}
	version := make(map[string]string, len(have))
	for _, h := range have {
		version[h[0]] = h[1]
	}
	next := ""
	for _, r := range slices.Backward(s.rows) {
		switch {
		case stay[r.id] && version[r.id] != r.v:
			ops = append(ops, op{"r", r.id, r.html})
		case stay[r.id]:
		case next == "":
			ops = append(ops, op{"a", s.id, r.html})
		default:
			ops = append(ops, op{"b", next, r.html})
		}
		next = r.id
	}
	return ops
}

// keepOrder returns which rows can stay where they are: the most whose order is that of the board.
func keepOrder(have [][2]string, at map[string]int) map[string]bool {
	type link struct{ n, before int }
	best := make([]link, len(have))
	end := -1
	for i, h := range have {
		p, ok := at[h[0]]
		if !ok {
			continue
		}
		best[i] = link{1, -1}
		for j := range i {
			if q, ok := at[have[j][0]]; ok && q < p && best[j].n+1 > best[i].n {
				best[i] = link{best[j].n + 1, j}
			}
		}
		if end < 0 || best[i].n > best[end].n {
			end = i
		}
	}
	stay := map[string]bool{}
	for ; end >= 0; end = best[end].before {
		stay[have[end][0]] = true
	}
	return stay
}

// drawBoard draws the board of a page: path is what follows the page's own in the address, without a slash.
type drawBoard func(ctx context.Context, path string, q url.Values) (*board, error)

// boards are the boards that windows look at now, by the address of their page.
type boards struct {
	site *Site
	draw map[string]drawBoard // by the page's path
	mu   sync.Mutex
	open map[string]*liveBoard
}

// How often a board is drawn at most, and how often one whose changes nobody hints at.
const (
	boardEvery = 150 * time.Millisecond
	boardLook  = 500 * time.Millisecond
)

func newBoards(s *Site, draw map[string]drawBoard) *boards {
	return &boards{site: s, draw: draw, open: map[string]*liveBoard{}}
}

// run hands the hints of the store on.
func (b *boards) run() {
	for range b.site.store.Changes(b.site.ctx) {
		b.touch()
	}
}

// touch has every board that somebody looks at drawn again.
func (b *boards) touch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.open {
		l.mark()
	}
}

// liveBoard is one board while windows look at it.
type liveBoard struct {
	site   *Site
	key    string
	of     func() (*board, error)
	users  int
	poke   chan struct{}
	cancel context.CancelFunc

	mu   sync.Mutex
	n    int64
	now  *board
	wake chan struct{}
}

func (l *liveBoard) mark() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// get opens the board of a page, "/tasks?state=open"; nil when it has none.
func (b *boards) get(address string) *liveBoard {
	u, err := url.Parse(address)
	if err != nil || u.Host != "" {
		return nil
	}
	page, path, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	draw := b.draw["/"+page]
	if draw == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.open[address]
	if l == nil {
		if !b.site.enter() {
			return nil
		}
		ctx, cancel := context.WithCancel(b.site.ctx)
		l = &liveBoard{
			site: b.site, key: address, poke: make(chan struct{}, 1), wake: make(chan struct{}), cancel: cancel,
			of: func() (*board, error) { return draw(b.site.spoken(ctx), path, u.Query()) },
		}
		b.open[address] = l
		go func() {
			defer b.site.wg.Done()
			l.run(ctx)
		}()
	}
	l.users++
	return l
}

func (b *boards) put(l *liveBoard) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.users--; l.users == 0 {
		l.cancel()
		delete(b.open, l.key)
	}
}

// run draws the board until nobody looks any more.
func (l *liveBoard) run(ctx context.Context) {
	look := time.NewTicker(boardLook)
	defer look.Stop()
	for {
		began := time.Now()
		b, err := l.of()
		pause := max(boardEvery, 4*time.Since(began)) // what takes long to draw is drawn less often
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			l.mu.Lock()
			l.n++
			l.now = b
			close(l.wake)
			l.wake = make(chan struct{})
			l.mu.Unlock()
		case !errors.Is(err, orchestrator.ErrNotFound):
			l.site.log.WarnContext(ctx, "a page could not be drawn again", "page", l.key, "error", err)
		}
		if !l.wait(ctx, pause, look.C, b) {
			return
		}
	}
}

// wait returns when b may be out of date; false means that nobody looks any more.
func (l *liveBoard) wait(ctx context.Context, pause time.Duration, look <-chan time.Time, b *board) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-l.poke:
			return true
		case <-look:
			if b == nil || b.poll != nil && b.poll(ctx) != b.polled {
				return true
			}
		}
	}
}

// since returns the board when it was drawn after n, and what to wait on.
func (l *liveBoard) since(n int64) (*board, int64, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n > n {
		return l.now, l.n, nil
	}
	return nil, n, l.wake
}
