package orchestrator

import "parley/a2a"

// Event is one fact, appended once, never changed. Its JSON is a StreamResponse for the four kinds of A2A, and an
// object of its own for the others. Events are shared by all readers: do not change them.
type Event struct {
	*a2a.Entry
	RunID          string
	ConversationID string // "" outside conversations
	Kind           EventKind
}

// EventKind tells what an event's JSON is.
type EventKind string

const (
	// What an outside client of the run sees.
	EventTask     EventKind = "task"
	EventMessage  EventKind = "message"
	EventStatus   EventKind = "status"
	EventArtifact EventKind = "artifact"

	// What happened inside. Body types are in package engine.
	EventPlanned  EventKind = "planned"  // the plan, or a change of it
	EventSending  EventKind = "sending"  // about to send: the intent
	EventTaken    EventKind = "taken"    // somebody delivers it; only where several processes carry runs on
	EventSent     EventKind = "sent"     // the child task is known
	EventAsked    EventKind = "asked"    // an ask was opened
	EventAnswered EventKind = "answered" // an ask was closed
	EventStopping EventKind = "stopping" // a person asked to stop
	EventGap      EventKind = "gap"      // the connection was lost and something may be missing
	EventFault    EventKind = "fault"    // a Fault

	// Of a run that carries out a plan of several steps.
	EventResolved EventKind = "resolved" // what a step is to do was made out
	EventBegun    EventKind = "begun"    // about to begin a run for a step: the intent
	EventOver     EventKind = "over"     // the run of a step has ended
	EventDue      EventKind = "due"      // a time has come
	EventSteered  EventKind = "steered"  // a person stopped a step, or tries it again
)

// A2A reports whether events of the kind are part of the run's A2A task.
func (k EventKind) A2A() bool {
	switch k {
	case EventTask, EventMessage, EventStatus, EventArtifact:
		return true
	}
	return false
}

// KindOfEvent returns the kind under which an A2A event is logged.
func KindOfEvent(e a2a.Event) EventKind {
	switch e.(type) {
	case *a2a.Task:
		return EventTask
	case *a2a.Message:
		return EventMessage
	case *a2a.StatusUpdate:
		return EventStatus
	}
	return EventArtifact
}
