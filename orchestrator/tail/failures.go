package tail

import (
	"errors"
	"fmt"
	"iter"

	"parley/a2a"
)

// Failures remembers the runs whose log would have a hole if more were appended.
type Failures struct {
	of    map[string]error
	order []string
}

// keptFailures bounds the memory: who pipelines has far fewer batches in flight.
const keptFailures = 1 << 14

// NewFailures returns an empty memory.
func NewFailures() *Failures { return &Failures{of: map[string]error{}} }

// Empty reports whether there are none.
func (f *Failures) Empty() bool { return len(f.of) == 0 }

// Check refuses what follows something that failed, for any of these runs.
func (f *Failures) Check(runs iter.Seq[string]) error {
	for run := range runs {
		if err := f.of[run]; err != nil {
			return fmt.Errorf("an earlier event was not stored: %w", err)
		}
	}
	return nil
}

// Clear lets runs go on.
func (f *Failures) Clear(runs iter.Seq[string]) {
	for run := range runs {
		delete(f.of, run)
	}
}

// Note remembers that events of these runs were not stored.
func (f *Failures) Note(runs iter.Seq[string], err error) {
	for run := range runs {
		if f.of[run] == nil {
			f.of[run] = cause(err)
			f.order = append(f.order, run)
		}
	}
	for len(f.order) > keptFailures {
		delete(f.of, f.order[0])
		f.order = f.order[1:]
	}
}

// cause is the failure itself, without the words that Check puts before it.
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
