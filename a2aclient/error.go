package a2aclient

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient/card"
)

// Error is a failure told for people; package card, which fails in the same ways, defines it.
type Error = card.Error

// GapError is yielded between events when some may be missing; the sequence goes on after it.
type GapError struct{ Reason string }

func (g *GapError) Error() string { return "events may be missing: " + g.Reason }

// doing says for people what an operation is.
func doing(op wire.Op) string {
	switch op {
	case wire.OpSend:
		return "take a message"
	case wire.OpStream:
		return "answer as a stream"
	case wire.OpGet:
		return "tell how a task stands"
	case wire.OpList:
		return "list its tasks"
	case wire.OpCancel:
		return "stop a task"
	case wire.OpSubscribe:
		return "let us follow a task"
	case wire.OpExtendedCard:
		return "show its extended card"
	}
	return "do that"
}

// answered tells a person what an error that the agent answered means. status and h are those of the HTTP response.
func (c *Client) answered(op wire.Op, status int, h http.Header, ae *a2a.Error) *Error {
	name := c.name()
	e := &Error{Kind: card.KindAgent, Where: card.WhereAgent, Status: status, RetryAfter: ae.RetryAfter, Err: ae}
	e.Raw, _ = card.Text(ae.Message, 500)
	if ae.Code != 0 {
		e.Raw = fmt.Sprintf("%s (code %d)", e.Raw, ae.Code)
	}
	if ae.Final() { // whatever its kind: it is about this request, and says nothing of how the agent can be called
		e.What = fmt.Sprintf("%s did not accept the request: %s", name, sentence(ae.Message))
		return e
	}
	switch ae.Kind {
	case a2a.KindTaskNotFound:
		e.Kind = card.KindTaskNotFound
		e.What = fmt.Sprintf("%s does not know this task any more.", name)
		e.Do = "Start again with a new message."
	case a2a.KindTaskTerminal, a2a.KindTaskNotCancelable:
		e.Kind = card.KindTaskEnded
		e.What = fmt.Sprintf("The task at %s has ended already.", name)
		if ae.Kind == a2a.KindTaskTerminal {
			e.Do = "Go on with a new message."
		}
	case a2a.KindMethodNotFound, a2a.KindUnsupportedOperation, a2a.KindPushNotSupported, a2a.KindExtendedCardNotSet:
		e.Kind = card.KindUnsupported
		e.What = fmt.Sprintf("%s cannot %s.", name, doing(op))
	case a2a.KindVersionNotSupported:
		e.Kind = card.KindVersion
		e.What = fmt.Sprintf("%s does not speak this version of A2A (%s).", name, c.Dialect())
		e.Do = "Look at the agent's card again: it may offer another address for other versions."
	case a2a.KindContentType:
		e.Kind, e.Accepted = card.KindFileType, c.modes(nil)
		e.What = fmt.Sprintf("%s does not take this kind of content%s.", name, takes(e.Accepted))
	case a2a.KindExtensionRequired:
		e.Kind = card.KindExtension
		e.What = fmt.Sprintf("%s wants an extension of the protocol that Parley does not know.", name)
	case a2a.KindUnauthenticated:
		e.Kind, e.Where, e.Challenges = card.KindUnauthenticated, card.WhereSignIn, card.Challenges(h)
		e.What = fmt.Sprintf("%s wants to know who you are.", name)
		e.Do = "Sign in to this agent, or give it a new token if it already had one."
	case a2a.KindForbidden:
		e.Kind, e.Where, e.Challenges = card.KindForbidden, card.WhereSignIn, card.Challenges(h)
		e.What = fmt.Sprintf("%s does not let you do this.", name)
		e.Do = "Ask whoever runs the agent for access, or sign in with another account."
	case a2a.KindRateLimited:
		e.Kind, e.Retry = card.KindRateLimited, true
		e.What = fmt.Sprintf("%s gets too many requests right now.", name)
		e.Do = "Wait a little, then try again."
	case a2a.KindUnavailable:
		e.Kind, e.Retry = card.KindUnavailable, true
		e.What = fmt.Sprintf("%s is not available at the moment.", name)
		e.Do = "Wait a little, then try again."
	case a2a.KindTooLarge:
		e.Kind = card.KindTooLarge
		e.What = fmt.Sprintf("The message is larger than %s takes.", name)
		if ae.Code == 0 { // our limit, not theirs
			e.What = fmt.Sprintf("The answer of %s is larger than Parley takes.", name)
			e.MayHaveRun = true
		}
		e.Do = "Ask for less at once, or give large files as links."
	case a2a.KindInvalidAgentResponse:
		e.Kind, e.MayHaveRun = card.KindGarbage, true
		e.What = fmt.Sprintf("What %s answers is not A2A.", name)
		e.Do = "Tell whoever runs the agent; the raw answer shows what came."
		if ae.Code != 0 {
			e.What = fmt.Sprintf("%s says that its own answer was not valid.", name)
		}
	case a2a.KindParse, a2a.KindInvalidRequest, a2a.KindInvalidParams:
		e.Field = ae.Field
		e.What = fmt.Sprintf("%s did not accept the request: %s", name, sentence(ae.Message))
	default:
		e.MayHaveRun = true
		e.What = fmt.Sprintf("%s reported an error: %s", name, sentence(ae.Message))
		e.Do = "Try again; if it stays so, tell whoever runs the agent."
	}
	return e
}

// sentence makes the agent's own words the end of one of ours.
func sentence(s string) string {
	s, _ = card.Name(s, 200)
	if s == "" {
		return "it did not say which."
	}
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "…") && !strings.HasSuffix(s, "!") && !strings.HasSuffix(s, "?") {
		s += "."
	}
	return s
}

// protocol returns the protocol error in err, if the agent answered one.
func protocol(err error) (*a2a.Error, bool) {
	var ae *a2a.Error
	if errors.As(err, &ae) && ae.Code != 0 {
		return ae, true
	}
	return nil, false
}
