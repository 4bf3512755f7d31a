package a2a

import "time"

// TaskState is where a task stands. Its value is the v1.0 name.
type TaskState string

const (
	TaskStateUnspecified   TaskState = "" // unknown: treated as active, never written
	TaskStateSubmitted     TaskState = "TASK_STATE_SUBMITTED"
	TaskStateWorking       TaskState = "TASK_STATE_WORKING"
	TaskStateInputRequired TaskState = "TASK_STATE_INPUT_REQUIRED"
	TaskStateAuthRequired  TaskState = "TASK_STATE_AUTH_REQUIRED"
	TaskStateCompleted     TaskState = "TASK_STATE_COMPLETED"
	TaskStateCanceled      TaskState = "TASK_STATE_CANCELED"
	TaskStateFailed        TaskState = "TASK_STATE_FAILED"
	TaskStateRejected      TaskState = "TASK_STATE_REJECTED"
)

// Terminal reports whether nothing may follow the state.
func (s TaskState) Terminal() bool {
	switch s {
	case TaskStateCompleted, TaskStateCanceled, TaskStateFailed, TaskStateRejected:
		return true
	}
	return false
}

// Interrupted reports whether the task waits for somebody else.
func (s TaskState) Interrupted() bool {
	return s == TaskStateInputRequired || s == TaskStateAuthRequired
}

// Task is a unit of work an agent does for a client (v1.0 section 4.1.1).
type Task struct {
	ID        string
	ContextID string
	Status    TaskStatus
	Artifacts []Artifact
	History   []Message // oldest first
	Metadata  Metadata
}

// TaskStatus is a state with the message that explains it. Timestamp is UTC, to the millisecond; zero when unknown.
type TaskStatus struct {
	State     TaskState
	Message   *Message
	Timestamp time.Time
}

// Artifact is something a task produced (v1.0 section 4.1.7). ID is unique within its task.
type Artifact struct {
	ID          string
	Name        string
	Description string
	Parts       []Part
	Metadata    Metadata
	Extensions  []string
}
