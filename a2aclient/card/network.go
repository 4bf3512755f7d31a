package card

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"parley/a2a"
)

// ErrSlow ends an exchange whose answer did not begin in time.
var ErrSlow = errors.New("no answer in time")

// Broken tells a person what err, from an exchange with the server at u, means. sent says that the request may have left.
// It returns the context's own error when ctx, the caller's, has ended.
func Broken(ctx context.Context, u *url.URL, err error, sent bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var already *Error
	if errors.As(err, &already) {
		return already
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // without the address, whose query may hold a secret
	}
	host := u.Host
	e := &Error{Where: WhereNetwork, Retry: true, Raw: shorten(err.Error()), Err: err, MayHaveRun: sent && !Unsent(err)}
	var (
		dns     *net.DNSError
		blocked blocker
		nerr    net.Error
	)
	switch {
	case errors.As(err, &blocked):
		e.Kind, e.Where, e.Retry = KindBlocked, WhereUs, false
		reason, advice := blocked.Blocked()
		e.What = fmt.Sprintf("Parley may not go to %s: %s.", host, reason)
		e.Do = advice
	case errors.As(err, &dns) && dns.IsNotFound:
		e.Kind = KindDNS
		e.What = fmt.Sprintf("There is no host named %s.", u.Hostname())
		e.Do = "Check the address for a typing mistake, and that this computer is online."
	case errors.As(err, &dns):
		e.Kind = KindDNS
		e.What = fmt.Sprintf("The name %s could not be looked up.", u.Hostname())
		e.Do = "Check that this computer is online, then try again."
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Kind = KindRefused
		e.What = fmt.Sprintf("Nothing answers at %s: the connection was refused.", host)
		e.Do = "Check that the agent is running, and the port in its address."
	case wantsCertificate(err):
		e.Kind, e.Where, e.Retry, e.MayHaveRun = KindUnauthenticated, WhereSignIn, false, false
		e.Challenges = []Challenge{{Scheme: SchemeCertificate}}
		e.What = fmt.Sprintf("%s talks only to clients that show a certificate.", host)
		e.Do = "Give this agent a client certificate that it accepts."
	case isTLS(err):
		e.Kind, e.Retry = KindTLS, false
		e.What = fmt.Sprintf("No secure connection could be made to %s: %s.", host, tlsReason(err))
		e.Do = "If the agent has no TLS, type http:// in front of its address; otherwise its operator has to fix the certificate."
	case errors.Is(err, ErrSlow), errors.Is(err, context.DeadlineExceeded), errors.As(err, &nerr) && nerr.Timeout():
		e.Kind = KindTimeout
		e.What = fmt.Sprintf("%s did not answer in time.", host)
		e.Do = "Try again; if it stays so, the agent hangs or is overloaded."
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		e.Kind = KindUnreachable
		e.What = fmt.Sprintf("There is no way to reach %s from here.", host)
		e.Do = "Check this computer's network connection, or whether a VPN is needed."
	case Unsent(err):
		e.Kind = KindUnreachable
		e.What = fmt.Sprintf("No connection to %s could be made.", host)
		e.Do = "Check the address, and that this computer is online."
	default:
		e.Kind = KindCut
		e.What = fmt.Sprintf("The connection to %s broke.", host)
		e.Do = "Try again."
	}
	return e
}

// blocker is the error of an HTTP client that has rules of its own about where it goes, and keeps to them.
type blocker interface {
	error
	Blocked() (reason, advice string) // neither a sentence nor an address: "nobody approved it"; a sentence
}

// Unsent reports whether err, of an exchange, came before a byte of the request could leave.
func Unsent(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	var dns *net.DNSError
	var blocked blocker
	return errors.As(err, &dns) || errors.As(err, &blocked) || isTLS(err)
}

func isTLS(err error) bool {
	var (
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
	)
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &unknown) ||
		errors.As(err, &invalid) || errors.As(err, &name) ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") ||
		strings.Contains(err.Error(), "TLS handshake") || answersHello(err)
}

// answersHello reports whether err is an alert by which a server says that it will not come to a connection at all (RFC 8446
// section 6.2), which crypto/tls has no type for. It looked at no request.
func answersHello(err error) bool {
	for _, alert := range []string{"handshake failure", "protocol version not supported", "unrecognized name", "no application protocol"} {
		if strings.HasSuffix(err.Error(), "remote error: tls: "+alert) {
			return true
		}
	}
	return false
}

// wantsCertificate reports whether a server broke off because the client showed no certificate: an alert of TLS 1.3
// (RFC 8446 section 6.2), which crypto/tls has no type for. The request was not looked at.
func wantsCertificate(err error) bool {
	return strings.HasSuffix(err.Error(), "remote error: tls: certificate required")
}

func tlsReason(err error) string {
	var (
		record  tls.RecordHeaderError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
	)
	switch {
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response"):
		return "it speaks plain HTTP there"
	case errors.As(err, &unknown):
		return "nobody this computer trusts vouches for its certificate"
	case errors.As(err, &name):
		return "its certificate belongs to another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired or is not valid yet"
	case strings.Contains(err.Error(), "timeout"):
		return "the handshake took too long"
	}
	return "the handshake failed"
}

// Refused tells a person what an HTTP status that is no success means. body is what came with it, shortened or whole.
func Refused(u *url.URL, resp *http.Response, body []byte) *Error {
	e := &Error{
		Where: WhereAgent, Status: resp.StatusCode, Raw: shorten(string(body)),
		RetryAfter: retryAfter(resp.Header, time.Now()),
	}
	said := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		e.Kind, e.Where, e.Challenges = KindUnauthenticated, WhereSignIn, Challenges(resp.Header)
		e.What = fmt.Sprintf("%s wants to know who you are.", u.Host)
		e.Do = "Sign in to this agent, or give it a new token if it already had one."
	case code == http.StatusForbidden:
		e.Kind, e.Where, e.Challenges = KindForbidden, WhereSignIn, Challenges(resp.Header)
		e.What = fmt.Sprintf("%s does not let you do this.", u.Host)
		e.Do = "Ask whoever runs the agent for access, or sign in with another account."
	case code == http.StatusNotFound || code == http.StatusGone:
		e.Kind = KindNotFound
		e.What = fmt.Sprintf("There is no agent at %s (%s).", Show(u), said)
		e.Do = "Look for the agent again; its address may have changed."
	case code == http.StatusRequestEntityTooLarge:
		e.Kind = KindTooLarge
		e.What = fmt.Sprintf("The message is larger than %s takes.", u.Host)
		e.Do = "Send less at once, or give large files as links."
	case code == http.StatusUnsupportedMediaType:
		e.Kind = KindFileType
		e.What = fmt.Sprintf("%s does not take that kind of content.", u.Host)
	case code == http.StatusTooManyRequests:
		e.Kind, e.Retry = KindRateLimited, true
		e.What = fmt.Sprintf("%s gets too many requests right now.", u.Host)
		e.Do = "Wait a little, then try again."
	case code == http.StatusServiceUnavailable:
		// Proxies say so too when the agent broke off; one that names a time turned the request away itself.
		e.Kind, e.Retry, e.MayHaveRun = KindUnavailable, true, e.RetryAfter == 0
		e.What = fmt.Sprintf("%s is not available at the moment.", u.Host)
		e.Do = "Wait a little, then try again."
	case code == http.StatusBadGateway || code == http.StatusGatewayTimeout:
		e.Kind, e.Retry, e.MayHaveRun = KindGateway, true, true
		e.What = fmt.Sprintf("The server in front of the agent at %s cannot reach it (%s).", u.Host, said)
		e.Do = "Try again in a while; if it stays so, tell whoever runs the agent."
	case code == http.StatusNotImplemented:
		e.Kind = KindUnsupported
		e.What = fmt.Sprintf("%s cannot do that (%s).", u.Host, said)
	case code >= 500:
		e.Kind, e.Retry, e.MayHaveRun = KindAgent, true, true
		e.What = fmt.Sprintf("%s failed inside (%s).", u.Host, said)
		e.Do = "Try again; if it stays so, tell whoever runs the agent."
	case code >= 300 && code < 400:
		e.Kind, e.Target = KindRedirect, target(u, resp)
		e.What = fmt.Sprintf("%s sends us on to %s.", Show(u), e.Target)
		e.Do = "If you trust that address, connect the agent there."
	default:
		e.Kind = KindGarbage
		e.What = fmt.Sprintf("%s turned the request down (%s).", u.Host, said)
	}
	return e
}

// target is where a redirect leads, as it may be shown.
func target(from *url.URL, resp *http.Response) string {
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return "nowhere"
	}
	return Show(to)
}

// Show is u as it may be shown and logged: without a name, a password, a query or a fragment.
func Show(u *url.URL) string {
	v := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return shorten(v.String())
}

// Body is the decoded body of resp, of which at most limit bytes can be read: one more is an *a2a.Error of kind
// KindTooLarge. Gzip is undone here, so that what is counted is what would be kept.
func Body(resp *http.Response, limit int) (io.Reader, error) {
	var r io.Reader = resp.Body
	switch enc := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); enc {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, a2a.Errorf(a2a.KindInvalidAgentResponse, "the answer is not the gzip it says it is: %w", err)
		}
		r = z
	default:
		return nil, a2a.Errorf(a2a.KindInvalidAgentResponse, "the answer is packed in a way nobody asked for (%s)", shorten(enc))
	}
	if limit <= 0 {
		return r, nil
	}
	return &capped{r: r, left: limit, limit: limit}, nil
}

type capped struct {
	r           io.Reader
	left, limit int
}

func (c *capped) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.left == 0 {
		// Only whether there is one byte more matters.
		var one [1]byte
		n, err := c.r.Read(one[:])
		if n > 0 {
			return 0, a2a.Errorf(a2a.KindTooLarge, "the answer is larger than %s", size(c.limit))
		}
		return 0, err
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

func size(n int) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
