package guard

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Log writes one line about every request, with a number of its own, and turns a panic into a plain 500 that names that
// number. The line has no query, no header and no body, and of a path that begins with one of the secret prefixes only
// that. What went well is logged at debug, a refusal at info, a failure of ours at warn.
func Log(log *slog.Logger, secret []string) Middleware {
	var seed [4]byte
	_, _ = rand.Read(seed[:]) // never fails
	start := hex.EncodeToString(seed[:]) + "-"
	var count atomic.Uint64
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w, ctx, began, n := &statusWriter{ResponseWriter: rw}, r.Context(), time.Now(), count.Add(1)
			id := func() string { return start + strconv.FormatUint(n, 36) }
			defer func() {
				if v := recover(); v != nil {
					if v == http.ErrAbortHandler {
						panic(v)
					}
					log.ErrorContext(ctx, "handler panicked", "request", id(), "method", r.Method, "path", loggable(r.URL.Path, secret), "panic", fmt.Sprint(v))
					if w.status != 0 {
						panic(http.ErrAbortHandler) // too late for another answer: break off so that it is not taken for whole
					}
					refuse(w, r, http.StatusInternalServerError, "Something went wrong here. It was written to the log as "+id()+".")
				}
				level := slog.LevelDebug
				switch {
				case w.status >= 500 && w.status != http.StatusServiceUnavailable:
					level = slog.LevelWarn
				case w.status == 401, w.status == 403, w.status == 421, w.status == 429:
					level = slog.LevelInfo
				}
				if log.Enabled(ctx, level) {
					log.LogAttrs(ctx, level, "request", slog.String("request", id()), slog.String("method", r.Method), slog.String("path", loggable(r.URL.Path, secret)),
						slog.Int("status", w.status), slog.Int64("bytes", w.bytes), slog.Duration("took", time.Since(began)), slog.String("from", source(r)))
				}
			}()
			next.ServeHTTP(w, r)
		})
	}
}

// loggable is as much of a path as may be written down.
func loggable(path string, secret []string) string {
	for _, prefix := range secret {
		if strings.HasPrefix(path, prefix) {
			return prefix + "…"
		}
	}
	return path
}

// source is where a request comes from: an IPv4 address, or the network of an IPv6 one, of which one host has many.
func source(r *http.Request) string { return sourceOf(r.RemoteAddr) }

func sourceOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil && !ip.IsLoopback() {
		return ip.Mask(net.CIDRMask(64, 128)).String() + "/64"
	}
	return host
}

// statusWriter remembers what was answered. It passes everything else through.
type statusWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 || status == http.StatusSwitchingProtocols {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	set(&w.status, http.StatusOK)
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// ReadFrom keeps the server's way of sending a file without copying it.
func (w *statusWriter) ReadFrom(r io.Reader) (int64, error) {
	set(&w.status, http.StatusOK)
	n, err := io.Copy(w.ResponseWriter, r)
	w.bytes += n
	return n, err
}

// Flush is for handlers that ask for an http.Flusher; http.ResponseController finds the server's own through Unwrap.
func (w *statusWriter) Flush() {
	set(&w.status, http.StatusOK)
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}
