package frontend

import (
	"context"
	"net/http"
)

// Demo is the demo agents that come with the program: a person may have them, and be rid of them again.
type Demo interface {
	// On says whether they are served and registered now.
	On() bool
	// Fixed names what decides that in place of the person, such as a flag; "" = the person does.
	Fixed() string
	// Start serves and registers them, now and after every restart.
	Start(context.Context) error
	// End takes them and their workflows out. What was said with them stays.
	End(context.Context) error
}

// demo says whether the demo agents are there, and whether a person can have them there.
func (s *Site) demo() (on, offered bool) {
	if s.opts.Demo == nil {
		return false, false
	}
	on = s.opts.Demo.On()
	return on, !on
}

// setDemo has the demo agents start or end, for good.
func (s *Site) setDemo(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Demo == nil {
		return errNoPage
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	set, next := s.opts.Demo.Start, "/"
	if r.FormValue("on") == "" {
		set, next = s.opts.Demo.End, "/settings?saved"
	}
	err := set(r.Context())
	s.agentsChanged()
	if err != nil {
		return err
	}
	return moved(w, r, next)
}
