package sqlite

import (
	"errors"
	"fmt"

	"parley/a2a"
	"parley/orchestrator"
)

// failures remembers the runs whose log would have a hole if more were appended.
type failures struct {
	of    map[string]error
	order []string
}

// keptFailures bounds the memory: who pipelines has far fewer batches in flight.
const keptFailures = 1 << 14

func newFailures() *failures { return &failures{of: map[string]error{}} }

// check refuses a batch that follows one that failed. A caller that waits knows what failed and may go on.
func (f *failures) check(o *op) error {
	if o.wait || len(f.of) == 0 {
		return nil
	}
	for i := range o.batch.events {
		if err := f.of[o.batch.events[i].RunID]; err != nil {
			return fmt.Errorf("an earlier event was not stored: %w", err)
		}
	}
	return nil
}

// clear lets a run go on after a Write that succeeds.
func (f *failures) clear(o *op) {
	if !o.wait || o.batch == nil || len(f.of) == 0 {
		return
	}
	for i := range o.batch.events {
		delete(f.of, o.batch.events[i].RunID)
	}
}

// note remembers that an op failed. A duplicate that its caller waited for had nothing in flight behind it.
func (f *failures) note(o *op) {
	if o.err == nil || o.batch == nil || o.wait && errors.Is(o.err, orchestrator.ErrDuplicate) {
		return
	}
	for i := range o.batch.events {
		run := o.batch.events[i].RunID
		if f.of[run] == nil {
			f.of[run] = cause(o.err)
			f.order = append(f.order, run)
		}
	}
	for len(f.order) > keptFailures {
		delete(f.of, f.order[0])
		f.order = f.order[1:]
	}
}

// cause is the failure itself, without the words that check puts before it.
func cause(err error) error {
	for {
		if _, ok := err.(*a2a.Error); ok {
			return err
		}
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
