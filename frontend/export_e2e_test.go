package frontend

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/a2a"
	"parley/orchestrator"
)

// hostileChat is a chat in which everything that an agent can name or write is hostile, in every form that an export has.
func hostileChat(t *testing.T, evils []string) *world {
	t.Helper()
	w := newWorld(t, nil)
	a := agent("evil", evils[0])
	w.write(&orchestrator.Batch{
		Agents:        []*orchestrator.Agent{a},
		Conversations: []*orchestrator.Conversation{{ID: "c1", Title: strings.Join(evils, " "), To: "evil", Updated: clock}},
		Runs:          []*orchestrator.Run{{ID: "r1", ConversationID: "c1", To: "evil", State: a2a.TaskStateCompleted, Created: clock, Updated: clock, Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal}},
	})
	var items []*orchestrator.Item
	task := &a2a.Task{ID: "r1", History: []a2a.Message{{ID: "m", Role: a2a.RoleUser}}}
	data := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	picture := []byte("\x89PNG\r\n\x1a\n")
	for _, evil := range evils {
		svg := []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="canary()"><script>canary()</script><image href="http://evil.example/x"/></svg>`)
		polyglot := append([]byte("GIF89a/*"), evil...)
		task.History[0].Parts = append(task.History[0].Parts, a2a.Part{Kind: a2a.PartRaw, Raw: []byte(evil), Filename: evil})
		id := "a" + evil
		task.Artifacts = append(task.Artifacts, a2a.Artifact{ID: id, Name: evil, Description: evil, Parts: []a2a.Part{
			a2a.TextPart(evil),
			{Kind: a2a.PartText, Text: evil, MediaType: "text/html", Filename: evil},
			{Kind: a2a.PartText, Text: evil, MediaType: "text/markdown", Filename: evil + ".md"},
			{Kind: a2a.PartData, Data: data(map[string]any{evil: []any{evil}}), Filename: evil},
			{Kind: a2a.PartRaw, Raw: svg, MediaType: "image/png", Filename: "\u202egnp.svg" + evil},
			{Kind: a2a.PartRaw, Raw: polyglot, MediaType: "text/html", Filename: evil},
			{Kind: a2a.PartRaw, Raw: append(picture, evil...), MediaType: "image/svg+xml\" onload=\"canary()", Filename: evil},
			{Kind: a2a.PartRaw, Raw: append([]byte{0}, evil...), MediaType: "text/html", Filename: "../../" + evil + "\u202e.html"},
			{Kind: a2a.PartURL, URL: evil, Filename: evil, MediaType: evil},
			{Kind: a2a.PartURL, URL: "data:text/html," + evil},
			{Kind: a2a.PartURL, URL: "https://evil.example/" + evil},
			{Kind: a2a.PartNoContent, Filename: evil},
		}})
		items = append(items,
			&orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: "evil", Text: evil},
			&orchestrator.Item{Kind: orchestrator.ItemAgent, AgentID: evil, Text: evil},
			&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemArtifact, AgentID: "evil", Text: evil, Data: data(orchestrator.ArtifactData{ArtifactID: id, Name: evil})},
			&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemArtifact, AgentID: "evil", Text: evil, Data: data(orchestrator.ArtifactData{ArtifactID: "gone", Name: evil})},
			&orchestrator.Item{Kind: orchestrator.ItemAsk, AgentID: "evil", Data: data(orchestrator.AskData{Prompt: evil, Answer: evil, State: orchestrator.AskAnswered})},
			&orchestrator.Item{Kind: orchestrator.ItemEnd, AgentID: "evil", Data: data(orchestrator.EndData{State: evil, Fault: &orchestrator.Fault{Kind: evil, What: evil, Do: evil, Raw: evil}})},
			&orchestrator.Item{Kind: orchestrator.ItemGap, AgentID: "evil", Text: evil},
			&orchestrator.Item{Kind: orchestrator.ItemUser, Text: evil},
		)
	}
	files := make([]orchestrator.PartInfo, len(evils))
	items = append(items, &orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemUser, Text: "files", Data: data(orchestrator.UserData{Files: files})})
	w.tell("c1", "r1", task, nil)
	w.chatWith("c1", items...)
	return w
}

// Whatever is in a chat, the file that it is exported to runs nothing, fetches nothing and leads nowhere by itself.
func TestExportIsHarmless(t *testing.T) {
	t.Parallel()
	for _, evil := range corpus {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			r := hostileChat(t, []string{evil}).get("/c/c1/export.html").want(t, 200)
			checkExport(t, r)
			if !strings.Contains(r.body, "canary") {
				t.Error("nothing of it is in the file")
			}
			for _, n := range find(r.doc, byTag("a")) {
				if name := attr(n, "download"); strings.HasPrefix(attr(n, "href"), "data:") && name != CleanName(name) {
					t.Errorf("a file is stored as %q", name)
				}
			}
		})
	}
}

// TestE2EExportIsHarmless opens such a file as whoever it is sent to does, with all of the corpus in it.
func TestE2EExportIsHarmless(t *testing.T) {
	t.Parallel()
	w := hostileChat(t, corpus)
	path := filepath.Join(t.TempDir(), "chat.html")
	if err := os.WriteFile(path, []byte(w.get("/c/c1/export.html").want(t, 200).body), 0o600); err != nil {
		t.Fatal(err)
	}
	b := w.tab(browser(t))
	file := (&url.URL{Scheme: "file", Path: path}).String()
	b.do(chromedp.Navigate(file))
	b.until(`document.readyState === "complete"`)
	if at := js[string](b, `location.href`); at != file {
		t.Errorf("it went to %s", at)
	}
	// What is looked up, fetched or refused is timed or told: only what is in the file may be.
	if got := js[string](b, `performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith("data:image/")).join(" ")`); got != "" {
		t.Errorf("it fetched %.500s", got)
	}
	for what, expression := range map[string]string{
		"scripts and what frames": `document.querySelectorAll("script, iframe, object, embed, base, link, form, audio, video").length`,
		"handlers":                `[...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => /^on|^style$/.test(a.name))).length`,
		"pictures from elsewhere": `[...document.images].filter(i => !i.src.startsWith("data:image/")).length`,
		"places of others":        `[...document.links].filter(a => !/^(https?|mailto):/.test(a.href) && !a.href.startsWith("data:application/octet-stream;base64,")).length`,
	} {
		if n := js[int](b, expression); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	if n := js[int](b, `document.querySelectorAll("article").length`); n < len(corpus) {
		t.Errorf("%d messages are shown", n)
	}
	b.quiet()
}
