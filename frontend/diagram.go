package frontend

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io"
	"net/http"
	"sync"
)

// Diagrams are drawn by Mermaid, which is a large program and reads what agents wrote: it runs in a frame without an origin,
// which is loaded only when a diagram is to be seen. The page and the frame pass one another the source and the height,
// nothing else.

//go:embed vendor/mermaid/mermaid.min.js.gz vendor/mermaid/frame.js
var mermaid embed.FS

const diagramStyle = `html{background:transparent}body{margin:0;display:grid;justify-items:center;font:13px system-ui}svg{max-width:100%;height:auto}`

// diagramPage is the document of the frame, and the policy that lets just its own scripts run.
var diagramPage = sync.OnceValues(func() (page []byte, policy string) {
	packed, err := mermaid.ReadFile("vendor/mermaid/mermaid.min.js.gz")
	if err == nil {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(packed)); err == nil {
			packed, err = io.ReadAll(z)
		}
	}
	frame, err2 := mermaid.ReadFile("vendor/mermaid/frame.js")
	if err != nil || err2 != nil {
		panic("frontend: mermaid cannot be read") // it is part of the program
	}
	// A script that holds "</script" would end early, and "<!--" changes how it is read.
	lib := bytes.ReplaceAll(bytes.ReplaceAll(packed, []byte("</script"), []byte(`<\/script`)), []byte("<!--"), []byte(`<\!--`))
	hash := func(b []byte) string {
		h := sha256.Sum256(b)
		return "'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
	}
	var b bytes.Buffer
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Diagram</title><style>` + diagramStyle + `</style><script>`)
	b.Write(lib)
	b.WriteString(`</script></head><body><script>`)
	b.Write(frame)
	b.WriteString(`</script></body></html>`)
	policy = "default-src 'none'; script-src " + hash(lib) + " " + hash(frame) +
		"; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox allow-scripts; frame-ancestors 'self'"
	return b.Bytes(), policy
})

// diagram serves the frame in which diagrams are drawn.
func (s *Site) diagram(w http.ResponseWriter, _ *http.Request) error {
	page, policy := diagramPage()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "private, max-age=86400")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Del("X-Frame-Options")
	_, err := w.Write(page)
	return err
}
