package planner

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"parley/orchestrator/planner/completions"
)

// What the tools are called with. A model that is not good at it writes one thing where a list is wanted, or the JSON of a
// value as a string: oneOrMore reads both.
type (
	delegateArgs struct {
		Why   string              `json:"why,omitempty"`
		Tasks oneOrMore[taskArgs] `json:"tasks"`
	}
	taskArgs struct {
		Agent     string            `json:"agent"`
		Message   string            `json:"message"`
		Artifacts oneOrMore[string] `json:"artifacts,omitempty"`
	}
	askArgs struct {
		Question string            `json:"question"`
		Choices  oneOrMore[string] `json:"choices,omitempty"`
	}
	finishArgs struct {
		Answer    string            `json:"answer"`
		Artifacts oneOrMore[string] `json:"artifacts,omitempty"`
	}
	answerArgs struct {
		Quote string          `json:"quote"`
		Text  string          `json:"text"`
		Data  json.RawMessage `json:"data"`
	}
)

type oneOrMore[T any] []T

func (l *oneOrMore[T]) UnmarshalJSON(raw []byte) error {
	var all []T
	err := json.Unmarshal(raw, &all)
	if err == nil {
		*l = all
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if s == "" {
			return nil
		}
		if json.Unmarshal([]byte(s), &all) == nil {
			*l = all
			return nil
		}
	}
	var one T
	if json.Unmarshal(raw, &one) != nil {
		return err
	}
	*l = []T{one}
	return nil
}

var (
	thinking = regexp.MustCompile(`(?is)<think(ing)?>.*?</think(ing)?>`)
	wrapping = regexp.MustCompile("(?i)</?tool_calls?>|```[a-z_]*")
)

// spoken is what a model wrote, without what it wrote to itself.
func spoken(content string) string {
	content = thinking.ReplaceAllString(content, "")
	if _, after, ok := strings.Cut(content, "</think>"); ok { // its beginning was in the template
		content = after
	}
	return strings.TrimSpace(content)
}

// written reads calls of the tools out of what a model wrote: all of it, or with loose what follows the first brace. In a
// text that is an answer to a person nothing is taken for a call.
func writtenCalls(content string, tools []completions.Tool, loose bool) []completions.Call {
	s := strings.TrimSpace(wrapping.ReplaceAllString(content, "\n"))
	if loose && !strings.HasPrefix(s, "[") {
		s = s[max(0, strings.IndexByte(s, '{')):]
	}
	var all []completions.Call
	for d := json.NewDecoder(strings.NewReader(s)); d.More(); {
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			if loose {
				break
			}
			return nil
		}
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			list = []json.RawMessage{raw}
		}
		for _, one := range list {
			call, ok := callIn(one, tools)
			if !ok {
				return nil
			}
			all = append(all, call)
		}
	}
	return all
}

// callIn reads {"delegate": {…}}, or as models were trained to write it {"name": "delegate", "arguments": {…}}.
func callIn(raw json.RawMessage, tools []completions.Tool) (c completions.Call, ok bool) {
	var v map[string]json.RawMessage
	if json.Unmarshal(raw, &v) != nil {
		return c, false
	}
	if f := v["function"]; f != nil {
		_ = json.Unmarshal(f, &v)
	}
	known := func(name string) bool {
		return slices.ContainsFunc(tools, func(t completions.Tool) bool { return t.Name == name })
	}
	if json.Unmarshal(v["name"], &c.Name) == nil && c.Name != "" {
		args := v["arguments"]
		if args == nil {
			args = v["parameters"]
		}
		c.Arguments = argumentsOf(args)
		return c, true
	}
	for name, args := range v {
		if known(name) && c.Name == "" {
			c.Name, c.Arguments = name, argumentsOf(args)
		} else if known(name) {
			return c, false // two at once
		}
	}
	return c, c.Name != ""
}

// argumentsOf returns arguments that may be JSON in a string.
func argumentsOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
