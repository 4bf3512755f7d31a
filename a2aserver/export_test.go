package a2aserver

import "time"

// SetPatience sets how long a write to a stream may take.
func SetPatience(h *Handler, d time.Duration) { h.streams.patience = d }

// OpenStreams counts the open streams.
func OpenStreams(h *Handler) int {
	h.streams.mu.Lock()
	defer h.streams.mu.Unlock()
	return len(h.streams.open)
}

// Idle counts the tasks in memory that nobody uses.
func (a *Agent) Idle() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.idle.Len()
}

// Held counts the tasks in memory, and the messages that are being taken in.
func (a *Agent) Held() (tasks, claims int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.tasks), len(a.claims)
}

// Readers counts those who wait for a task's commits.
func (a *Agent) Readers(task string) int {
	a.mu.Lock()
	l := a.tasks[task]
	a.mu.Unlock()
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.readers)
}

const (
	IdleTasks      = idleTasks
	MaxUncommitted = maxUncommitted
	QueuedTurns    = queuedTurns
)
