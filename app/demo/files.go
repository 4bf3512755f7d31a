package demo

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"iter"
	"net/http"

	"parley/a2a"
	"parley/a2aserver"
)

// files takes files and says what it got, and sends files of four types back: some within the answer, some as addresses of
// this server.
type files struct{ root string }

//go:embed samples
var samples embed.FS

var sampleTypes = []struct {
	name, mediaType string
	linked          bool // sent as an address
}{
	{"chart.png", "image/png", false}, {"figures.csv", "text/csv", false}, {"report.pdf", "application/pdf", true}, {"figures.json", "application/json", false},
}

func newFiles(root string) *agent {
	f := files{root}
	return &agent{name: "files", exec: f, routes: f.routes, card: a2a.AgentCard{
		Name:               "Files",
		Description:        "Takes files of any kind and lists them; sends back a picture, a table and JSON, and the address of a PDF.",
		DefaultInputModes:  []string{"*/*"},
		DefaultOutputModes: []string{"image/png", "text/csv", "application/pdf", "application/json"},
		Skills: []a2a.AgentSkill{{
			ID: "exchange-files", Name: "Exchange files", Description: "Receives attachments and returns sample files.",
			Tags:     []string{"file", "attachment", "image", "picture", "pdf", "csv", "chart", "download"},
			Examples: []string{"Send me a chart", "What did I attach?"},
		}},
	}}
}

func (f files) Execute(_ context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if got := received(t.Message.Parts); len(got) > 0 && !yield(artifact("Received", a2a.DataPart(got)), nil) {
			return
		}
		for _, s := range sampleTypes {
			part := a2a.Part{Kind: a2a.PartURL, URL: f.root + "files/samples/" + s.name, Filename: s.name, MediaType: s.mediaType}
			if !s.linked {
				b, _ := samples.ReadFile("samples/" + s.name) // embedded: it is there
				part = a2a.Part{Kind: a2a.PartRaw, Raw: b, Filename: s.name, MediaType: s.mediaType}
			}
			if !yield(artifact(s.name, part), nil) {
				return
			}
		}
		yield(status(a2a.TaskStateCompleted, "Here are a picture, a table, a PDF and JSON."), nil)
	}
}

// received describes the files among parts.
func received(parts []a2a.Part) (out []map[string]any) {
	for _, p := range parts {
		switch p.Kind {
		case a2a.PartRaw:
			sum := sha256.Sum256(p.Raw)
			out = append(out, map[string]any{"name": p.Filename, "type": p.MediaType, "bytes": len(p.Raw), "sha256": hex.EncodeToString(sum[:])})
		case a2a.PartURL:
			out = append(out, map[string]any{"name": p.Filename, "type": p.MediaType, "url": p.URL})
		case a2a.PartNoContent:
			out = append(out, map[string]any{"name": p.Filename, "note": "named, not sent"})
		}
	}
	return out
}

// routes serve the samples to everybody.
func (f files) routes(mux *http.ServeMux) {
	mux.Handle("GET /files/samples/", http.StripPrefix("/files", http.FileServerFS(samples)))
}
