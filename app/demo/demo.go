// Package demo serves a handful of A2A agents to try clients on: real servers built with a2aserver, each in a file of its
// own that is also an example of how to write an agent. An agent is a card and an Executor; everything else (dialects,
// streams, storage, resuming after a restart) is a2aserver's business.
//
// They are reached over HTTP like any other agent, at /{name} of one server. Where an agent needs more than A2A (a sign-in
// page, files to download, bad manners) its file says so in routes or wrap.
package demo

import (
	"context"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/a2a"
	"parley/a2aserver"
)

// agent is one demo agent.
type agent struct {
	name   string // its path and id
	card   a2a.AgentCard
	exec   a2aserver.Executor
	routes func(*http.ServeMux)            // what it serves beside A2A; may be nil
	wrap   func(http.Handler) http.Handler // what stands before A2A; may be nil
}

// Options say how the agents are served. Base is required.
type Options struct {
	Base   string                              // absolute URL under which the Server is reached
	Log    func(agent string) a2aserver.Log    // where an agent keeps its tasks; nil = in memory
	Push   func(agent string) a2aserver.Pusher // who tells webhooks of an agent's tasks; nil = nobody
	Token  string                              // every call needs it as a bearer token, and the cards say so; "" = none
	Logger *slog.Logger                        // nil = discard
}

// Server is the agents behind one http.Handler.
type Server struct {
	mux      *http.ServeMux
	names    []string
	agents   []*a2aserver.Agent
	handlers []*a2aserver.Handler
}

// Handler builds the agents. Resume takes up their tasks, and Close ends them.
func Handler(_ context.Context, o *Options) (*Server, error) {
	base, err := url.Parse(o.Base)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("demo: the base %q is no absolute URL", o.Base)
	}
	root := strings.TrimSuffix(base.String(), "/") + "/"
	s := &Server{mux: http.NewServeMux()}
	list := []*agent{newWriter(), newTravel(root), newFiles(root), newVault(root), newEcho(), newSlow(), newFlaky(), newBench()}
	for _, a := range list {
		s.add(a, root, o)
	}
	s.mux.Handle("GET /static/", http.FileServerFS(static))
	index := map[string]string{}
	var all catalog
	for _, a := range list {
		index[a.name] = a.card.Description
		all.Entries = append(all.Entries, entry{
			Identifier: "urn:air:parley:" + a.name, DisplayName: a.card.Name, Description: a.card.Description,
			Type: "application/a2a-agent-card+json", URL: root + a.name + "/.well-known/agent-card.json",
		})
	}
	all.SpecVersion = "1.0"
	named, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	s.mux.HandleFunc("GET /.well-known/ai-catalog.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/ai-catalog+json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(named)
	})
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { writePage(w, "index", http.StatusOK, index) })
	return s, nil
}

// catalog names the agents to clients that were given the address of them all: an AI Catalog (ai-catalog.io).
type (
	catalog struct {
		SpecVersion string  `json:"specVersion"`
		Entries     []entry `json:"entries"`
	}
	entry struct {
		Identifier  string `json:"identifier"`
		DisplayName string `json:"displayName"`
		Description string `json:"description"`
		Type        string `json:"type"`
		URL         string `json:"url"`
	}
)

// add serves one agent.
func (s *Server) add(a *agent, root string, o *Options) {
	here := root + a.name
	a.card.Version = "1.0.0"
	a.card.Provider = &a2a.AgentProvider{Organization: "Parley", URL: root}
	a.card.Capabilities.Streaming = true
	a.card.Capabilities.PushNotifications = o.Push != nil
	a.card.Interfaces = []a2a.AgentInterface{
		{URL: here, Binding: a2a.BindingJSONRPC, Version: "1.0"},
		{URL: here, Binding: a2a.BindingJSONRPC, Version: "0.3"},
	}
	h := &a2aserver.HandlerOptions{Agent: a.name, Logger: o.Logger}
	if o.Token != "" {
		a.card.SecuritySchemes = map[string]a2a.SecurityScheme{"bearer": {Kind: a2a.SchemeHTTP, Scheme: "Bearer"}}
		a.card.SecurityRequirements = []a2a.SecurityRequirement{{"bearer": nil}}
		h.Authenticate = bearer(o.Token)
		h.Challenge = `Bearer realm="Parley demo agents"`
	}
	if o.Push != nil {
		h.Push = o.Push(a.name)
	}
	log := a2aserver.NewMemoryLog()
	if o.Log != nil {
		log = o.Log(a.name)
	}
	served := a2aserver.NewAgent(a.exec, log, &a2aserver.AgentOptions{Logger: o.Logger})
	handler := a2aserver.NewHandler(served, func(context.Context, *http.Request) *a2a.AgentCard { return &a.card }, h)
	var front http.Handler = handler
	if a.wrap != nil {
		front = a.wrap(front)
	}
	front = http.StripPrefix("/"+a.name, front)
	s.mux.Handle("/"+a.name, front)
	s.mux.Handle("/"+a.name+"/", front)
	if a.routes != nil {
		a.routes(s.mux)
	}
	s.names = append(s.names, a.name)
	s.agents = append(s.agents, served)
	s.handlers = append(s.handlers, handler)
}

// bearer lets in whoever has the token.
func bearer(token string) func(*http.Request) (string, error) {
	want := []byte("Bearer " + token)
	return func(r *http.Request) (string, error) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) == 0 {
			return "", a2a.ErrUnauthenticated
		}
		return "client", nil
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Names returns the names of the agents; each is at its name below Base.
func (s *Server) Names() []string { return s.names }

// Tasks returns the tasks of an agent, nil when there is none of that name.
func (s *Server) Tasks(name string) a2aserver.Tasks {
	i := slices.Index(s.names, name)
	if i < 0 {
		return nil
	}
	return s.agents[i]
}

// Resume goes on with what an earlier process left unfinished. Call it before the first request.
func (s *Server) Resume(ctx context.Context) error {
	for i, a := range s.agents {
		if err := a.Resume(ctx); err != nil {
			return fmt.Errorf("demo agent %s: %w", s.names[i], err)
		}
	}
	return nil
}

// Close ends open streams, gives running turns a moment, and leaves the rest for Resume.
func (s *Server) Close(ctx context.Context) error {
	for _, h := range s.handlers {
		h.Drain()
	}
	errs := make(chan error)
	for _, a := range s.agents {
		go func() { errs <- a.Close(ctx) }()
	}
	var all []error
	for range s.agents {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

//go:embed workflows/*.yaml
var workflows embed.FS

// Workflows returns workflow files for these agents, each by its name.
func (s *Server) Workflows() fs.FS {
	files, err := fs.Sub(workflows, "workflows")
	if err != nil {
		panic("demo: " + err.Error()) // they are embedded
	}
	return files
}

//go:embed static
var static embed.FS

//go:embed *.html
var pageFiles embed.FS

var pages = template.Must(template.ParseFS(pageFiles, "*.html"))

// writePage writes one of the pages for people. They load nothing but our own style sheet.
func writePage(w http.ResponseWriter, name string, status int, data any) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	pages.ExecuteTemplate(w, name+".html", data)
}
