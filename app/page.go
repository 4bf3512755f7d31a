package app

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"parley/app/guard"
	"parley/app/vault"
	"parley/frontend"
)

// servePage builds the page and what stands in front of it.
func (a *App) servePage(ln net.Listener, scheme string) error {
	sessions, err := guard.OpenSessions(a.data, ln.Addr(), &guard.SessionOptions{Login: a.login, URL: a.cfg.PageURL, Logger: a.log})
	if err != nil {
		return err
	}
	a.sessions = sessions
	a.pageURL = scheme + "://" + ln.Addr().String() + "/"
	if a.cfg.PageURL != "" {
		a.pageURL = strings.TrimSuffix(a.cfg.PageURL, "/") + "/"
	}
	o := &frontend.Options{
		Logger:      a.log,
		Version:     a.cfg.Version,
		Fleeting:    a.vault.Kind() == vault.Memory,
		Shell:       carefully(a.cfg.Shell),
		Handle:      a.cfg.Pages,
		Inspector:   inspector{a},
		Publisher:   a.publisher,
		Planner:     a.driver,
		Library:     a.library,
		Upkeep:      upkeep{a},
		Models:      a.model,
		CheckOrigin: func(r *http.Request) bool { return sessions.CheckWebSocket(r) == nil },
		Valid:       sessions.Valid,
	}
	if a.cfg.Shell == nil { // a window would stand there with no way back
		o.SignOut = guard.EndSession
	}
	if a.samples != nil {
		o.Demo = a.samples
	}
	a.site = frontend.New(a.store, a.runner, a.registry, o)
	return nil
}

// link is a fresh one-time link to a page.
func (a *App) link(path string) string {
	token, _ := a.sessions.Token(linkLife)
	return a.pageURL + strings.TrimPrefix(path, "/") + "#token=" + token
}

// listen serves h on ln, behind the guard.
func (a *App) listen(h http.Handler, ln net.Listener, o *guard.Options) {
	o.Drain, o.Logger = a.drain, a.log
	g := guard.New(ln.Addr(), o)
	server := g.Server(h)
	server.Addr = ln.Addr().String() // Serve does not read it: it says where this listens, also when a proxy's name is shown
	a.servers = append(a.servers, server)
	go func() {
		if err := server.Serve(g.Listen(ln)); err != nil && !errors.Is(err, http.ErrServerClosed) {
			a.failed <- fmt.Errorf("a listener failed: %w", err)
		}
	}()
}

// SetLogin keeps the passphrase that lets browsers on other machines in; "" forgets it. A running program goes by it at
// once.
func SetLogin(dir, passphrase string) error {
	l, err := guard.OpenLogin(dir, "")
	if err != nil {
		return err
	}
	if passphrase == "" {
		return l.Remove()
	}
	return l.Set(passphrase)
}

// carefully has a window open only addresses that are written anew from their parts: what opens them may be a shell script,
// and they come from agents.
func carefully(s Shell) Shell {
	if s == nil {
		return nil
	}
	return careful{s}
}

type careful struct{ Shell }

func (c careful) OpenURL(address string) error {
	clean, err := guard.SafeURL(address)
	if err != nil {
		return err
	}
	return c.Shell.OpenURL(clean)
}
