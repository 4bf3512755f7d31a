package guard

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestStalledReader: over HTTP/2 a client may ask for much on one connection and take nothing of it. It loses what it does not
// take, whoever it is; a stream that is silent meanwhile is left alone.
func TestStalledReader(t *testing.T) {
	t.Parallel()
	known := httptest.NewTLSServer(http.NotFoundHandler())
	known.Close()
	silent, ended := make(chan struct{}), make(chan struct{})
	const patience = 200 * time.Millisecond
	p := openHandler(t, &Options{TLS: &tls.Config{Certificates: known.TLS.Certificates}, WriteTime: patience}, nil, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/much":
			defer close(ended)
			if _, err := io.Copy(w, io.LimitReader(zeros{}, 1<<20)); err == nil {
				t.Error("all was written")
			}
		case "/flush":
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			<-silent
			_, _ = io.WriteString(w, "y")
		default:
			_, _ = io.WriteString(w, "little")
		}
	})
	conn, err := tls.Dial("tcp", p.addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(conn, conn)
	if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		t.Fatal(err)
	}
	get := func(stream uint32, path string) {
		t.Helper()
		var b bytes.Buffer
		h := hpack.NewEncoder(&b)
		for _, kv := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", p.addr}, {":path", path}} {
			if err := h.WriteField(hpack.HeaderField{Name: kv[0], Value: kv[1]}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: b.Bytes(), EndHeaders: true, EndStream: true}); err != nil {
			t.Fatal(err)
		}
	}
	const little, much, flush = 1, 3, 5
	get(little, "/")
	get(much, "/much")
	get(flush, "/flush")
	if err := f.WriteWindowUpdate(flush, 1); err != nil { // it takes what there is now
		t.Fatal(err)
	}
	reset := map[uint32]bool{}
	for len(reset) < 2 {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatalf("%v are reset, then %v", reset, err)
		}
		switch frame := frame.(type) {
		case *http2.RSTStreamFrame:
			reset[frame.StreamID] = true
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				if err := f.WriteSettingsAck(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if reset[flush] {
		t.Error("a silent stream is reset")
	}
	<-ended
	if err := f.WriteWindowUpdate(flush, 1); err != nil {
		t.Fatal(err)
	}
	close(silent)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := frame.(*http2.DataFrame); ok && d.StreamID == flush && strings.Contains(string(d.Data()), "y") {
			break
		}
	}
}

// zeros is read without an end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }
