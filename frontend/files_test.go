package frontend

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"parley/a2a"
)

func TestFileLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for n, status := range map[int64]int{maxFile - 1: 303, maxFile: 303, maxFile + 1: 413} {
		if r := w.form("/say", map[string]string{"text": "keep me"}, int(n)); r.StatusCode != status {
			t.Errorf("a file of %d bytes: %d", n, r.StatusCode)
		} else if status == 413 && textOf(byID(r.doc, "say")) != "keep me" {
			t.Error("what was typed is lost")
		}
	}
	rest := int(maxFiles - maxFile)
	for n, status := range map[int]int{rest - 1: 303, rest: 303, rest + 1: 413} {
		if r := w.form("/say", map[string]string{"text": "x"}, int(maxFile), n); r.StatusCode != status {
			t.Errorf("files of %d bytes in all: %d", int(maxFile)+n, r.StatusCode)
		}
	}
	if r := w.form("/say", map[string]string{"text": "x"}, int(maxFiles), int(maxFiles)); r.StatusCode != 413 {
		t.Errorf("a body far too large: %d", r.StatusCode)
	}
}

func TestFilesAreServedAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	w.begin("c1", "r1", "go")
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"
	w.tell("c1", "r1", &a2a.ArtifactUpdate{TaskID: "r1", Artifact: a2a.Artifact{ID: "a", Name: "things", Parts: []a2a.Part{
		{Kind: a2a.PartRaw, Raw: []byte(png), MediaType: "text/html", Filename: "x.html"},
		{Kind: a2a.PartRaw, Raw: []byte("<html><script>alert(1)</script>"), MediaType: "image/png", Filename: "y.png"},
		{Kind: a2a.PartRaw, Raw: []byte("%PDF-1.7\n"), Filename: "z.pdf"},
		{Kind: a2a.PartText, Text: "some text"},
		{Kind: a2a.PartData, Data: json.RawMessage(`{"a":1}`), Filename: "../../etc/\"passwd\n"},
		{Kind: a2a.PartURL, URL: "https://files.example/x"},
		{Kind: a2a.PartRaw, Raw: []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), Filename: "v.svg"},
	}}}, nil)
	for _, c := range []struct {
		path, typ, how string
		sandbox        bool
	}{
		{"0", "image/png", "inline", true},
		{"0?download", "image/png", "attachment", true},
		{"1", "text/plain; charset=utf-8", "attachment", true},
		{"2", "application/pdf", "inline", false},
		{"2?download", "application/pdf", "attachment", true},
		{"3", "text/plain; charset=utf-8", "attachment", true},
		{"4", "application/json", "attachment", true},
		{"6", "text/plain; charset=utf-8", "attachment", true},
	} {
		r := w.get("/runs/r1/artifacts/a/"+c.path).want(t, 200)
		h := r.Header
		if h.Get("Content-Type") != c.typ || !strings.HasPrefix(h.Get("Content-Disposition"), c.how) || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s, %s", c.path, h.Get("Content-Type"), h.Get("Content-Disposition"))
		}
		if csp := h.Get("Content-Security-Policy"); strings.Contains(csp, "sandbox") != c.sandbox || !strings.HasPrefix(csp, "default-src 'none'") {
			t.Errorf("%s: %s", c.path, csp)
		}
	}
	if d := w.get("/runs/r1/artifacts/a/4").Header.Get("Content-Disposition"); strings.ContainsAny(d, "/\n") || strings.Contains(d, `\"`) {
		t.Errorf("a name leads out: %s", d)
	}
	w.get("/runs/r1/artifacts/a/5").want(t, 200, "You are about to open files.example")
	w.get("/runs/r1/artifacts/a/7").want(t, 404)
	w.get("/runs/r1/artifacts/a/x").want(t, 404)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.srv.URL+"/runs/r1/artifacts/a/3", nil)
	r.Header.Set("Range", "bytes=5-8")
	if got := w.do(r); got.StatusCode != 206 || got.body != "text" {
		t.Errorf("a range: %d %q", got.StatusCode, got.body)
	}
}

func TestSaidFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.chatWith("c1")
	m := a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("see"), {Kind: a2a.PartRaw, Raw: []byte("one"), Filename: "1.txt"}, {Kind: a2a.PartRaw, Raw: []byte("two"), Filename: "2.txt"}}}
	w.tell("c1", "r1", &a2a.Task{ID: "r1", History: []a2a.Message{m}}, nil)
	if r := w.get("/runs/r1/files/1"); r.body != "two" || !strings.Contains(r.Header.Get("Content-Disposition"), "2.txt") {
		t.Errorf("got %q, %s", r.body, r.Header.Get("Content-Disposition"))
	}
	w.get("/runs/r1/files/2").want(t, 404)
	w.get("/runs/none/files/0").want(t, 404)
}
