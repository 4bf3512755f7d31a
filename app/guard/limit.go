package guard

import (
	"cmp"
	"io"
	"net/http"
	"time"
)

// limit bounds the header and the body of a request. A size exactly at its limit is accepted. A body that declares more
// is refused at once; one that turns out to be more fails its reader with *http.MaxBytesError.
func limit(next http.Handler, header int, body int64, bodies map[string]int64, bodyTime time.Duration, refuse Refusal) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := cmp.Or(bodies[r.URL.Path], body)
		if headerSize(r) > header {
			w.Header().Set("Connection", "close")
			refuse(w, r, http.StatusRequestHeaderFieldsTooLarge, "The header of this request is too large.")
			return
		}
		if r.ContentLength > body {
			w.Header().Set("Connection", "close")
			refuse(w, r, http.StatusRequestEntityTooLarge, "The body of this request is too large.")
			linger(w, r, body)
			return
		}
		if r.Body != nil && r.Body != http.NoBody {
			// On a copy: by the body of its own request the server knows whether a client still waits to be asked for it.
			r = r.WithContext(r.Context())
			control := http.NewResponseController(w)
			// Not every ResponseWriter has deadlines; a recorder in a test has none.
			if control.SetReadDeadline(time.Now().Add(bodyTime)) == nil {
				r.Body = &timedBody{ReadCloser: r.Body, left: r.ContentLength, clear: func() { _ = control.SetReadDeadline(time.Time{}) }}
			}
			r.Body = http.MaxBytesReader(base(w), r.Body, body)
		}
		next.ServeHTTP(w, r)
	})
}

// linger reads on for a moment after a refusal: many clients send the whole of a body before they read an answer, and a
// connection that is closed while they do looks broken to them.
func linger(w http.ResponseWriter, r *http.Request, most int64) {
	const moment = 500 * time.Millisecond
	control := http.NewResponseController(w)
	if control.Flush() == nil && control.SetReadDeadline(time.Now().Add(moment)) == nil {
		_, _ = io.CopyN(io.Discard, r.Body, most) // whatever becomes of it, the answer is out
	}
}

// headerSize is the size of a header as it came: the request line and one line for each value.
func headerSize(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len(r.Proto) + len("  \r\n")
	if r.Host != "" {
		n += len("Host: \r\n") + len(r.Host)
	}
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

// timedBody takes the read deadline off again once the body is there: the connection is watched by a read while the
// response streams, and a deadline would end that.
type timedBody struct {
	io.ReadCloser
	left  int64 // bytes to come; negative when not declared
	clear func()
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		if b.left -= int64(n); b.left == 0 {
			b.once()
		}
	}
	if err == io.EOF {
		b.once()
	}
	return n, err
}

func (b *timedBody) Close() error {
	b.once()
	return b.ReadCloser.Close()
}

func (b *timedBody) once() {
	if b.clear != nil {
		b.clear()
		b.clear = nil
	}
}

// base is the server's own ResponseWriter, which MaxBytesReader asks to close the connection.
func base(w http.ResponseWriter) http.ResponseWriter {
	for {
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = u.Unwrap()
	}
}
