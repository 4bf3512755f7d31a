package frontend

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"parley/a2a"
	"parley/orchestrator"
)

// corpus is what hostile agents write. Each names canary, so that a test sees where it came out.
var corpus = []string{
	`<script>canary()</script>`,
	`<img src=x onerror=canary()>`,
	`<svg onload=canary()><script>canary()</script></svg>`,
	`[click](javascript:canary())`,
	`[click](JaVaScRiPt:canary())`,
	"[click](java\tscript:canary())",
	`[click](&#106;avascript:canary())`,
	`[click](data:text/html,<script>canary()</script>)`,
	`[click](vbscript:canary())`,
	`[click](//evil.example/canary)`,
	`[click](/settings?canary)`,
	`[click](https://user:pass@evil.example/canary)`,
	`![canary](https://evil.example/pixel.png)`,
	`![canary](javascript:canary())`,
	`<javascript:canary()>`,
	`<iframe src="https://evil.example/canary"></iframe>`,
	`<a href="javascript:canary()">x</a>`,
	`<style>body{display:none}</style>canary`,
	`<form action="https://evil.example/canary"><input name=secret></form>`,
	`<meta http-equiv=refresh content="0;url=https://evil.example/canary">`,
	`<base href="https://evil.example/canary">`,
	"```\n</code></pre><script>canary()</script>\n```",
	"```html\" onmouseover=\"canary()\n<b>\n```",
	"```<script>canary()</script>\nx\n```",
	`"><script>canary()</script>`,
	`' onmouseover='canary()`,
	`{{canary}} ${canary()} <% canary %>`,
	`| <script>canary()</script> | b |` + "\n|---|---|\n| <img onerror=canary()> | c |",
	"<div onclick=canary()>\n\ntext\n\n</div>",
	`<math><mtext></table><script>canary()</script>`,
	`<noscript><p title="</noscript><img src=x onerror=canary()>">`,
	"\u202eexe.gpj canary",
	`<details open ontoggle=canary()>x</details>`,
	`[a]: javascript:canary()` + "\n\n[a]",
	`[x](https://evil.example/"onmouseover="canary())`,
	`<https://evil.example/"onmouseover="canary()>`,
	`$\text{<img src=x onerror=canary()>}$`,
	`$$\text{</math><script>canary()</script>}$$`,
	`\(\href{javascript:canary()}{x}\)`,
	`$\class{x" onclick="canary()}{y}$`,
	"```diff\n+<script>canary()</script>\n-</code></pre><img src=x onerror=canary()>\n@@ canary\n```",
	"```mermaid\ngraph TD\nA[<script>canary()</script>] --> B\nclick A \"javascript:canary()\"\n```",
	`<math><mi xlink:href="javascript:canary()">x</mi></math>`,
	`<math><annotation-xml encoding="text/html"><img src=x onerror=canary()></annotation-xml></math>`,
}

var allowedClass = regexp.MustCompile(`^[ksmfcpadh]$|^host$`)

// checkPage reports whatever in a page could run, fetch or submit elsewhere.
func checkPage(t *testing.T, where, page string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script":
			if !strings.HasPrefix(attr(n, "src"), "/static/") || textOf(n) != "" {
				t.Errorf("%s: a script: %v", where, n.Attr)
			}
		case "style", "iframe", "object", "embed", "base", "noscript":
			t.Errorf("%s: a <%s>", where, n.Data)
		case "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mfrac", "msqrt",
			"mroot", "mtable", "mtr", "mtd":
			checkMath(t, where, n)
		case "meta":
			if attr(n, "http-equiv") != "" {
				t.Errorf("%s: %v", where, n.Attr)
			}
		}
		for _, a := range n.Attr {
			v := strings.ToLower(strings.TrimSpace(a.Val))
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
				t.Errorf("%s: <%s %s=%q>", where, n.Data, a.Key, a.Val)
			case a.Key == "src", a.Key == "action", a.Key == "formaction", a.Key == "data", a.Key == "poster":
				if !strings.HasPrefix(v, "/") || strings.HasPrefix(v, "//") {
					t.Errorf("%s: <%s %s=%q> leads elsewhere", where, n.Data, a.Key, a.Val)
				}
			case a.Key == "href":
				if !goodHref(n, v) {
					t.Errorf("%s: <%s href=%q rel=%q>", where, n.Data, a.Val, attr(n, "rel"))
				}
			}
		}
	}
}

// checkMath reports whatever in a formula is not of our own converter.
func checkMath(t *testing.T, where string, n *html.Node) {
	t.Helper()
	for _, a := range n.Attr {
		switch a.Key {
		case "display", "mathvariant", "stretchy", "largeop", "accent", "linethickness", "columnalign", "width":
		default:
			t.Errorf("%s: <%s %s=%q>", where, n.Data, a.Key, a.Val)
		}
	}
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode && c.Namespace != "math" {
			t.Errorf("%s: <%s> in a formula", where, c.Data)
		}
	}
}

// checkExport reports whatever in an exported file could run or fetch anything.
func checkExport(t *testing.T, r *reply) {
	t.Helper()
	policy, hosts := false, false
	for n := range r.doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script", "iframe", "object", "embed", "base", "link", "form", "input", "audio", "video", "source":
			t.Errorf("the file has a <%s>", n.Data)
		case "button": // of code, where nothing listens
			if attr(n, "type") != "button" || attr(n, "formaction") != "" {
				t.Errorf("the file has a <button> %v", n.Attr)
			}
		case "meta":
			switch attr(n, "http-equiv") {
			case "":
			case "Content-Security-Policy":
				policy = attr(n, "content") == "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
			case "x-dns-prefetch-control":
				hosts = attr(n, "content") == "off"
			default:
				t.Errorf("the file has <meta http-equiv=%q>", attr(n, "http-equiv"))
			}
		case "style":
			if s := textOf(n); strings.Contains(s, "url(") || strings.Contains(s, "@import") {
				t.Error("the file's style fetches something")
			}
		}
		for _, a := range n.Attr {
			v := strings.ToLower(strings.TrimSpace(a.Val))
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" || a.Key == "src" && !strings.HasPrefix(v, "data:image/") ||
				a.Key == "href" && (!goodHref(n, v) || strings.HasPrefix(v, "/")) {
				t.Errorf("the file has <%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
	if !policy || !hosts {
		t.Error("the file does not say that it runs nothing and looks nothing up")
	}
}

func goodHref(n *html.Node, v string) bool {
	switch {
	case strings.HasPrefix(v, "data:application/octet-stream;base64,") && attr(n, "download") != "": // stored, never shown
		return true
	case strings.HasPrefix(v, "#"), v == "data:,", strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "//"):
		return true
	case strings.HasPrefix(v, "mailto:"), strings.HasPrefix(v, "https://"), strings.HasPrefix(v, "http://"):
		u, err := url.Parse(attr(n, "href"))
		return err == nil && u.User == nil && strings.Contains(attr(n, "rel"), "noopener") && strings.Contains(attr(n, "rel"), "noreferrer")
	}
	return false
}

func TestMarkdownIsHarmless(t *testing.T) {
	t.Parallel()
	m := newMarkdown(nil)
	for _, s := range corpus {
		out := m.HTML(s)
		checkPage(t, s, out)
		if !strings.Contains(out, "canary") && !strings.Contains(out, "x") {
			t.Errorf("%q: nothing is left to see: %s", s, out)
		}
		for _, n := range find(mustParse(t, out), byTag("a")) {
			if strings.HasPrefix(attr(n, "href"), "/") {
				t.Errorf("%q: a link into our own pages", s)
			}
		}
		for _, tag := range []string{"span", "pre", "code"} {
			for _, n := range find(mustParse(t, out), byTag(tag)) {
				if c := attr(n, "class"); c != "" && !allowedClass.MatchString(c) && c != "cut-line" && c != "push" {
					t.Errorf("%q: class %q", s, c)
				}
			}
		}
		st := &mdStream{m: m, id: "p1"}
		for _, r := range s {
			st.write(string(r))
			c := st.flush()
			checkPage(t, "stream of "+s, c.blocks+c.tail)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range corpus {
		f.Add(s)
	}
	f.Add(longText(500))
	m := newMarkdown(nil)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<16 {
			t.Skip()
		}
		checkPage(t, s, m.HTML(s))
		st := &mdStream{m: m, id: "p1"}
		half := len(s) / 2
		st.write(s[:half])
		st.flush()
		st.write(s[half:])
		st.flush()
		checkPage(t, s, st.finish())
	})
}

func mustParse(t *testing.T, s string) *html.Node {
	t.Helper()
	n, err := html.Parse(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Every place where something an agent wrote is shown, with everything a hostile one writes.
func TestEverySinkIsHarmless(t *testing.T) {
	t.Parallel()
	for _, evil := range corpus {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			a := agent("evil", evil)
			a.Card.Description, a.Card.Version, a.Card.Provider.Organization = evil, evil, evil
			a.Card.Skills = []a2a.AgentSkill{{Name: evil, Description: evil, Tags: []string{evil}, Examples: []string{evil}}}
			a.Card.SecuritySchemes = map[string]a2a.SecurityScheme{evil: {Kind: a2a.SchemeAPIKey, Name: evil, Location: evil}}
			a.Card.Capabilities.Extensions = []a2a.AgentExtension{{URI: evil}}
			a.Card.DefaultInputModes = []string{evil}
			a.Interface.URL, a.Notes, a.Dialect, a.CardJSON = evil, []a2a.Note{{Text: evil}}, evil, []byte(evil)
			w.write(&orchestrator.Batch{Agents: []*orchestrator.Agent{a}})

			quoted, _ := json.Marshal(evil)
			art := &a2a.ArtifactUpdate{TaskID: "r1", Artifact: a2a.Artifact{ID: evil, Name: evil, Description: evil, Parts: []a2a.Part{
				a2a.TextPart(evil),
				{Kind: a2a.PartText, Text: evil, Filename: evil + ".go"},
				{Kind: a2a.PartText, Text: evil, MediaType: "text/html", Filename: evil},
				{Kind: a2a.PartText, Text: evil + "," + evil + "\n" + evil, MediaType: "text/csv", Filename: evil},
				{Kind: a2a.PartData, Data: json.RawMessage(`{` + string(quoted) + `:[` + string(quoted) + `]}`), Filename: evil},
				{Kind: a2a.PartRaw, Raw: []byte(evil), MediaType: "text/html", Filename: evil},
				{Kind: a2a.PartURL, URL: evil, Filename: evil, MediaType: evil},
				{Kind: a2a.PartURL, URL: "https://evil.example/x", Filename: evil},
				{Kind: a2a.PartNoContent, Filename: evil},
			}}}
			data, _ := json.Marshal(orchestrator.ArtifactData{ArtifactID: evil, Name: evil})
			ask, _ := json.Marshal(orchestrator.AskData{Prompt: evil, Answer: evil, State: orchestrator.AskAnswered})
			end, _ := json.Marshal(orchestrator.EndData{State: evil, Fault: &orchestrator.Fault{Kind: evil, Where: orchestrator.Where(evil), What: evil, Do: evil, Raw: evil, Retry: true}})
			user, _ := json.Marshal(orchestrator.UserData{Files: []orchestrator.PartInfo{{Kind: "raw", Filename: evil}}})
			w.chatWith("c1",
				&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemUser, Text: evil, Data: user},
				&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemAgent, AgentID: "evil", Text: evil},
				&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemArtifact, AgentID: "evil", Text: evil, Data: data},
				&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemAsk, AgentID: "evil", Data: ask},
				&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemEnd, AgentID: "evil", Data: end},
				&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemGap, AgentID: "evil", Text: evil},
				&orchestrator.Item{RunID: "r1", Kind: orchestrator.ItemKind(evil), AgentID: evil, Text: evil},
			)
			schema := `{"type":"object","title":` + string(quoted) + `,"properties":{` + string(quoted) + `:{"type":"string","title":` + string(quoted) + `,"description":` + string(quoted) + `,"default":` + string(quoted) + `},"b":{"enum":[` + string(quoted) + `]}}}`
			w.write(&orchestrator.Batch{
				Runs:          []*orchestrator.Run{{ID: "r1", ConversationID: "c1", To: "evil", State: a2a.TaskStateInputRequired, Created: clock, Scope: orchestrator.OwnAgent, Principal: orchestrator.LocalPrincipal}},
				Conversations: []*orchestrator.Conversation{{ID: "c1", Title: evil, To: "evil", Updated: clock}},
				Asks: []*orchestrator.Ask{
					{ID: "q1", RunID: "r1", Principal: orchestrator.LocalPrincipal, AgentID: "evil", Kind: orchestrator.AskInput, Prompt: evil, Schema: json.RawMessage(schema), State: orchestrator.AskOpen, Opened: clock},
					{ID: "q2", RunID: "r1", Principal: orchestrator.LocalPrincipal, AgentID: "evil", Kind: orchestrator.AskChoice, Prompt: evil, Choices: []orchestrator.Choice{{ID: evil, Label: evil, Detail: evil}}, State: orchestrator.AskOpen, Opened: clock},
					{ID: "q3", RunID: "r1", Principal: orchestrator.LocalPrincipal, AgentID: "evil", Kind: orchestrator.AskSignIn, Prompt: evil, Links: []orchestrator.Link{{Label: evil, URL: evil}, {Label: evil, URL: "https://evil.example/"}}, State: orchestrator.AskOpen, Opened: clock},
				},
			})
			w.tell("c1", "r1", art, nil)
			w.tell("c1", "r1", status("r1", a2a.TaskStateInputRequired, evil), nil)
			w.tell("c1", "r1", status("r1", a2a.TaskState(evil), evil), nil)
			w.st.hits = []orchestrator.Hit{{Item: &orchestrator.Item{ID: 2, ConversationID: "c1", Kind: orchestrator.ItemAgent, AgentID: "evil", At: clock}, Title: evil, Snippet: []orchestrator.Span{{Text: evil, Mark: true}, {Text: evil}}}}
			w.who.previews = []*orchestrator.Candidate{
				{Input: evil, Agent: a, Origins: []string{evil}, Wants: map[string]a2a.SecurityScheme{"x": {Kind: a2a.SchemeAPIKey, Name: evil}}},
				{Input: evil, Fault: &orchestrator.Fault{What: evil, Where: orchestrator.Where(evil), Do: evil, Raw: evil}},
			}
			found := w.post("/connect", url.Values{"input": {evil}}).want(t, http.StatusSeeOther).Header.Get("Location")
			for _, path := range []string{
				"/", "/?text=" + url.QueryEscape(evil) + "&to=" + url.QueryEscape(evil), "/c/c1", "/agents", "/agents/evil",
				"/search?q=" + url.QueryEscape(evil), found, "/asks/q3/links/0", "/asks/q3/links/1", "/" + url.PathEscape(evil),
			} {
				checkPage(t, path, w.get(path).body)
			}
		})
	}
}
