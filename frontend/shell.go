package frontend

import (
	"net/http"
	"net/url"
)

// Shell is what a window of our own can do that a page cannot. In a browser there is none.
type Shell interface {
	// OpenURL opens an address in the person's browser.
	OpenURL(address string) error
	// SetTitle names the window.
	SetTitle(title string)
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
