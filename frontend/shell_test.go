package frontend

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shell is a window that remembers what it was told.
type shell struct {
	opened []string
	title  string
	asked  []string
	save   string // what AskSave answers
	told   chan string
	do     map[string]func() // what the buttons of notices do
}

func (s *shell) OpenURL(a string) error  { s.opened = append(s.opened, a); return nil }
func (s *shell) SetTitle(t string)       { s.title = t }
func (s *shell) OpenFolder(string) error { return nil }
func (s *shell) Show(path string) error  { s.told <- "show " + path; return nil }
func (s *shell) Withdraw(id string)      { s.told <- "withdraw " + id }

func (s *shell) Notify(n *Notice) error {
	said := n.ID + " " + n.Title + " (" + n.Body + ") " + n.Href
	for _, b := range n.Buttons {
		said += " [" + b.Label + "]"
		if b.Do != nil {
			s.do[b.Label] = b.Do
		}
	}
	s.told <- said
	return nil
}

func (s *shell) AskSave(_, name string) (string, error) {
	s.asked = append(s.asked, name)
	return s.save, nil
}

func TestShell(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.post("/open", url.Values{"url": {"https://x.example/"}}).want(t, 404)
	sh := &shell{}
	w = newWorld(t, &Options{Shell: sh})
	w.post("/open", url.Values{"url": {"https://x.example/"}}).want(t, 204)
	for _, bad := range []string{"javascript:alert(1)", "file:///etc/passwd", "/c/1", w.srv.URL + "/c/1", "https://a@b.example/", ""} {
		w.post("/open", url.Values{"url": {bad}}).want(t, 400)
	}
	w.post("/title", url.Values{"title": {"A chat · Parley"}}).want(t, 204)
	if sh.title != "A chat · Parley" {
		t.Errorf("the window is called %q", sh.title)
	}
	if d := cmp.Diff([]string{"https://x.example/"}, sh.opened); d != "" {
		t.Error(d)
	}
}

// TestDownload saves a file for a window that cannot.
func TestDownload(t *testing.T) {
	t.Parallel()
	sh := &shell{}
	w := newWorld(t, &Options{Shell: sh, Handle: map[string]http.Handler{
		"GET /report": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="../Report.txt"`)
			fmt.Fprint(w, "all of it")
		}),
	}})
	for _, bad := range []string{"", "report", "https://x.example/report", "//x.example/report", "file:///etc/passwd"} {
		w.post("/download", url.Values{"url": {bad}}).want(t, 400)
	}
	w.post("/download", url.Values{"url": {"/nothing"}}).want(t, 404)
	w.post("/download", url.Values{"url": {"/report"}}).want(t, 204) // asked, and not wanted
	dir := t.TempDir()
	sh.save = filepath.Join(dir, "mine.txt")
	w.post("/download", url.Values{"url": {"/report?download"}}).want(t, 200, "“mine.txt” is saved.")
	if b, err := os.ReadFile(sh.save); string(b) != "all of it" {
		t.Errorf("saved %q, %v", b, err)
	}
	if d := cmp.Diff([]string{"Report.txt", "Report.txt"}, sh.asked); d != "" {
		t.Error(d)
	}
	sh.save = filepath.Join(dir, "no", "such", "folder.txt")
	w.post("/download", url.Values{"url": {"/report"}}).want(t, 500, "“folder.txt” could not be saved there.")
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
