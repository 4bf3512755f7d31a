package guard

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
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
	const patience = 2 * time.Second
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
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(conn, conn)
	if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1}); err != nil {
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
	const flush, little, much = 1, 3, 5
	reset := map[uint32]bool{}
	until := func(what string, ok func(http2.Frame) bool) {
		t.Helper()
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				t.Fatalf("%s: %v are reset, then %v", what, reset, err)
			}
			switch frame := frame.(type) {
			case *http2.RSTStreamFrame:
				if reset[frame.StreamID] = true; frame.StreamID == flush {
					t.Fatalf("%s: a silent stream is reset", what)
				}
			case *http2.SettingsFrame:
				if !frame.IsAck() {
					if err := f.WriteSettingsAck(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if ok(frame) {
				return
			}
		}
	}
	came := func(data string) func(http2.Frame) bool {
		return func(frame http2.Frame) bool {
			d, ok := frame.(*http2.DataFrame)
			return ok && d.StreamID == flush && string(d.Data()) == data
		}
	}
	// There is room for the one byte. What is asked for after it came runs out of patience after this would.
	get(flush, "/flush")
	until("the first byte", came("x"))
	get(little, "/")
	get(much, "/much")
	until("what is not taken", func(http2.Frame) bool { return reset[little] && reset[much] })
	<-ended
	if err := f.WriteWindowUpdate(flush, 1); err != nil {
		t.Fatal(err)
	}
	if err := f.WritePing(false, [8]byte{1}); err != nil {
		t.Fatal(err)
	}
	until("there is room again", func(frame http2.Frame) bool {
		p, ok := frame.(*http2.PingFrame)
		return ok && p.IsAck()
	})
	close(silent)
	until("the second byte", came("y"))
}

// zeros is read without an end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }
