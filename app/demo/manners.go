package demo

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
)

var flakyWords = regexp.MustCompile(`#flaky ([a-z0-9-]+)`)

// misbehave does what a message's "#flaky …" says instead of, or to, what next would answer.
func misbehave(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/html-card") {
			writePage(w, "html-card", http.StatusOK, nil)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "that is too much", http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var how string
		if m := flakyWords.FindSubmatch(body); m != nil && r.Method == http.MethodPost {
			how = string(m[1])
		}
		switch how {
		case "500":
			http.Error(w, "Internal Server Error", http.StatusInternalServerError)
		case "hang":
			<-r.Context().Done()
		case "reset":
			reset(w)
		case "garbage", "no-end", "repeat":
			next.ServeHTTP(&rudeWriter{ResponseWriter: w, how: how}, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// reset ends the connection as a crash would.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}

// rudeWriter spoils what passes through it; each Write of a stream is one or more whole events.
type rudeWriter struct {
	http.ResponseWriter
	how    string
	writes int
}

func (w *rudeWriter) Write(b []byte) (int, error) {
	w.writes++
	switch stream := bytes.HasPrefix(b, []byte("id:")); {
	case w.how == "garbage" && !stream:
		return w.ResponseWriter.Write(b[:len(b)/2])
	case w.how == "garbage" && w.writes == 3:
		w.ResponseWriter.Write([]byte("data: {\"jsonrpc\":\"2.0\",\x00 oops\n\n"))
	case w.how == "no-end" && stream && w.writes > 3:
		return 0, errors.New("no more of this") // the stream ends as if it were whole
	case w.how == "repeat" && stream:
		w.ResponseWriter.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (w *rudeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
