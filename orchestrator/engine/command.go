package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"parley/a2a"
	"parley/orchestrator"
)

// Command is something to be done in the world. Its ID names this one doing of it.
type Command interface{ ID() string }

// Plan asks the planner which agents take part.
type Plan struct {
	Round int
	Agent string // the one that was chosen, when the planner had offered several
}

// Send asks for a message to be sent. Known means that the intent is in the log already: whoever did not start this
// command itself must find out first whether the message arrived.
type Send struct {
	Step    string
	Agent   string
	Turn    int
	Attempt int
	Repeat  int
	Task    string // the child task it is a reply to
	Context string
	Known   bool
}

// Await asks for what the agent's task does to be read until it ends or is interrupted. Watching means that the task
// waits for a sign-in and may go on by itself.
type Await struct {
	Step     string
	Agent    string
	Phase    int
	Task     string
	Watching bool
}

// Open asks for an ask to be opened.
type Open struct {
	Step  string
	Agent string
	Phase int
	Kind  orchestrator.AskKind
}

// Stop asks the agent to cancel its task.
type Stop struct {
	Step  string
	Agent string
	Task  string
	N     int
}

// Finish ends the run for a reason of our own.
type Finish struct {
	State a2a.TaskState
	Fault *orchestrator.Fault
}

func (c *Plan) ID() string { return fmt.Sprintf("plan/%d", c.Round) }
func (c *Send) ID() string {
	return "send/" + c.Step + "/" + strconv.Itoa(c.Turn) + "/" + strconv.Itoa(c.Attempt) + "/" + strconv.Itoa(c.Repeat)
}

func (c *Await) ID() string  { return fmt.Sprintf("await/%s/%d", c.Step, c.Phase) }
func (c *Open) ID() string   { return fmt.Sprintf("ask/%s/%d", c.Step, c.Phase) }
func (c *Stop) ID() string   { return fmt.Sprintf("stop/%s/%d", c.Step, c.N) }
func (c *Finish) ID() string { return "finish" }

// MessageID derives the id under which a message goes to an agent. It is the same in every delivery of one attempt
// group, so that an agent can tell a repetition from a new message.
func MessageID(run, step string, turn, attempt int) string {
	return Digest([]byte(fmt.Sprintf("%s/%s/%d/%d", run, step, turn, attempt)))
}

// Digest names a content: 128 bits of its SHA-256 in hexadecimal.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
