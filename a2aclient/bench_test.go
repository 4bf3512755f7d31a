package a2aclient_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2aclient"
)

// stream is a body that repeats a frame n times.
func stream(head, frame, tail string, n int) io.Reader {
	const block = 64
	blocks := []byte(strings.Repeat(frame, block))
	rs := []io.Reader{strings.NewReader(head)}
	for i := 0; i < n; i += block {
		rs = append(rs, bytes.NewReader(blocks[:len(frame)*min(block, n-i)]))
	}
	return io.MultiReader(append(rs, strings.NewReader(tail))...)
}

type source func() io.Reader

func (s source) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r, Body: io.NopCloser(s())}, nil
}

// BenchmarkStream is the cost of one chunk of 256 bytes, from the wire to the caller.
func BenchmarkStream(b *testing.B) {
	wrap := func(s string) string { return `data: {"jsonrpc":"2.0","id":"1","result":` + s + "}\n\n" }
	text := strings.Repeat("0123456789abcdef", 16)
	mid := `{"kind":"artifact-update","taskId":"T","contextId":"C","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"` + text + `"}]},"append":true}`
	for _, x := range []struct{ name, version, head, frame, tail string }{
		{"v1.0", "1.0", wrap(task("WORKING")), wrap(chunk("a", text, true)), wrap(status("COMPLETED"))},
		{"v1.0-ids", "1.0", wrap(task("WORKING")), "id: 7\n" + wrap(chunk("a", text, true)), wrap(status("COMPLETED"))},
		{"v0.3", "0.3", wrap(`{"kind":"task","id":"T","contextId":"C","status":{"state":"working"}}`), wrap(mid), wrap(`{"kind":"status-update","taskId":"T","contextId":"C","status":{"state":"completed"},"final":true}`)},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			frame := x.frame
			c, err := a2aclient.New(streaming(), a2a.AgentInterface{URL: "http://agent.example/", Version: x.version}, &a2aclient.Options{
				HTTP: &http.Client{Transport: source(func() io.Reader {
					if strings.HasPrefix(frame, "id: 7") {
						return numbered(x.head, frame[len("id: 7\n"):], x.tail, b.N)
					}
					return stream(x.head, frame, x.tail, b.N)
				})},
			})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(frame)))
			n := 0
			for e, err := range c.Stream(b.Context(), hello()) {
				if err != nil {
					b.Fatal(err)
				}
				if _, ok := e.(*a2a.ArtifactUpdate); ok {
					n++
				}
			}
			if n != b.N {
				b.Fatalf("%d of %d events", n, b.N)
			}
		})
	}
}

// numbered is a stream whose frames have rising ids.
func numbered(head, frame, tail string, n int) io.Reader {
	r, w := io.Pipe()
	go func() {
		buf := []byte(head)
		for i := range n {
			buf = fmt.Appendf(buf, "id: %d\n%s", i+1, frame)
			if len(buf) > 32<<10 || i == n-1 {
				w.Write(buf)
				buf = buf[:0]
			}
		}
		io.WriteString(w, tail)
		w.Close()
	}()
	return r
}

// BenchmarkSend is the client's own cost of one exchange: everything but the network.
func BenchmarkSend(b *testing.B) {
	answer := []byte(`{"jsonrpc":"2.0","id":"1","result":{"message":{"messageId":"r","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}}`)
	c, err := a2aclient.New(streaming(), a2a.AgentInterface{URL: "http://agent.example/", Version: "1.0"}, &a2aclient.Options{
		HTTP: &http.Client{Transport: answered(answer)},
	})
	if err != nil {
		b.Fatal(err)
	}
	r := hello()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Send(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// answered answers every request with the same JSON.
type answered []byte

func (a answered) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	r.Body.Close()
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, ContentLength: int64(len(a)),
		Body: io.NopCloser(bytes.NewReader(a)),
	}, nil
}
