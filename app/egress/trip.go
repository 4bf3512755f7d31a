package egress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// RoundTrip sends one request, if the policy lets it. It is called for every hop of a redirect.
func (t *trip) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.send(r)
	if refused, ok := errors.AsType[*Refused](err); ok {
		named := *refused
		if named.Origin == "" {
			if o, err := originOf(r.URL); err == nil {
				named.Origin = o.String()
			}
		}
		if named.Agent == "" {
			named.Agent = t.policy.Agent
		}
		t.e.log.WarnContext(r.Context(), "outbound request refused", "origin", named.Origin, "agent", named.Agent, "reason", named.Reason)
		return nil, &named
	}
	return resp, err
}

func (t *trip) send(r *http.Request) (*http.Response, error) {
	refuse := func(err error) (*http.Response, error) {
		if r.Body != nil {
			r.Body.Close() // a RoundTripper closes the body also when it fails
		}
		return nil, err
	}
	o, err := t.originOf(r.URL)
	if err != nil {
		return refuse(err)
	}
	if r.Host != "" && !strings.EqualFold(r.Host, r.URL.Host) {
		return refuse(&Refused{Origin: o.String(), Reason: "the request names another host than its address", Advice: "Use the address itself."})
	}
	way, alive, err := t.way(r.Context(), o, isGRPC(r.Header))
	if err != nil {
		return refuse(err)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	release := func() bool { return true }
	if alive != nil {
		release = context.AfterFunc(alive, func() { cancel(errForgotten) })
	}
	end := func() { release(); cancel(nil) }

	out := r.WithContext(ctx)
	// A redirected request is recognised by the response that caused it. It never carries a credential.
	if t.policy.Credentials != nil && r.Response == nil {
		bound, err := t.policy.Credentials(ctx)
		if err != nil {
			end()
			return refuse(fmt.Errorf("the credential for %s could not be read: %w", o, err))
		}
		if len(bound) > 0 {
			out = r.Clone(ctx)
		}
		for _, b := range bound {
			attached, err := b.Attach(out)
			if err != nil {
				end()
				return refuse(err)
			}
			if attached && b.Kind == Certificate {
				way = t.certified(o, alive != nil, isGRPC(r.Header), b.Cert)
			}
		}
	}
	if t.policy.Trace != nil {
		if parent := t.policy.Trace(ctx); parent != "" {
			if out.Header = out.Header.Clone(); out.Header == nil {
				out.Header = http.Header{}
			}
			out.Header.Set("Traceparent", parent)
		}
	}
	resp, err := way.RoundTrip(out)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && r.Context().Err() == nil {
			err = cause
		}
		end()
		return nil, err
	}
	t.saw(o, resp.TLS)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		end()
		return nil, errors.New("the agent tried to change the protocol of the connection, which was not asked for")
	}
	// The caller sees the request it made: without credentials.
	resp.Request = r
	if err := t.guard(ctx, cancel, resp, end); err != nil {
		return nil, err
	}
	return resp, nil
}

// originOf is the function of that name, which need not be asked again for the address that came before: nearly every
// request of a client goes to the same.
func (t *trip) originOf(u *url.URL) (origin, error) {
	if k := t.last.Load(); k != nil && k.scheme == u.Scheme && k.host == u.Host && u.User == nil && u.Opaque == "" {
		return k.origin, nil
	}
	o, err := originOf(u)
	if err == nil {
		t.last.Store(&known{u.Scheme, u.Host, o})
	}
	return o, err
}

// known is an address whose origin was read.
type known struct {
	scheme, host string
	origin       origin
}

// errForgotten ends the requests of an agent that was removed.
var errForgotten = &Refused{Reason: "the agent was removed or its leave was taken back", Advice: "Approve it again to reach it."}

// redirect is the CheckRedirect of every client.
func (t *trip) redirect(r *http.Request, via []*http.Request) error {
	first, last := via[0], via[len(via)-1]
	if first.Method != http.MethodGet && first.Method != http.MethodHead {
		return http.ErrUseLastResponse
	}
	from, err := originOf(last.URL)
	if err != nil {
		return err
	}
	to, err := originOf(r.URL)
	if err != nil {
		return err
	}
	if len(via) > maxHops {
		return &Refused{Origin: to.String(), Reason: fmt.Sprintf("it was redirected more than %d times", maxHops), Advice: "Use the final address."}
	}
	if from.scheme == "https" && to.scheme == "http" {
		return &Refused{Origin: to.String(), Reason: from.String() + " redirects from https to plain http", Advice: "Use the https address of the target."}
	}
	for _, name := range []string{"Authorization", "Cookie", "Referer"} {
		r.Header.Del(name)
	}
	for _, hop := range via {
		if o, err := originOf(hop.URL); err != nil || o != to {
			r.Header = http.Header{}
			break
		}
	}
	return nil
}

// maxHops is how many redirects a GET may follow.
const maxHops = 3

// isStream reports whether a response is a stream of events, which has no size and no end of its own.
func isStream(h http.Header) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// isGRPC reports whether a message is one of gRPC.
func isGRPC(h http.Header) bool { return strings.HasPrefix(h.Get("Content-Type"), "application/grpc") }
