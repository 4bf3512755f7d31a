package planner

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/orchestrator"
	"parley/orchestrator/planner/completions"
)

// The tools of a model.
const (
	toolDelegate = "delegate"
	toolAsk      = "ask_person"
	toolFinish   = "finish"

	toolAnswer = "answer"
	toolLeave  = "leave_to_person"
)

// Bounds of a decision. What is at its bound is accepted.
const (
	MaxDelegations = 8        // of one decision
	MaxMessage     = 16 << 10 // bytes of the message to an agent
	MaxQuestion    = 2000     // bytes of a question to the person
	MaxChoices     = 10       // of a question
	MaxChoice      = 200      // bytes of a choice
	MaxFinish      = 64 << 10 // bytes of the answer
	MaxPassed      = 16       // artifacts passed on with one message, or with the answer
	MaxReply       = 4000     // bytes of an answer to an agent
	maxWhy         = 300
)

type schema map[string]any

func text(description string) schema { return schema{"type": "string", "description": description} }

func object(required []string, properties schema) schema {
	return schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// tools returns what a model may call now. There is one tool for all agents, with a list of tasks: see docs/planner.md.
func tools(agents []*orchestrator.Agent, handles []string, left int) []completions.Tool {
	var all []completions.Tool
	add := func(name, description string, parameters schema) {
		raw, err := json.Marshal(parameters)
		if err != nil {
			panic(err) // maps of strings
		}
		all = append(all, completions.Tool{Name: name, Description: description, Parameters: raw})
	}
	passing := func(properties schema) schema {
		if len(handles) > 0 {
			properties["artifacts"] = schema{
				"type": "array", "maxItems": MaxPassed, "description": "ids of artifacts to pass on", "items": schema{"type": "string", "enum": handles},
			}
		}
		return properties
	}
	if left > 1 && len(agents) > 0 {
		ids := make([]string, len(agents))
		for i, a := range agents {
			ids[i] = a.ID
		}
		task := object([]string{"agent", "message"}, passing(schema{
			"agent":   schema{"type": "string", "enum": ids, "description": "id of the agent"},
			"message": text("all that the agent needs to know"),
		}))
		add(toolDelegate, "Give tasks to agents. All of them are done at the same time.", object([]string{"tasks"}, schema{
			"why":   text("one short sentence for the person: what is done now"),
			"tasks": schema{"type": "array", "minItems": 1, "maxItems": MaxDelegations, "items": task},
		}))
	}
	if left > 1 {
		add(toolAsk, "Ask the person one question.", object([]string{"question"}, schema{
			"question": text("the question, in the language of the person"),
			"choices":  schema{"type": "array", "maxItems": MaxChoices, "items": schema{"type": "string"}, "description": "answers to choose from; leave it out if any answer is possible"},
		}))
	}
	add(toolFinish, "Give the person the answer.", object([]string{"answer"}, passing(schema{
		"answer": text("the whole answer, in the language of the person, in Markdown"),
	})))
	return all
}

// replyTools is what a model may call when it is to answer an agent.
func replyTools() []completions.Tool {
	var all []completions.Tool
	for _, t := range []struct {
		name, description string
		parameters        schema
	}{
		{toolAnswer, "Answer the agent with what the person already said.", object([]string{"quote"}, schema{
			"quote": text("the words of the person that hold the answer, letter by letter"),
			"text":  text("the answer"),
			"data":  schema{"type": "object", "description": "the answer, if a JSON object is asked for"},
		})},
		{toolLeave, "Leave the question to the person.", object([]string{}, schema{"why": text("one sentence")})},
	} {
		raw, err := json.Marshal(t.parameters)
		if err != nil {
			panic(err) // maps of strings
		}
		all = append(all, completions.Tool{Name: t.name, Description: t.description, Parameters: raw})
	}
	return all
}

// names joins the names of tools: "a, b or c".
func names(all []completions.Tool) string {
	var s []string
	for _, t := range all {
		s = append(s, t.Name)
	}
	if n := len(s); n > 1 {
		s = slices.Concat(s[:n-2], []string{s[n-2] + " or " + s[n-1]})
	}
	return strings.Join(s, ", ")
}
