package card

import (
	"net/http"
	"time"
)

// Error is a failure in finding or reaching an agent, told for people: what happened, on whose side, what to do about it.
// Err, when set, is the cause; an agent's own answer is an *a2a.Error in there.
type Error struct {
	Kind  Kind
	Where Where
	What  string // one sentence
	Do    string // one sentence; "" when there is nothing to be done
	Raw   string // what the other side said, shortened
	Retry bool   // trying again may help

	// MayHaveRun says that the agent may have acted on the request all the same, so that nobody may send it again without
	// asking. It is false when the request certainly was not carried out.
	MayHaveRun bool

	Status     int           // HTTP status, 0 when there was no answer
	RetryAfter time.Duration // as the other side asked, 0 = it did not
	Challenges []Challenge   // of a 401 or 403
	Tried      []Try         // of a search for a card: every address asked, in order
	Field      string        // of an invalid card: the member at fault
	Accepted   []string      // of a file that is not accepted: the media types that are
	URIs       []string      // of a required extension: the extensions we do not know
	Target     string        // of a redirect that was not followed: where it led
	Err        error
}

func (e *Error) Error() string { return e.What }

func (e *Error) Unwrap() error { return e.Err }

// Try is one address that was asked for a card and what came of it.
type Try struct {
	URL    string
	Status int    // 0 when there was no answer
	Result string // a few words: "not found", "a web page, not a card"
}

// Where says on whose side a failure lies.
type Where string

const (
	WhereUs      Where = "us"
	WhereNetwork Where = "network"
	WhereAgent   Where = "agent"
	WhereSignIn  Where = "sign-in"
)

// Kind names a failure for programs.
type Kind string

const (
	KindAddress         Kind = "address"         // what was given is no address, card or file
	KindBlocked         Kind = "blocked"         // our own rules do not let us go there
	KindDNS             Kind = "dns"             // no such host
	KindRefused         Kind = "refused"         // nobody listens there
	KindUnreachable     Kind = "unreachable"     // no way to get there
	KindTLS             Kind = "tls"             // no trustworthy encrypted connection
	KindTimeout         Kind = "timeout"         // no answer in time
	KindCut             Kind = "cut"             // the connection broke
	KindUnauthenticated Kind = "unauthenticated" // 401
	KindForbidden       Kind = "forbidden"       // 403
	KindRedirect        Kind = "redirect"        // a redirect that may not be followed
	KindNotFound        Kind = "not-found"       // nothing at the agent's address
	KindCardNotFound    Kind = "card-not-found"  // Tried lists where
	KindCardHTML        Kind = "card-html"       // a web page instead of a card
	KindCardInvalid     Kind = "card-invalid"    // Field says where
	KindNoInterface     Kind = "no-interface"    // reachable only in ways we do not speak
	KindVersion         Kind = "version"         // no version of A2A in common
	KindExtension       Kind = "extension"       // needs an extension we do not know
	KindFileType        Kind = "file-type"       // does not take files of that type
	KindTooLarge        Kind = "too-large"       // over a limit, theirs or ours
	KindTaskNotFound    Kind = "task-not-found"  //
	KindTaskEnded       Kind = "task-ended"      // a message or a stop for a task that has ended
	KindUnsupported     Kind = "unsupported"     // the agent cannot do that
	KindRateLimited     Kind = "rate-limited"    //
	KindUnavailable     Kind = "unavailable"     // shutting down or overloaded
	KindGateway         Kind = "bad-gateway"     // a server in front of the agent cannot reach it
	KindGarbage         Kind = "garbage"         // not an A2A answer
	KindAgent           Kind = "agent-error"     // any other failure the agent answered
)

const rawLimit = 500

// shorten makes s fit to be shown as raw text.
func shorten(s string) string {
	s, _ = Text(s, rawLimit)
	return s
}

// retryAfter reads the header of that name, in seconds or as a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if d, err := time.ParseDuration(v + "s"); err == nil && d > 0 {
		return min(d, time.Hour)
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return min(t.Sub(now), time.Hour)
	}
	return 0
}
