package a2a

import "time"

// SendRequest asks an agent to act on a message (v1.0 section 3.2.1).
type SendRequest struct {
	Tenant        string
	Message       Message
	Configuration SendConfiguration
	Metadata      Metadata

	// NewTask says that Message.TaskID is a name the caller made, as v0.1 has it: the message begins a task of that id
	// when the caller has none, and continues it otherwise.
	NewTask bool
}

// SendConfiguration says how the answer is wanted.
type SendConfiguration struct {
	AcceptedOutputModes []string // media types; empty = no preference
	Push                *PushConfig
	HistoryLength       *int // nil = the agent's choice, 0 = none, n = at most the newest n
	ReturnImmediately   bool // false: the answer waits until the task is terminal or interrupted
}

// GetRequest asks for a task as it stands.
type GetRequest struct {
	Tenant        string
	ID            string
	HistoryLength *int
}

// CancelRequest asks to stop a task.
type CancelRequest struct {
	Tenant   string
	ID       string
	Metadata Metadata
}

// SubscribeRequest asks for the events of a task from now on.
type SubscribeRequest struct {
	Tenant string
	ID     string
}

// ListRequest asks for the tasks a caller may see, newest status first (v1.0 section 3.1.4).
type ListRequest struct {
	Tenant               string
	ContextID            string
	Status               TaskState
	PageSize             int // 1 to Limits.PageSize; 0 = DefaultPageSize
	PageToken            string
	HistoryLength        *int
	StatusTimestampAfter time.Time // at or after
	IncludeArtifacts     bool
}

// DefaultPageSize is how many tasks a page of ListTasks holds when the caller names no size.
const DefaultPageSize = 50

// TaskPage is one page of a list.
type TaskPage struct {
	Tasks         []Task
	NextPageToken string // "" at the end
	PageSize      int
	TotalSize     int // before paging
}

// PushConfig says where and how an agent may report a task's events (v1.0 section 4.3.1).
type PushConfig struct {
	Tenant         string
	ID             string // made by the agent where the caller names none
	TaskID         string
	URL            string
	Token          string
	Authentication *PushAuthentication
}

// PushAuthentication is what the webhook wants in its Authorization header.
type PushAuthentication struct {
	Scheme      string
	Credentials string
	MoreSchemes []string // v0.3 and before name several: those after the first
}

// PushGetRequest asks for one push configuration of a task. An empty ID, which v0.3 and before allow, means the newest.
type PushGetRequest struct {
	Tenant string
	TaskID string
	ID     string
}

// PushListRequest asks for the push configurations of a task.
type PushListRequest struct {
	Tenant    string
	TaskID    string
	PageSize  int // 0 = all
	PageToken string
}

// PushDeleteRequest asks to forget a push configuration. One that is not there is no error.
type PushDeleteRequest struct {
	Tenant string
	TaskID string
	ID     string
}

// PushConfigPage is one page of push configurations.
type PushConfigPage struct {
	Configs       []PushConfig
	NextPageToken string // "" at the end
}

// ExtendedCardRequest asks for the card shown to those who signed in.
type ExtendedCardRequest struct {
	Tenant string
}
