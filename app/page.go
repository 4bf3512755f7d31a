package app

import (
	"errors"
	"fmt"
	"net"
	"net/http"

	"parley/app/guard"
	"parley/app/vault"
	"parley/frontend"
)

// servePage builds the page and what stands in front of it.
func (a *App) servePage(ln net.Listener, scheme string) error {
	sessions, err := guard.OpenSessions(a.data, ln.Addr(), &guard.SessionOptions{Logger: a.log})
	if err != nil {
		return err
	}
	a.sessions = sessions
	a.pageURL = scheme + "://" + ln.Addr().String() + "/"
	a.site = frontend.New(a.store, a.driver, a.registry, &frontend.Options{
		Logger:      a.log,
		Version:     a.cfg.Version,
		Fleeting:    a.vault.Kind() == vault.Memory,
		Demo:        a.cfg.Demo != nil,
		Shell:       a.cfg.Shell,
		Handle:      a.cfg.Pages,
		CheckOrigin: func(r *http.Request) bool { return sessions.CheckWebSocket(r) == nil },
	})
	return nil
}

// link is a fresh one-time link into the page.
func (a *App) link() string {
	token, _ := a.sessions.Token(linkLife)
	return a.pageURL + "#token=" + token
}

// listen serves h on ln, behind the guard.
func (a *App) listen(h http.Handler, ln net.Listener, o *guard.Options) {
	o.Drain, o.Logger = a.drain, a.log
	g := guard.New(ln.Addr(), o)
	server := g.Server(h)
	a.servers = append(a.servers, server)
	go func() {
		if err := server.Serve(g.Listen(ln)); err != nil && !errors.Is(err, http.ErrServerClosed) {
			a.failed <- fmt.Errorf("a listener failed: %w", err)
		}
	}()
}
