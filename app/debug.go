package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"parley/app/guard"
)

// serveDebug serves profiles of this process at addr, which must be a loopback address, until ctx is done.
func serveDebug(ctx context.Context, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || !loopback(host) {
		return fmt.Errorf("--debug %s is no loopback address", addr)
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("profiles cannot be served: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	g := guard.New(ln.Addr(), &guard.Options{Drain: guard.NewDrain()})
	server := g.Server(mux)
	go func() { _ = server.Serve(g.Listen(ln)) }()
	context.AfterFunc(ctx, func() {
		last, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		_ = server.Shutdown(last)
	})
	return nil
}
