package storybook

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestComponents(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range Samples() {
		if seen[s.Name] {
			t.Errorf("two samples are called %s", s.Name)
		}
		seen[s.Name] = true
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			if err := s.Component.Render(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			checkSafe(t, b.String())
			got := lines(b.String())
			file := filepath.Join("testdata", s.Name+".html")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v (run with -update)", err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("the component changed (-want +got); run with -update when it should have:\n%s", d)
			}
		})
	}
}

// lines puts each element on a line of its own, so that a diff is readable.
func lines(s string) string { return strings.ReplaceAll(s, "><", ">\n<") + "\n" }

// checkSafe holds what the content security policy forbids, and that every control and picture has a name.
func checkSafe(t *testing.T, s string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	labels, ids := map[string]bool{}, map[string]bool{}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "label" {
			labels[attr(n, "for")] = true
		}
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("two elements have the id %s", id)
			}
			ids[id] = true
		}
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has %s=%q, which the policy forbids", n.Data, a.Key, a.Val)
			}
		}
		switch n.Data {
		case "button", "a":
			if strings.TrimSpace(text(n)) == "" && attr(n, "aria-label") == "" {
				t.Errorf("a <%s> has no name: %v", n.Data, n.Attr)
			}
		case "input", "select", "textarea":
			if typ := attr(n, "type"); typ != "hidden" && !labels[attr(n, "id")] && attr(n, "aria-label") == "" && !within(n, "label") {
				t.Errorf("a <%s name=%s> has no label", n.Data, attr(n, "name"))
			}
		}
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

func within(n *html.Node, name string) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Data == name {
			return true
		}
	}
	return false
}

func TestHandler(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/storybook?theme=dark", nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `data-theme="dark"`) {
		t.Errorf("got %d", w.Code)
	}
	for _, s := range Samples() {
		if !strings.Contains(w.Body.String(), `id="sample-`+s.Name+`"`) {
			t.Errorf("%s is not shown", s.Name)
		}
	}
}
