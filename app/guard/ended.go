package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// endedSessions are those that somebody ended, until they would have ended by themselves. A cookie is taken from the browser as
// well; this is for copies of it.
type endedSessions struct {
	file string
	life time.Duration

	mu sync.RWMutex
	at map[string]time.Time // by the id of the session
}

const endedFile = "sessions.ended"

// openEnded reads the file: a line for each session, its id and when it was ended.
func openEnded(dir string, life time.Duration, now time.Time) (*endedSessions, error) {
	e := &endedSessions{file: filepath.Join(dir, endedFile), life: life, at: map[string]time.Time{}}
	b, err := os.ReadFile(e.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		id, unix, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(unix, 10, 64); err == nil && now.Sub(time.Unix(n, 0)) < life {
			e.at[id] = time.Unix(n, 0)
		}
	}
	return e, nil
}

func (e *endedSessions) has(id string) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	_, ok := e.at[id]
	return ok
}

// add ends a session. It is ended in this process also when that cannot be written.
func (e *endedSessions) add(id string, now time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at[id] = now
	var b strings.Builder
	for id, at := range e.at {
		if now.Sub(at) >= e.life {
			delete(e.at, id)
			continue
		}
		fmt.Fprintf(&b, "%s %d\n", id, at.Unix())
	}
	temp := e.file + ".new"
	if err := os.WriteFile(temp, []byte(b.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, e.file)
}
