package app

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// publisher serves Parley itself as an agent, and knows who may call it.
type publisher struct {
	app *App
	off atomic.Bool // nobody is served
	ask atomic.Bool // new callers wait for the person

	mu      sync.Mutex
	letIn   map[string]bool
	waiting map[string]*arrival // by principal
}

// arrival is a new caller who waits to be let in.
type arrival struct {
	since time.Time
	done  chan struct{} // closed once the person said yes or no
	yes   bool
	n     int // requests that wait
}

// arrivalTime is how long a new caller waits, arrivals how many do at a time.
const (
	arrivalTime = 2 * time.Minute
	arrivals    = 64
)

var _ orchestrator.Publisher = (*publisher)(nil)

func newPublisher(ctx context.Context, a *App) (*publisher, error) {
	p := &publisher{app: a, letIn: map[string]bool{}, waiting: map[string]*arrival{}}
	for name, take := range map[string]func(string){
		orchestrator.SettingPublished: func(v string) { p.off.Store(v == "off") },
		orchestrator.SettingAskFirst:  func(v string) { p.ask.Store(v == "true") },
		orchestrator.SettingLetIn: func(v string) {
			for _, id := range strings.Fields(v) {
				p.letIn[id] = true
			}
		},
	} {
		v, err := a.store.Setting(ctx, name)
		if err != nil {
			return nil, err
		}
		take(v)
	}
	return p, nil
}

func (p *publisher) set(ctx context.Context, name, value string) error {
	return p.app.store.Write(ctx, &orchestrator.Batch{Settings: map[string]string{name: value}})
}

func (p *publisher) Publish(ctx context.Context, on bool) error {
	value := "off"
	if on {
		value = ""
	}
	if err := p.set(ctx, orchestrator.SettingPublished, value); err != nil {
		return err
	}
	p.off.Store(!on)
	return nil
}

func (p *publisher) AskFirst(ctx context.Context, on bool) error {
	value := ""
	if on {
		value = "true"
	}
	if err := p.set(ctx, orchestrator.SettingAskFirst, value); err != nil {
		return err
	}
	p.ask.Store(on)
	if !on { // nobody is to wait any more
		p.mu.Lock()
		defer p.mu.Unlock()
		for id, a := range p.waiting {
			a.yes = true
			close(a.done)
			delete(p.waiting, id)
		}
	}
	return nil
}

func (p *publisher) LetIn(ctx context.Context, caller string, yes bool) error {
	p.mu.Lock()
	a := p.waiting[caller]
	if a == nil {
		p.mu.Unlock()
		return &orchestrator.Fault{Kind: "not-found", Where: orchestrator.WhereUs, What: "This caller does not wait any more.", Do: "It may call again."}
	}
	p.mu.Unlock()
	if !yes {
		if err := p.RevokeToken(ctx, caller); err != nil {
			return err
		}
	} else {
		p.mu.Lock()
		all := []string{caller}
		for id := range p.letIn {
			all = append(all, id)
		}
		p.mu.Unlock()
		slices.Sort(all)
		if err := p.set(ctx, orchestrator.SettingLetIn, strings.Join(slices.Compact(all), " ")); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if yes {
		p.letIn[caller] = true
	}
	if p.waiting[caller] == a {
		a.yes = yes
		close(a.done)
		delete(p.waiting, caller)
	}
	return nil
}

var (
	errNotLetIn = &a2a.Error{Kind: a2a.KindForbidden, Message: "the person here did not let you in"}
	errNobody   = &a2a.Error{Kind: a2a.KindUnavailable, Message: "the person here has not let you in yet: they were asked; send it again later", RetryAfter: time.Minute}
)

// pass returns nil once a caller may begin a task. The first of a new caller waits for the person where that is wanted;
// nothing of it is stored before.
func (p *publisher) pass(ctx context.Context, principal string) error {
	if !p.ask.Load() || principal == envPrincipal || principal == orchestrator.LocalPrincipal {
		return nil
	}
	p.mu.Lock()
	if p.letIn[principal] {
		p.mu.Unlock()
		return nil
	}
	a := p.waiting[principal]
	if a == nil {
		if len(p.waiting) >= arrivals {
			p.mu.Unlock()
			return errNobody
		}
		a = &arrival{since: time.Now(), done: make(chan struct{})}
		p.waiting[principal] = a
	}
	a.n++
	p.mu.Unlock()
	wait := time.NewTimer(arrivalTime)
	defer wait.Stop()
	var err error
	select {
	case <-a.done:
		if !a.yes {
			err = errNotLetIn
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-wait.C: // it stays in the list, so that the person can say yes to the next try
		err = errNobody
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a.n--
	return err
}

func (p *publisher) Tokens(ctx context.Context) ([]*orchestrator.Token, error) {
	all, err := p.app.store.ListTokens(ctx)
	for _, t := range all {
		t.Hash = [32]byte{}
	}
	return all, err
}

func (p *publisher) NewToken(ctx context.Context, t *orchestrator.Token) (orchestrator.Secret, error) {
	made, err := p.app.tokens.create(ctx, tokenInfo(t))
	return orchestrator.Secret(made.Secret), err
}

func (p *publisher) RevokeToken(ctx context.Context, id string) error {
	_, err := p.app.revokeToken(ctx, Named{ID: id})
	return err
}

func (p *publisher) Published(ctx context.Context) (*orchestrator.Published, error) {
	a := p.app
	out := &orchestrator.Published{On: !p.off.Load(), AskFirst: p.ask.Load(), Open: a.cfg.OpenA2A, Fingerprint: a.keys.fingerprint()}
	if a.a2a != nil {
		out.Address, out.Public, out.GRPC = a.a2a.base, a.cfg.PublicURL != "", a.a2a.grpc
		for _, c := range []orchestrator.ServedCard{
			{Version: "v1.0", Path: "/.well-known/agent-card.json", Header: "A2A-Version: 1.0"},
			{Version: "v0.3", Path: "/.well-known/agent-card.json", Header: "A2A-Version: 0.3"},
			{Version: "v0.1", Path: "/.well-known/agent.json"},
		} {
			c.JSON = a.a2a.servedCard(ctx, c.Path, c.Header)
			out.Cards = append(out.Cards, c)
		}
	}
	tokens, err := a.store.ListTokens(ctx)
	if err != nil {
		return nil, err
	}
	callers, err := a.store.Callers(ctx)
	if err != nil {
		return nil, err
	}
	uses := map[string]*orchestrator.CallerUse{}
	for _, id := range callers {
		if id == orchestrator.LocalPrincipal {
			continue
		}
		u := &orchestrator.CallerUse{ID: id, Name: id}
		tasks, err := a.store.ListTasks(ctx, orchestrator.TaskQuery{Principal: id, Limit: 500})
		if err != nil {
			return nil, err
		}
		u.Tasks = len(tasks)
		for i, t := range tasks {
			if i == 0 {
				u.Last = t.Updated
			}
			if !t.State.Terminal() {
				u.Open++
			}
		}
		uses[id] = u
	}
	p.mu.Lock()
	for id, w := range p.waiting {
		if uses[id] == nil {
			uses[id] = &orchestrator.CallerUse{ID: id, Name: id}
		}
		uses[id].Waiting = w.since
	}
	p.mu.Unlock()
	for _, t := range tokens {
		if u := uses[t.ID]; u != nil {
			u.Name, u.Revoked = t.Name, !t.Revoked.IsZero()
		}
	}
	for _, u := range uses {
		out.Callers = append(out.Callers, *u)
	}
	slices.SortFunc(out.Callers, func(x, y orchestrator.CallerUse) int {
		return cmp.Or(y.Waiting.Compare(x.Waiting), y.Last.Compare(x.Last), strings.Compare(x.ID, y.ID))
	})
	return out, nil
}

// servedCard is our own card as a reader gets it who asks at path with a header.
func (p *a2aPlane) servedCard(ctx context.Context, path, header string) []byte {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil
	}
	if name, value, ok := strings.Cut(header, ": "); ok {
		r.Header.Set(name, value)
	}
	var w cardWriter
	p.own.ServeHTTP(&w, r)
	return w.Bytes()
}

// cardWriter keeps the body of an answer.
type cardWriter struct {
	bytes.Buffer
	header http.Header
}

func (w *cardWriter) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *cardWriter) WriteHeader(int) {}
