package frontend

import (
	"bufio"
	"bytes"
	"context"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gabriel-vasile/mimetype"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// artifactFile serves a part of an artifact from our own origin. An address that an agent gave leads to a page that
// says where it goes.
func (s *Site) artifactFile(w http.ResponseWriter, r *http.Request) error {
	a, err := s.store.Artifact(r.Context(), r.PathValue("id"), r.PathValue("artifact"))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.PathValue("part"))
	if err != nil || n < 0 || n >= len(a.Parts) {
		return orchestrator.ErrNotFound
	}
	p := a.Parts[n]
	if p.Kind == a2a.PartURL {
		agent := ""
		if run, err := s.store.Run(r.Context(), r.PathValue("id")); err == nil {
			agent = run.To
		}
		return s.leave(w, r, agent, p.URL)
	}
	name := nameOf(a, &p, "content")
	if p.Kind == a2a.PartText {
		for i := n + 1; i < len(a.Parts) && joins(&p, &a.Parts[i]); i++ {
			p.Text += a.Parts[i].Text
		}
	}
	return serve(w, r, name, &p)
}

// saidFile serves a file the person sent.
func (s *Site) saidFile(w http.ResponseWriter, r *http.Request) error {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 0 {
		return orchestrator.ErrNotFound
	}
	files, err := s.saidFiles(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if n >= len(files) {
		return orchestrator.ErrNotFound
	}
	return serve(w, r, nameOf(&a2a.Artifact{}, &files[n], "file"), &files[n])
}

// saidFiles returns what the person sent with the message that a run began with, but for text.
func (s *Site) saidFiles(ctx context.Context, run string) ([]a2a.Part, error) {
	for es, err := range s.store.ReadRun(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		for _, e := range es {
			if !e.Kind.A2A() {
				continue
			}
			ev, err := e.Event()
			if err != nil {
				return nil, err
			}
			if m := said(ev); m != nil {
				return slices.DeleteFunc(slices.Clone(m.Parts), func(p a2a.Part) bool { return p.Kind == a2a.PartText }), nil
			}
		}
	}
	return nil, orchestrator.ErrNotFound
}

// said returns the message of the person that an event holds, or nil.
func said(ev a2a.Event) *a2a.Message {
	switch ev := ev.(type) {
	case *a2a.Message:
		if ev.Role == a2a.RoleUser {
			return ev
		}
	case *a2a.Task:
		for i := range ev.History {
			if ev.History[i].Role == a2a.RoleUser {
				return &ev.History[i]
			}
		}
	}
	return nil
}

// serve sends content with the type it has, not the one it claims. Whatever a browser could run is saved, not opened;
// what is opened runs nothing.
func serve(w http.ResponseWriter, r *http.Request, name string, p *a2a.Part) error {
	var b []byte
	switch p.Kind {
	case a2a.PartRaw:
		b = p.Raw
	case a2a.PartText:
		b = []byte(p.Text)
	case a2a.PartData:
		b = p.Data
	default:
		return orchestrator.ErrNotFound
	}
	t := mediaType(mimetype.Detect(b).String())
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, max-age=3600")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	how := "attachment"
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	switch {
	case r.URL.Query().Has("download"):
	case r.URL.Query().Has("show") && shows[t]:
		// For the frame of our page alone. It has no origin, runs nothing, and fetches nothing but what is in it.
		how = "inline"
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox; frame-ancestors 'self'")
		h.Del("X-Frame-Options")
		t += "; charset=utf-8"
	case pictures[t], strings.HasPrefix(t, "audio/"), strings.HasPrefix(t, "video/"):
		how = "inline"
	case t == "application/pdf":
		// A sandbox would keep the browser's own viewer out. Nothing but the frame of our page may show it.
		how = "inline"
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; plugin-types application/pdf; frame-ancestors 'self'")
		h.Del("X-Frame-Options")
	case strings.HasPrefix(t, "text/"), strings.Contains(t, "html"), strings.Contains(t, "xml"), strings.Contains(t, "script"):
		t = "text/plain; charset=utf-8"
	}
	if path.Ext(name) == "" {
		if ext := mimetype.Detect(b).Extension(); ext != "" {
			name += ext
		}
	}
	h.Set("Content-Type", t)
	h.Set("Content-Disposition", disposition(how, name))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	return nil
}

// shows are the documents that may be looked at in a sandbox.
var shows = map[string]bool{"text/html": true, "application/xhtml+xml": true, "image/svg+xml": true}

// disposition is the header that says what is to be done with a file, under a name that is clean.
func disposition(how, name string) string {
	if d := mime.FormatMediaType(how, map[string]string{"filename": CleanName(name)}); d != "" {
		return d
	}
	return how
}

// leave shows where an address goes before anybody goes there. A window of our own opens it in the browser.
func (s *Site) leave(w http.ResponseWriter, r *http.Request, agent, address string) error {
	host, ok := safe(address)
	if !ok || host == "" {
		return &fail{http.StatusUnprocessableEntity, &orchestrator.Fault{
			Kind: "unsafe-link", Where: orchestrator.WhereAgent, What: view.T(r.Context(), "The agent gave an address that cannot be opened safely: %s", address),
			Do: "Ask whoever runs the agent for a web address.",
		}}
	}
	u, _ := url.Parse(address)
	p := s.page(r, view.T(r.Context(), "Leaving Parley"), view.Side{})
	loopback := u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost" || u.Hostname() == "::1"
	return s.write(w, r, http.StatusOK, view.LeavePage(p, s.speaker(r.Context(), agent), address, host, u.Scheme == "http" && !loopback))
}

// newSpill buffers a long answer and sends it piece by piece.
func newSpill(w http.ResponseWriter) *bufio.Writer { return bufio.NewWriterSize(w, 64<<10) }

// abort ends an answer that has begun: the reader must not take half of it for the whole.
func abort(error) error { panic(http.ErrAbortHandler) }
