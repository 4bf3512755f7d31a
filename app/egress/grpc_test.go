package egress

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestGRPCGoesTheSameWay calls an agent as gRPC does, in plain text: over HTTP/2, with the agent's grants and credential,
// and with the trailers that tell the outcome.
func TestGRPCGoesTheSameWay(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		io.WriteString(w, r.Proto+" "+r.Header.Get("Authorization"))
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("what nobody granted was reached") })
	e := newEgress(t, &Options{Grants: grants{"a": {s.URL}}.of})
	c := e.Client(Policy{Agent: "a", Credentials: func(context.Context) ([]Bound, error) {
		return []Bound{{Origin: s.URL, Kind: Bearer, Secret: func() string { return "secret" }}}, nil
	}})
	call := func(url, contentType string) (*http.Response, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Te", "trailers")
		resp, err := c.Do(r)
		if err != nil {
			return nil, "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return resp, string(b), err
	}
	resp, said, err := call(s.URL+"/service/method", "application/grpc")
	if err != nil || said != "HTTP/2.0 Bearer secret" || resp.Trailer.Get("Grpc-Status") != "0" {
		t.Errorf("%q, %v, %v", said, resp, err)
	}
	if _, said, err = call(s.URL+"/", "application/json"); err != nil || said != "HTTP/1.1 Bearer secret" {
		t.Errorf("what is no gRPC: %q, %v", said, err)
	}
	if _, _, err = call(other+"/service/method", "application/grpc"); !isRefused(err) {
		t.Errorf("an origin that nobody granted: %v", err)
	}
	e.Forget("a")
	e.Close()
	if _, _, err = call(s.URL+"/service/method", "application/grpc"); !isRefused(err) {
		t.Errorf("after the end: %v", err)
	}
}
