package frontend

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// previews are cards that were looked at and not yet approved. They live here, not in the page, because what is approved
// must be exactly what was shown. Old ones are forgotten.
type previews struct {
	now  func() time.Time
	mu   sync.Mutex
	byID map[string]*found
}

type found struct {
	input      string
	candidates []*orchestrator.Candidate
	fault      *orchestrator.Fault
	at         time.Time
}

const (
	previewFor = 15 * time.Minute
	maxPreview = 64
)

func (p *previews) put(f *found) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byID == nil {
		p.byID = map[string]*found{}
	}
	f.at = p.now()
	oldest := ""
	for id, o := range p.byID {
		if f.at.Sub(o.at) > previewFor {
			delete(p.byID, id)
		} else if oldest == "" || o.at.Before(p.byID[oldest].at) {
			oldest = id
		}
	}
	if len(p.byID) >= maxPreview {
		delete(p.byID, oldest)
	}
	id := newID()
	p.byID[id] = f
	return id
}

func (p *previews) get(id string) *found {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.byID[id]
	if f == nil || p.now().Sub(f.at) > previewFor {
		return nil
	}
	return f
}

func (s *Site) connectPage(w http.ResponseWriter, r *http.Request) error {
	v := view.Connect{Input: r.FormValue("input")}
	_, v.Offer = s.demo()
	return s.write(w, r, http.StatusOK, view.ConnectPage(s.page(r, view.T(r.Context(), "Connect an agent"), view.Side{Section: "connect"}), v))
}

// preview looks for what was typed. The answer is a page of its own, so that loading it again fetches nothing.
func (s *Site) preview(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, int64(a2a.Limits.Card)+64<<10)
	f := &found{input: strings.TrimSpace(r.FormValue("input"))}
	if f.input == "" {
		return badRequest("Type or paste an agent's address first.")
	}
	var err error
	f.candidates, err = s.registry.Preview(r.Context(), f.input, credential(r))
	if err != nil && !errors.As(err, &f.fault) {
		_, f.fault = faultOf(r.Context(), err)
	}
	if err == nil && len(f.candidates) == 0 {
		f.fault = &orchestrator.Fault{Kind: "nothing", Where: orchestrator.WhereUs, What: "There is no agent in what you typed.", Do: "Type a host, an address or a link to a card, or paste the card itself."}
	}
	http.Redirect(w, r, "/connect/"+s.found.put(f), http.StatusSeeOther)
	return nil
}

// previewed shows what was found.
func (s *Site) previewed(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("preview")
	f := s.found.get(id)
	if f == nil {
		http.Redirect(w, r, "/connect", http.StatusSeeOther)
		return nil
	}
	return s.write(w, r, http.StatusOK, view.ConnectPage(s.page(r, view.T(r.Context(), "Connect an agent"), view.Side{Section: "connect"}), s.connectView(r.Context(), id, f)))
}

func (s *Site) connectView(ctx context.Context, id string, f *found) view.Connect {
	v := view.Connect{Input: f.input, Preview: id, Fault: view.FaultOf(ctx, f.fault, "")}
	if len(v.Input) > 2000 {
		v.Input = ""
	}
	if f.fault != nil {
		v.Fault.Title = unusable(ctx, f.fault)
		if f.fault.Kind == "unauthenticated" {
			v.Wants, v.Scheme = true, challenged(f.fault)
		}
	}
	for n, c := range f.candidates {
		fc := view.Found{N: n}
		if c.Agent != nil {
			fc.Detail = s.detail(ctx, c.Agent)
			fc.Detail.Origins = c.Origins
			if c.Typed != nil {
				fc.Typed = c.Typed.URL
			}
			for i := range fc.Detail.Skills { // nothing can be asked of it before it is approved
				for j := range fc.Detail.Skills[i].Examples {
					fc.Detail.Skills[i].Examples[j].Href = ""
				}
			}
		}
		if c.Fault != nil || c.Agent == nil {
			fault := c.Fault
			if fault == nil {
				fault = &orchestrator.Fault{Where: orchestrator.WhereAgent, What: "This card cannot be used."}
			}
			if fault.Kind == "unauthenticated" && len(f.candidates) == 1 {
				v.Wants, v.Fault, v.Scheme = true, view.FaultOf(ctx, fault, ""), challenged(fault)
				continue
			}
			fc.Fault = view.FaultOf(ctx, fault, "")
			fc.Fault.Title = unusable(ctx, fault)
			if c.Input != "" && len(c.Input) < 300 && len(f.candidates) > 1 {
				fc.Fault.Title = view.T(ctx, "%s: %s", c.Input, fc.Fault.Title)
			}
		}
		if c.Agent != nil && c.Agent.Card != nil && c.Credential == nil {
			fc.Scheme, fc.Wants = wanted(c.Wants, c.Agent.Card.SecurityRequirements)
			fc.Scheme.Fleeting = s.opts.Fleeting
		}
		v.Candidates = append(v.Candidates, fc)
	}
	v.Scheme.Fleeting = s.opts.Fleeting
	return v
}

// unusable says in a word why there is nothing to approve: a card that was found is not one that was not.
func unusable(ctx context.Context, f *orchestrator.Fault) string {
	switch f.Kind {
	case "card-invalid":
		return view.T(ctx, "A card was found, but something is wrong with it")
	case "version", "no-interface":
		return view.T(ctx, "A card was found, but Parley cannot speak with this agent")
	case "blocked", "address":
		return view.T(ctx, "Parley does not go to this address")
	case "unauthenticated":
		return view.T(ctx, "The card itself is protected")
	case "card-html", "garbage", "too-large":
		return view.T(ctx, "What is there is no card")
	case "nothing":
		return view.T(ctx, "There is nothing to look for")
	case "card-not-found":
		return view.T(ctx, "No card was found")
	}
	return view.T(ctx, "The card could not be read")
}

// approve approves exactly what was shown.
func (s *Site) approve(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	f := s.found.get(r.FormValue("preview"))
	n, err := strconv.Atoi(r.FormValue("n"))
	if f == nil || err != nil || n < 0 || n >= len(f.candidates) || f.candidates[n].Agent == nil {
		return &fail{http.StatusGone, &orchestrator.Fault{
			Kind: "preview-gone", Where: orchestrator.WhereUs, What: "This card was shown too long ago.", Do: "Look for the agent again and approve what you see then.",
		}}
	}
	c := *f.candidates[n]
	if r.FormValue("at") == "typed" {
		c = *c.AsTyped()
	}
	if cred := credential(r); cred != nil {
		c.Credential = cred
	}
	a, err := s.registry.Approve(r.Context(), &c)
	if err != nil {
		return err
	}
	s.agentsChanged()
	return moved(w, r, "/?connected&to="+url.QueryEscape(a.ID))
}
