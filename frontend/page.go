package frontend

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// LanguageSetting is the setting that holds the code of the language to speak; "" is what the browser or the system says.
const LanguageSetting = "ui.language"

// themeSetting is the setting that holds the theme: "light", "dark", or "" for what the system says.
const themeSetting = "ui.theme"

const (
	sideChats = 80 // chats in the side bar
	pageItems = 30 // items of a page of the transcript: with more Chromium begins to lay out a page of long ones before it has it whole
)

// fail is a failure with the status it is answered with.
type fail struct {
	status int
	fault  *orchestrator.Fault
}

func (f *fail) Error() string { return f.fault.What }

var errNoPage = &fail{http.StatusNotFound, &orchestrator.Fault{
	Kind: "no-page", Where: orchestrator.WhereUs, What: "There is nothing at this address.", Do: "Go back to the chats.",
}}

func badRequest(what string) error {
	return &fail{http.StatusBadRequest, &orchestrator.Fault{Kind: "bad-request", Where: orchestrator.WhereUs, What: what, Do: "Change it and send it again."}}
}

// faultOf tells any error to a person, with the status that goes with it.
func faultOf(ctx context.Context, err error) (int, *orchestrator.Fault) {
	var f *fail
	if errors.As(err, &f) {
		return f.status, f.fault
	}
	var fault *orchestrator.Fault
	if errors.As(err, &fault) {
		switch fault.Kind {
		case "ask-closed":
			return http.StatusConflict, fault
		case "not-found":
			return http.StatusNotFound, fault
		}
		return http.StatusUnprocessableEntity, fault
	}
	if errors.Is(err, orchestrator.ErrNotFound) {
		return http.StatusNotFound, &orchestrator.Fault{
			Kind: "not-found", Where: orchestrator.WhereUs, What: "This is not here any more.", Do: "It may have been deleted. Go back to the chats.",
		}
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge, &orchestrator.Fault{
			Kind: "too-large", Where: orchestrator.WhereUs, What: "This is more than one message may carry.",
			Do: view.T(ctx, "Send fewer or smaller files: %s in all.", view.Bytes(maxFiles)),
		}
	}
	var e *a2a.Error
	if errors.As(err, &e) {
		f := &orchestrator.Fault{Kind: strings.ToLower(string(e.Kind)), Where: orchestrator.WhereUs, What: sentence(e.Message)}
		switch e.Kind {
		case a2a.KindUnavailable:
			f.Do, f.Retry = "Make room or end whatever else uses the data folder, then try again. What is stored can still be read.", true
			return http.StatusServiceUnavailable, f
		case a2a.KindRateLimited:
			f.Do, f.Retry = "Wait a moment, then try again.", true
			return http.StatusTooManyRequests, f
		case a2a.KindTaskNotFound:
			return http.StatusNotFound, f
		case a2a.KindTooLarge:
			return http.StatusRequestEntityTooLarge, f
		case a2a.KindInternal:
			return http.StatusInternalServerError, f
		}
		return http.StatusUnprocessableEntity, f
	}
	return http.StatusInternalServerError, &orchestrator.Fault{
		Kind: "internal", Where: orchestrator.WhereUs, What: "Something went wrong inside Parley.", Retry: true,
		Do: "Try again. The log on standard error says what happened.",
	}
}

func sentence(s string) string {
	if s == "" {
		return "This cannot be done now."
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// handle answers a request with h. A failure becomes a page, or for a form sent by script a fragment of one.
func (s *Site) handle(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := s.speak(r)
		r = r.WithContext(ctx)
		err := h(w, r)
		if err == nil || ctx.Err() != nil {
			return
		}
		status, fault := faultOf(ctx, err)
		if status == http.StatusServiceUnavailable {
			s.lobby.mark() // every window should know
		}
		if status >= 500 {
			s.log.ErrorContext(ctx, "page failed", "method", r.Method, "path", r.URL.Path, "error", err)
		}
		if scripted(r) {
			_ = s.write(w, r, status, view.FaultCard(view.FaultOf(ctx, fault, "")))
			return
		}
		title := view.T(ctx, "Not here")
		if status != http.StatusNotFound {
			title = view.T(ctx, "This did not work")
		}
		p := s.page(r, title, view.Side{})
		_ = s.write(w, r, status, view.ErrorPage(p, view.FaultOf(ctx, fault, "")))
	})
}

// speak returns the context of a request with the language that it is answered in. Whatever is drawn for all windows at
// once is in that language from then on: one person uses the program.
func (s *Site) speak(r *http.Request) context.Context {
	ctx := r.Context()
	set, err := s.store.Setting(ctx, LanguageSetting)
	if err != nil {
		set = ""
	}
	accept := r.Header.Get("Accept-Language")
	if set == "" && accept == "" {
		return s.spoken(ctx)
	}
	code := view.Negotiate(set, accept)
	if s.tongue.Swap(code) != code {
		s.lobby.mark() // the bar that windows were given is in the other one
	}
	return view.Speak(ctx, code)
}

// spoken returns ctx with the language that a page was last served in.
func (s *Site) spoken(ctx context.Context) context.Context {
	if code, ok := s.tongue.Load().(string); ok {
		return view.Speak(ctx, code)
	}
	return ctx
}

// scripted reports whether the page's own script sent the request and takes a fragment for an answer.
func scripted(r *http.Request) bool { return r.Header.Get("Parley-Live") != "" }

// done answers a form: the script goes on where it is, a browser without one goes to next.
func done(w http.ResponseWriter, r *http.Request, next string) error {
	if scripted(r) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// moved answers a form that leads to another page.
func moved(w http.ResponseWriter, r *http.Request, next string) error {
	if scripted(r) {
		w.Header().Set("Location", next)
		w.WriteHeader(http.StatusCreated)
		return nil
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// write draws a component. Nothing is sent before all of it is drawn, so a failure is never half a page.
func (s *Site) write(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	if err := c.Render(r.Context(), b); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
	return nil
}

// buffers hold a page while it is drawn.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// draw renders a component to a string. What is drawn may be shown to others than who asked, so it is drawn whole even
// when they have gone.
func draw(ctx context.Context, c templ.Component) string {
	var b strings.Builder
	if err := c.Render(context.WithoutCancel(ctx), &b); err != nil {
		panic("frontend: " + err.Error()) // components draw from what they are given, which cannot fail
	}
	return b.String()
}

// page fills in what every page has.
func (s *Site) page(r *http.Request, title string, side view.Side) view.Page {
	ctx := r.Context()
	now := s.now()
	theme, err := s.store.Setting(ctx, themeSetting)
	if err != nil || theme != "light" && theme != "dark" {
		theme = ""
	}
	if full, err := s.side(ctx, now); err == nil {
		full.Section, full.Chat = side.Section, side.Chat
		side = full
	}
	return view.Page{
		Title: title, Theme: theme, Text: s.textSize(ctx), Now: now, Side: side, Native: s.opts.Shell != nil, Sick: s.sick(ctx), Version: s.opts.Version,
		CSS: s.assets.url("app.css"), JS: s.assets.url("app.js"), Fonts: []string{s.assets.url("inter.woff2"), s.assets.url("jetbrains-mono.woff2")},
	}
}

// sick says why nothing new can be stored, or "".
func (s *Site) sick(ctx context.Context) string {
	err := s.store.Healthy()
	if err == nil {
		return ""
	}
	_, fault := faultOf(ctx, err)
	return view.Tv(ctx, fault.What)
}

// side reads the bar of chats and agents.
func (s *Site) side(ctx context.Context, now time.Time) (view.Side, error) {
	side := view.Side{Serves: s.opts.Publisher != nil}
	cs, err := s.store.ListConversations(ctx, "", sideChats+1)
	if err != nil {
		return side, err
	}
	if len(cs) > sideChats {
		cs, side.More = cs[:sideChats], true
	}
	for _, c := range cs {
		if s.bin.has(c.ID) {
			continue
		}
		name := view.T(ctx, "Pinned")
		if !c.Pinned {
			name = view.Ago(ctx, c.Updated, now)
		}
		if n := len(side.Chats); n == 0 || side.Chats[n-1].Name != name {
			side.Chats = append(side.Chats, view.ChatGroup{Name: name})
		}
		g := &side.Chats[len(side.Chats)-1]
		l := view.ChatLink{ID: c.ID, Title: titleOf(ctx, c), State: c.State}
		if c.To != "" && c.To != orchestrator.Auto && c.To != orchestrator.OwnAgent {
			to := s.people.link(ctx, c.To)
			l.Flag = &to.Flag
		}
		g.Chats = append(g.Chats, l)
	}
	if side.Open, err = s.askHints(ctx); err != nil {
		return side, err
	}
	side.Asking = len(side.Open)
	side.Agents, err = s.agents(ctx)
	return side, err
}

func titleOf(ctx context.Context, c *orchestrator.Conversation) string {
	if c.Called() == "" {
		return view.T(ctx, "New chat")
	}
	return c.Called()
}

// agents returns the approved agents by name.
func (s *Site) agents(ctx context.Context) ([]view.AgentLink, error) {
	as, err := s.store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	var links []view.AgentLink
	for i, l := range linksOf(as) {
		if as[i].Trust == orchestrator.TrustApproved {
			links = append(links, l)
		}
	}
	return links, nil
}
