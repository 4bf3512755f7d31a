// Package workflow reads workflow files: plans that people write down in YAML, with the conventions they know from CI.
//
//	source ─Parse→ Workflow ─Graph→ engine.Graph ─(a node's turn comes)→ Resolve → Content ─Outcome→ the step's data
//	            └→ Problems: every one of them, with line, column and what to do
//
// Everything here is pure: no file is opened, nothing is sent, no clock is read, and the same source gives the same
// graph. A file cannot make its reader work for long: its size, depth, and what its expressions compute are bounded.
//
// Expressions stand in ${{ }}. They see inputs, steps.<id>.text|data|artifacts|state of steps that come before, item and
// run, and nothing else. What they compute becomes text or data for an agent: it cannot choose which agent is called.
package workflow

import (
	"encoding/json"
	"time"

	"parley/orchestrator/engine"
)

// Bounds of workflow files. Those of plans are the engine's.
const (
	MaxSize    = 256 << 10            // bytes of a file
	MaxTimeout = 365 * 24 * time.Hour // of a step, of a pause before a retry, and of the whole

	maxNesting  = 32    // maps and lists within one another
	maxKeys     = 1000  // of one map
	maxTokens   = 64000 // of YAML
	maxProblems = 100   // told at a time
)

// Workflow is a file that was read without problems.
type Workflow struct {
	File        string // as Parse was told
	Name        string
	Description string
	On          []Trigger // in the order of the file; never empty
	Inputs      []Input
	Steps       []Step
	Outputs     []Named
	Timeout     time.Duration // of a run; 0 = none
	Budget      engine.Budget
}

// Trigger says who may start the workflow.
type Trigger string

const (
	OnManual Trigger = "manual" // a person, or a program at the command line
	OnA2A    Trigger = "a2a"    // an A2A client, to whom it is a skill of our own agent
)

// Input is one thing that a run is given.
type Input struct {
	Name     string
	Optional bool            // it has no default, and may be left out
	Schema   json.RawMessage // JSON Schema 2020-12, compact, keys sorted
	At       Pos
}

// Step is one step of a workflow: a message to an agent, another workflow, a question to a person, or nothing of these
// when it only joins others or computes.
type Step struct {
	ID   string
	Name string
	At   Pos

	Agent   *Agent
	Message []Part
	Use     string // another workflow: a path that begins with ./ or ../, else a name
	With    []Named
	Ask     *Ask

	Needs    []string
	Join     engine.Join
	Quorum   int
	If       *Expr
	ForEach  *Value
	Parallel int // 0 = all
	While    *Expr
	Loop     int // most rounds; 0 = one
	Attempts int // 0 = 1
	Backoff  time.Duration
	Timeout  time.Duration
	OnError  engine.OnError
	Fallback *Agent // of OnErrorFallback
	Approve  *Text  // what a person is to agree to; nil: nobody is asked
	Answer   string // who answers what the agent asks: a person (""), or AnswerModel
	Undo     *Undo
	Outputs  []Named // become the step's data
}

// Kind returns what the step is to the engine.
func (s *Step) Kind() engine.NodeKind {
	switch {
	case s.Agent != nil || s.Use != "":
		return engine.NodeCall
	case s.Ask != nil:
		return engine.NodeAsk
	}
	return engine.NodeNone
}

// AnswerModel lets the planner's model answer what the agent of a step asks; what it cannot answer a person is asked, as
// everything is without it.
const AnswerModel = "model"

// Agent says who gets a message: an id, or what somebody must be able to do, who is found when the step runs.
type Agent struct {
	ID    string   `json:"id,omitempty"`
	Skill string   `json:"skill,omitempty"`
	Tags  []string `json:"tags,omitempty"` // all of them
}

// Part is one part of a message. Exactly one of Text, Data, URL and Artifacts is set.
type Part struct {
	Text      *Text  `json:"text,omitempty"`
	Data      *Value `json:"data,omitempty"`
	URL       *Text  `json:"url,omitempty"`
	Artifacts *Expr  `json:"artifacts,omitempty"` // what earlier steps made, passed on by reference
	MediaType string `json:"mediaType,omitempty"`
	Filename  string `json:"filename,omitempty"`
}

// Ask is a question to a person: in words, with Choices, or with a form when Schema is set.
type Ask struct {
	Prompt  *Text           `json:"prompt"`
	Choices []string        `json:"choices,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
}

// Undo is the message that undoes a step that was done, should the run be stopped.
type Undo struct {
	Agent   *Agent `json:"agent,omitempty"` // nil: the step's own
	Message []Part `json:"message"`
}

// Named is a value with a name.
type Named struct {
	Name  string `json:"name"`
	Value *Value `json:"value"`
}

// Value is data whose texts may hold expressions. Exactly one of the fields counts; List and Map may be empty, and are
// not nil then.
type Value struct {
	Text *Text           `json:"text,omitempty"`
	List []*Value        `json:"list,omitzero"`
	Map  []Named         `json:"map,omitzero"`
	JSON json.RawMessage `json:"json,omitempty"` // a number, a boolean or null
}

// Text is words with expressions in them. At[0] is where it begins in the file, and At[n] where its nth expression does.
type Text struct {
	Src string `json:"src"`
	At  []Pos  `json:"at"`
}

// Expr is an expression, without ${{ }}.
type Expr struct {
	Src string `json:"src"`
	At  Pos    `json:"at"`
}

// Pos is a place in a file: both count from 1, the column in characters.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Unnamed is the name of a file that there is only the text of: where something is wrong when it is carried out, people are
// told the workflow's own name.
const Unnamed = "workflow"

// Parse reads a workflow file. It returns either a workflow or all that is wrong with the file, in its order; of more
// than 100 problems the first. name stands in messages, and is where ./ of `use` begins.
func Parse(name string, src []byte) (*Workflow, Problems) {
	w, problems := Read(name, src)
	if problems != nil {
		return nil, problems
	}
	return w, nil
}

// Read is Parse for those who show a file with problems, too: the workflow has what could be read of it.
func Read(name string, src []byte) (*Workflow, Problems) {
	r := &reader{src: src, broken: map[int]bool{}}
	w := &Workflow{File: name}
	n := r.yaml()
	if n == nil {
		return w, r.sorted()
	}
	readObject(r, n, "the workflow", workflowFields(), w)
	r.check(w)
	if len(r.problems) > 0 {
		return w, r.sorted()
	}
	return w, nil
}
