package frontend

import (
	"cmp"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"parley/frontend/view"
	"parley/orchestrator"
)

// Shell is what a window of our own can do that a page cannot. In a browser there is none.
type Shell interface {
	// OpenURL opens an address in the person's browser.
	OpenURL(address string) error
	// OpenFolder shows a folder of this machine.
	OpenFolder(path string) error
	// SetTitle names the window.
	SetTitle(title string)
	// Show brings the window to the front, at a page of ours; "" leaves it where it is.
	Show(path string) error
	// Notify tells the person something while the window is not looked at.
	Notify(n *Notice) error
	// Withdraw takes a notification away that matters no more.
	Withdraw(id string)
	// AskSave asks, in a dialog of that title, where a file of that name is to be saved; "" when the person would rather not.
	AskSave(title, name string) (string, error)
}

// Notice is a notification of the desktop.
type Notice struct {
	ID    string // a later one with the same ID takes its place
	Title string
	Body  string
	Href  string // the page of ours that a click on it shows

	Buttons []Button // at most 3; a desktop may show none
}

// Button is one of a notice's.
type Button struct {
	Label string
	Do    func() // called once for all buttons of a notice; nil shows what a click on the notice shows
}

// openURL opens an address in the person's browser, for a window that cannot.
func (s *Site) openURL(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Shell == nil {
		return errNoPage
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	address := r.FormValue("url")
	u, err := url.Parse(address)
	if err != nil {
		return badRequest("This is not an address.")
	}
	if _, ok := safe(address); !ok {
		return badRequest("This address cannot be opened safely.")
	}
	if u.Host == r.Host { // one of our own: it needs no other window
		return badRequest("This address is a page of Parley.")
	}
	if err := s.opts.Shell.OpenURL(address); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// setTitle names the window after the page in it.
func (s *Site) setTitle(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Shell == nil {
		return errNoPage
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	title := []rune(r.FormValue("title"))
	s.opts.Shell.SetTitle(string(title[:min(len(title), 200)]))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// download saves what one of our addresses serves as a file, for a window that cannot: its web view drops what is no page. It
// answers with what the page shows of that; 204 when the person would rather not.
func (s *Site) download(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Shell == nil {
		return errNoPage
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	to, err := url.Parse(r.FormValue("url"))
	if err != nil || to.IsAbs() || to.Host != "" || !strings.HasPrefix(to.Path, "/") {
		return badRequest("This is no file of Parley.")
	}
	get, err := http.NewRequestWithContext(r.Context(), http.MethodGet, to.String(), nil)
	if err != nil {
		return badRequest("This is no file of Parley.")
	}
	get.Host = r.Host
	ctx := r.Context()
	ask := func(name string) (string, error) { return s.opts.Shell.AskSave(view.T(ctx, "Save"), name) }
	f := &saving{header: http.Header{}, ask: ask, named: path.Base(to.Path)}
	s.mux.ServeHTTP(f, get)
	if err := f.close(); err != nil {
		s.log.Error("save", "path", f.path, "error", err)
		return &fail{http.StatusInternalServerError, &orchestrator.Fault{
			Kind: "unsaved", Where: orchestrator.WhereUs, What: view.T(ctx, "“%s” could not be saved there.", filepath.Base(cmp.Or(f.path, f.named))),
			Do: view.T(ctx, "Choose another folder, or make room on the disk."),
		}}
	}
	if f.status != http.StatusOK {
		return &fail{f.status, errNoPage.fault}
	}
	if f.file == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return s.write(w, r, http.StatusOK, view.ToastBox(&view.Toast{Text: view.T(ctx, "“%s” is saved.", filepath.Base(f.path))}))
}

// saving is a reply that becomes a file where the person says. The file has its name once all of it is there.
type saving struct {
	ask    func(name string) (string, error)
	named  string
	header http.Header
	status int
	path   string
	file   *os.File
	err    error
}

func (f *saving) Header() http.Header { return f.header }

func (f *saving) WriteHeader(status int) {
	if f.status != 0 {
		return
	}
	if f.status = status; status != http.StatusOK {
		return
	}
	if _, p, err := mime.ParseMediaType(f.header.Get("Content-Disposition")); err == nil && p["filename"] != "" {
		f.named = p["filename"]
	}
	if f.path, f.err = f.ask(filepath.Base(f.named)); f.err != nil || f.path == "" {
		return
	}
	f.file, f.err = os.CreateTemp(filepath.Dir(f.path), ".parley-*")
}

func (f *saving) Write(b []byte) (int, error) {
	f.WriteHeader(http.StatusOK)
	switch {
	case f.err != nil:
		return 0, f.err
	case f.file == nil:
		return 0, io.ErrClosedPipe // nobody wants it: whoever writes may stop
	}
	n, err := f.file.Write(b)
	if err != nil {
		f.err = err
	}
	return n, err
}

func (f *saving) close() error {
	if f.file == nil {
		return f.err
	}
	if err := f.file.Close(); f.err == nil {
		f.err = err
	}
	if f.err == nil {
		f.err = os.Rename(f.file.Name(), f.path)
	}
	if f.err != nil {
		_ = os.Remove(f.file.Name())
	}
	return f.err
}
