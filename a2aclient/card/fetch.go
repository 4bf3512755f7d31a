package card

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"parley/a2a"
)

const (
	cardPath    = "/.well-known/agent-card.json"
	legacyPath  = "/.well-known/agent.json"
	catalogPath = "/.well-known/ai-catalog.json"
)

// places lists the addresses at which the card of the agent at u may lie: by the path that was given, then at the origin.
func places(u *url.URL) []*url.URL {
	var out []*url.URL
	seen := map[string]bool{}
	add := func(path string) {
		p := *u
		p.Path, p.RawPath = path, ""
		if path != u.Path {
			p.RawQuery = ""
		}
		if s := p.String(); !seen[s] {
			seen[s] = true
			out = append(out, &p)
		}
	}
	base := u.Path
	if i := strings.Index(base, "/.well-known/"); i >= 0 {
		add(base)
		base = base[:i]
	} else if strings.HasSuffix(base, ".json") {
		add(base)
		base = base[:strings.LastIndexByte(base, '/')]
	}
	base = strings.TrimSuffix(base, "/")
	add(base + cardPath)
	add(base + legacyPath)
	if base != "" {
		add(u.Path) // a registry may serve cards at addresses of its own
		add(base + catalogPath)
	}
	add(cardPath)
	add(legacyPath)
	if base == "" { // who named one place of a host does not mean whatever else is there
		add(catalogPath)
	}
	return out
}

// search asks every place for a card until one has it. tried tells of each, err is nil when a card was found.
func (f *finder) search(ctx context.Context, u *url.URL) (body []byte, at *url.URL, tried []Try, err error) {
	var best *Error
	for _, p := range places(u) {
		body, at, err := f.get(ctx, p)
		if err == nil {
			return body, at, append(tried, Try{URL: Show(p), Status: http.StatusOK, Result: "found"}), nil
		}
		var e *Error
		if !errors.As(err, &e) {
			return nil, nil, tried, err // the caller gave up
		}
		tried = append(tried, Try{URL: Show(p), Status: e.Status, Result: Result(e)})
		if best == nil || telling(e) > telling(best) {
			best = e
		}
		// A card behind a sign-in is the card: another agent's, further up, must not take its place. And when the server
		// cannot be talked to at all, it cannot at its other paths.
		if e.Kind == KindUnauthenticated || e.Kind == KindForbidden || e.Status == 0 && e.Kind != KindCardInvalid && e.Kind != KindRedirect {
			break
		}
	}
	if best.Kind == KindNotFound {
		best = &Error{
			Kind: KindCardNotFound, Where: WhereAgent, Status: best.Status,
			What: fmt.Sprintf("%s answers, but has no agent card.", u.Host),
			Do:   "Check the path in the address, or give the address of the card itself.",
			Err:  best,
		}
	}
	best.Tried = tried
	return nil, nil, tried, best
}

// telling orders the failures of a search by how much they say.
func telling(e *Error) int {
	switch e.Kind {
	case KindNotFound:
		return 0
	case KindCardHTML:
		return 1
	case KindGarbage:
		return 2
	case KindCardInvalid, KindTooLarge:
		return 4
	}
	return 3
}

// Result is what came of an address that was tried, in a few words (Try.Result).
func Result(e *Error) string {
	switch e.Kind {
	case KindNotFound:
		return "not found"
	case KindCardHTML:
		return "a web page, not a card"
	case KindCardInvalid, KindGarbage:
		return "no card"
	case KindUnauthenticated, KindForbidden:
		return "needs a sign-in"
	case KindRedirect:
		return "redirected to " + e.Target
	case KindTooLarge:
		return "too large for a card"
	case KindTimeout:
		return "no answer in time"
	case KindRefused:
		return "connection refused"
	case KindDNS:
		return "no such host"
	case KindTLS:
		return "no secure connection"
	}
	if e.Status != 0 {
		return fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	}
	return "no connection"
}

// get fetches what may be a card. Redirects are followed three times, never from https to http; credentials go to the
// origin that was asked for and to no other.
func (f *finder) get(ctx context.Context, asked *url.URL) ([]byte, *url.URL, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outer := ctx
	ctx, stop := context.WithTimeoutCause(ctx, f.timeout, ErrSlow)
	defer stop()
	origin, err := originOf(asked)
	if err != nil {
		return nil, nil, badAddress("That is not an address.", nil)
	}
	u := asked
	for hop := 0; ; hop++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, nil, badAddress("That is not an address.", nil)
		}
		req.Header.Set("Accept", "application/json")
		req.Header.Set("Accept-Encoding", "gzip")
		req.Header.Set("A2A-Version", "1.0") // some servers show their v1.0 card only then
		if here, _ := originOf(u); here == origin && f.o.Authorize != nil {
			if err := f.o.Authorize(ctx, req); err != nil {
				return nil, nil, signIn(outer, u, err)
			}
			if now, _ := originOf(req.URL); now != origin {
				return nil, nil, badAddress("The sign-in for this agent belongs to another address.", nil)
			}
		}
		resp, err := f.http.Do(req)
		if err != nil {
			return nil, nil, Broken(outer, u, err, false)
		}
		if resp.StatusCode >= 300 && resp.StatusCode < 400 {
			resp.Body.Close()
			next, err := u.Parse(resp.Header.Get("Location"))
			if err != nil || resp.Header.Get("Location") == "" || hop == 3 || next.User != nil ||
				next.Scheme != "https" && (next.Scheme != "http" || u.Scheme == "https") {
				return nil, nil, Refused(u, resp, nil)
			}
			next.Fragment = ""
			u = next
			continue
		}
		body, err := f.read(outer, u, resp)
		return body, u, err
	}
}

func signIn(ctx context.Context, u *url.URL, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Error{
		Kind: KindUnauthenticated, Where: WhereSignIn, Err: err, Raw: shorten(err.Error()),
		What: fmt.Sprintf("The sign-in for %s could not be used.", u.Host),
		Do:   "Sign in to this agent again.",
	}
}

// read returns the body of a reply that holds JSON.
func (f *finder) read(ctx context.Context, u *url.URL, resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	r, err := Body(resp, a2a.Limits.Card)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(r)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, Refused(u, resp, body)
	}
	if err != nil {
		return nil, unreadable(ctx, u, resp.StatusCode, err)
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	switch {
	case len(body) > 0 && (body[0] == '{' || isCatalog(body)):
		return body, nil
	case IsHTML(resp.Header, body):
		return nil, &Error{
			Kind: KindCardHTML, Where: WhereAgent, Status: resp.StatusCode, Raw: shorten(string(body)),
			What: fmt.Sprintf("%s shows a web page where an agent has its card.", u.Host),
			Do:   "Check the address: this may be a website, or a sign-in page in front of the agent.",
		}
	}
	return nil, &Error{
		Kind: KindGarbage, Where: WhereAgent, Status: resp.StatusCode, Raw: shorten(string(body)),
		What: fmt.Sprintf("What %s answers is not an agent card.", u.Host),
		Do:   "Check the address.",
	}
}

// unreadable tells a person why a body could not be read to its end.
func unreadable(ctx context.Context, u *url.URL, status int, err error) error {
	switch a2a.KindOf(err) {
	case a2a.KindTooLarge:
		return &Error{
			Kind: KindTooLarge, Where: WhereAgent, Status: status, Err: err,
			What: fmt.Sprintf("The card at %s is larger than %s.", u.Host, size(a2a.Limits.Card)),
			Do:   "Tell whoever runs the agent to shorten its card.",
		}
	case a2a.KindInvalidAgentResponse:
		return &Error{
			Kind: KindGarbage, Where: WhereAgent, Status: status, Err: err, Raw: shorten(err.Error()),
			What: fmt.Sprintf("What %s answers cannot be read.", u.Host),
		}
	}
	return Broken(ctx, u, err, false)
}

// IsHTML reports whether a body is a web page.
func IsHTML(h http.Header, body []byte) bool {
	if strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), "text/html") {
		return true
	}
	b := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 256)]))
	return bytes.HasPrefix(b, []byte("<!doctype html")) || bytes.HasPrefix(b, []byte("<html"))
}
