package a2aserver

import (
	"context"
	"errors"

	"parley/a2a"
)

// How many idle tasks, and how much of them, stay in memory for a read that comes soon after.
const (
	idleTasks = 256
	idleBytes = 8 << 20
)

// get returns a task of the principal, loaded into memory when it was not, and holds it; put lets go.
func (a *Agent) get(ctx context.Context, principal, id string) (*live, error) {
	l := a.acquire(ctx, id)
	err := l.gone
	if err == nil && l.head.Principal != principal {
		err = a2a.ErrTaskNotFound
	}
	if err != nil {
		a.put(l)
		if errors.Is(err, a2a.ErrTaskNotFound) {
			err = notFound(id) // the same words for what is not there and what is somebody else's
		}
		return nil, err
	}
	return l, nil
}

// acquire holds a task, whoever's it is, loaded into memory when it was not; its gone says why it could not be.
func (a *Agent) acquire(ctx context.Context, id string) *live {
	a.mu.Lock()
	l := a.tasks[id]
	if l == nil {
		l = a.newLive(id)
		a.tasks[id] = l
	} else {
		l.refs++
	}
	a.unpark(l)
	a.mu.Unlock()
	l.once.Do(func() { l.gone = l.load(context.WithoutCancel(ctx)) })
	return l
}

// hold adds a user to a task that has one.
func (a *Agent) hold(l *live) {
	a.mu.Lock()
	l.refs++
	a.mu.Unlock()
}

// put lets go of a task. One that nobody uses stays in memory for a while.
func (a *Agent) put(l *live) {
	a.mu.Lock()
	l.refs--
	parked := l.refs == 0
	if parked {
		if l.gone != nil || l.broken.Load() {
			if a.tasks[l.id] == l {
				delete(a.tasks, l.id)
			}
			parked = false
		} else {
			l.parked = a.idle.PushFront(l)
			l.parkedSize = l.size.Load()
			a.idleSize += l.parkedSize
			for a.idle.Len() > idleTasks || a.idleSize > idleBytes && a.idle.Len() > 0 {
				oldest := a.idle.Back().Value.(*live)
				a.unpark(oldest)
				delete(a.tasks, oldest.id)
			}
		}
	}
	a.mu.Unlock()
	if parked {
		l.compact()
	}
}

// unpark takes l off the list of idle tasks; a.mu is held.
func (a *Agent) unpark(l *live) {
	if l.parked != nil {
		a.idle.Remove(l.parked)
		a.idleSize -= l.parkedSize
		l.parked = nil
	}
}

// drop makes the next get read the task from the log.
func (a *Agent) drop(l *live) {
	a.mu.Lock()
	if a.tasks[l.id] == l {
		delete(a.tasks, l.id)
	}
	a.mu.Unlock()
}
