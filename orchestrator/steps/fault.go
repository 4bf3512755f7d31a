package steps

import (
	"context"
	"errors"
	"strings"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
)

// Classify says what a call that failed before the agent answered anything means for the message: whether it may have
// arrived, and what to tell people.
func Classify(err error) (engine.Class, *orchestrator.Fault) {
	f := FaultOf(err)
	var e *a2a.Error
	switch {
	case errors.As(err, &e) && e.Code != 0: // an answer, whatever it says
		return engine.Refused, f
	case FailedInside(f): // so ends what it was asked
		return engine.Refused, f
	case f.MayHaveRun: // whoever broke it: a gateway that gave up says nothing of the agent behind it
		return engine.Lost, f
	case f.Where == orchestrator.WhereNetwork && f.Kind != "tls":
		return engine.Unsent, f
	}
	return engine.Refused, f
}

// FailedInside reports whether the agent itself says that it failed, by an HTTP status of 500. As after a task that failed,
// what it was asked has come to its end, whatever it did until then.
func FailedInside(f *orchestrator.Fault) bool { return f.Kind == "agent-error" }

// final reports whether asking again for a task cannot help.
func final(err error) bool {
	var e *a2a.Error
	if errors.As(err, &e) {
		switch e.Kind {
		case a2a.KindInternal, a2a.KindUnavailable, a2a.KindRateLimited, a2a.KindInvalidAgentResponse, a2a.KindParse:
			return false
		}
		return true
	}
	var f *orchestrator.Fault
	return errors.As(err, &f) && (f.Where == orchestrator.WhereSignIn || f.Where == orchestrator.WhereUs)
}

// unreadError is a failure of our own before anything was sent, beside its cause.
type unreadError struct {
	fault *orchestrator.Fault
	cause error
}

func (e *unreadError) Error() string   { return e.fault.What + " " + e.cause.Error() }
func (e *unreadError) Unwrap() []error { return []error{e.fault, e.cause} }

// unread says that what we know of an agent could not be read. An end of the context is passed on as it is.
func unread(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &unreadError{cause: err, fault: &orchestrator.Fault{
		Kind: "not-read", Where: orchestrator.WhereUs, Retry: true, Raw: shorten(err.Error()),
		What: "Parley could not read what it knows of the agent. Nothing was sent.", Do: "Try again.",
	}}
}

// FaultOf tells an error to a person. Of one that says nothing of itself it can only be told that the call failed, and
// that the message may have arrived; what fails before a call is a *orchestrator.Fault.
func FaultOf(err error) *orchestrator.Fault {
	var f *orchestrator.Fault
	var e *a2a.Error
	answered := errors.As(err, &e)
	if errors.As(err, &f) {
		if answered && never(e) {
			told := *f
			told.Final = true
			return &told
		}
		return f
	}
	if !answered {
		return &orchestrator.Fault{
			Kind: "cut", Where: orchestrator.WhereNetwork, Retry: true, MayHaveRun: true,
			What: "The connection to the agent was lost.", Do: "Try again.", Raw: shorten(err.Error()),
		}
	}
	f = &orchestrator.Fault{
		Kind: strings.ReplaceAll(strings.ToLower(string(e.Kind)), "_", "-"), Where: orchestrator.WhereAgent,
		What: "The agent answered with an error.", Raw: shorten(e.Message), Final: never(e),
	}
	if e.Message != "" {
		f.What = "The agent answered with an error: " + shorten(e.Message)
	}
	switch e.Kind {
	case a2a.KindUnauthenticated, a2a.KindForbidden:
		f.Where, f.Do = orchestrator.WhereSignIn, "Give this agent a credential that it accepts."
	case a2a.KindRateLimited, a2a.KindUnavailable, a2a.KindInternal:
		f.Retry, f.Do = true, "Try again later."
	case a2a.KindTaskNotFound:
		f.What, f.Do = "The agent does not know this task any more.", "Send the message again."
		f.Retry = true
	case a2a.KindContentType:
		f.Do = "Leave out files or formats that the agent does not take."
	}
	return f
}

// AgentFailed is the fault of a task that its agent ended as failed or rejected.
func AgentFailed(s a2a.TaskStatus) *orchestrator.Fault {
	said := ""
	if s.Message != nil {
		said = strings.TrimSpace(a2a.Text(s.Message.Parts))
	}
	f := &orchestrator.Fault{Kind: "agent-failed", Where: orchestrator.WhereAgent, What: said, Retry: true}
	f.Final = s.Message != nil && saysFinal(s.Message.Metadata)
	if s.State == a2a.TaskStateRejected {
		f.Kind, f.Retry = "agent-declined", false
	}
	switch {
	case said != "":
	case s.State == a2a.TaskStateRejected:
		f.What = "The agent declined and gave no reason."
	default:
		f.What = "The agent failed and gave no reason."
	}
	return f
}

// shorten keeps the start of what the other side said.
func shorten(s string) string {
	if r := []rune(s); len(r) > 500 {
		return string(r[:499]) + "…"
	}
	return s
}
