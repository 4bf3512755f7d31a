package egress

import (
	"fmt"
	"time"
)

// Refused says that a request was not made, or a connection not opened, because nobody gave leave for it. Reason and
// Advice are for people.
type Refused struct {
	Origin string // where it would have gone
	Agent  string // for whom, when it was for an agent
	Reason string // why not
	Advice string // what to do about it
}

func (r *Refused) Error() string {
	where := r.Origin
	if where == "" {
		where = "the request"
	}
	return fmt.Sprintf("%s was refused: %s. %s", where, r.Reason, r.Advice)
}

// Blocked says why, and what to do about it, to whoever tells a refusal from a failure by this method.
func (r *Refused) Blocked() (reason, advice string) { return r.Reason, r.Advice }

// TooLarge says that a response was cut off because it is larger than its limit.
type TooLarge struct {
	Limit int64 // decoded bytes; 0 when it expands beyond measure
}

func (t *TooLarge) Error() string {
	if t.Limit == 0 {
		return "the answer was cut off: it is compressed beyond what any honest answer is"
	}
	return fmt.Sprintf("the answer was cut off: it is larger than %d bytes", t.Limit)
}

// Stalled says that a response was given up because it came too slowly. It is a timeout for net.Error.
type Stalled struct {
	After time.Duration
	Whole bool // the whole took too long, as opposed to a silence
}

func (s *Stalled) Error() string {
	if s.Whole {
		return fmt.Sprintf("the answer was given up: it was not complete after %v", s.After)
	}
	return fmt.Sprintf("the answer was given up: nothing came for %v", s.After)
}

// Timeout and Temporary make Stalled a net.Error.
func (s *Stalled) Timeout() bool   { return true }
func (s *Stalled) Temporary() bool { return true }
