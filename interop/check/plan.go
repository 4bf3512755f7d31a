package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Plan says which agents to talk to and what to say. A role that is nil is not checked.
type Plan struct {
	Token  string `json:"token"`
	Echo   *Role  `json:"echo"`   // answers with the text it was sent
	Stream *Role  `json:"stream"` // streams a text in many chunks and completes
	Ask    *Role  `json:"ask"`    // asks until it was given Answers, then completes
	Slow   *Role  `json:"slow"`   // works until it is canceled
	Parts  *Role  `json:"parts"`  // answers with the very parts it was sent
	Files  *Role  `json:"files"`  // answers with files, a picture among them
}

// Role is one agent and the text that makes it play the role.
type Role struct {
	URL     string   `json:"url"`
	Text    string   `json:"text"`
	Answers []string `json:"answers"` // of Ask
	Task    bool     `json:"task"`    // of Echo: the answer is a task with an artifact, not a message
}

// Result is one line of a report.
type Result struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	None   bool   `json:"none,omitempty"` // there is no such thing in this version of the protocol
	Detail string `json:"detail,omitempty"`
}

// Main reads a plan, runs every check of it with clients from dial, prints a Result per line, and returns the exit
// status of the program.
func Main(dial Dial, stdin io.Reader, stdout io.Writer) int {
	var plan Plan
	if err := json.NewDecoder(stdin).Decode(&plan); err != nil {
		fmt.Fprintln(os.Stderr, "plan:", err)
		return 2
	}
	r := &run{dial: dial, plan: &plan, out: json.NewEncoder(stdout)}
	r.all()
	if r.failed {
		return 1
	}
	return 0
}

type run struct {
	dial   Dial
	plan   *Plan
	out    *json.Encoder
	failed bool
}

// check runs one check under a deadline and reports it.
func (r *run) check(name string, f func(ctx context.Context) (string, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	result := Result{Check: name, OK: true}
	detail, err := f(ctx)
	result.Detail = detail
	switch {
	case errors.Is(err, ErrNotInThisVersion):
		result.None = true
	case err != nil:
		result.OK, result.Detail = false, err.Error()
		r.failed = true
	}
	r.out.Encode(result)
}
