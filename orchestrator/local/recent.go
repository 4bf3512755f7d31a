package local

import (
	"slices"
	"sync"

	"parley/a2a"
	"parley/orchestrator"
)

// recent keeps the tasks that ended last, as far as each is one small event: a caller that waited for the answer asks
// for the task at once, and it need not be read and folded again.
type recent struct {
	mu    sync.Mutex
	tasks map[string]*ended
	order []string
}

// ended is a task whose only event says it all.
type ended struct {
	owner string
	task  a2a.Task
}

// What recent keeps at most: tasks, and bytes of JSON of one.
const (
	keptTasks = 64
	keptBytes = 16 << 10
)

// add keeps a committed task. Others may hold t too: it is not changed.
func (k *recent) add(row *orchestrator.Run, t *a2a.Task) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tasks == nil {
		k.tasks = map[string]*ended{}
	}
	if len(k.order) == keptTasks {
		delete(k.tasks, k.order[0])
		k.order = slices.Delete(k.order, 0, 1)
	}
	k.tasks[row.ID] = &ended{owner: owner(row.Principal, row.Scope), task: *t}
	k.order = append(k.order, row.ID)
}

// get returns a task that the caller may see and change on its surface, or nil.
func (k *recent) get(id, principal, scope string) *a2a.Task {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.tasks[id]
	if e == nil || e.owner != owner(principal, scope) {
		return nil
	}
	t := e.task
	return &t
}

func owner(principal, scope string) string { return scope + "\x00" + principal }

// runs reports whether a run that the caller may see is going on now, without asking the store.
func (d *Driver) runs(id, principal, scope string) bool {
	d.mu.Lock()
	r := d.live[id]
	d.mu.Unlock()
	return r != nil && !r.over.Load() && r.owner == owner(principal, scope)
}
