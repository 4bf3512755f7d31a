package workflow

import (
	"encoding/json"
	"fmt"
	"slices"

	"parley/orchestrator/engine"
)

// Shapes for editors.
var (
	text       = object{"type": "string", "minLength": 1}
	words      = object{"type": []string{"string", "number", "boolean"}}
	expression = object{"type": []string{"string", "boolean", "number"}, "description": "An expression, with or without ${{ }}."}
	duration   = object{"type": "string", "pattern": durationPattern, "minLength": 2, "description": "As 90s, 5m, 1h30m or 2d; at most 365d."}
	anySchema  = object{"type": "object", "description": "JSON Schema, draft 2020-12."}
	someWords  = oneOf(words, object{"type": "array", "items": words, "minItems": 1, "uniqueItems": true})
	values     = object{"type": "object", "propertyNames": object{"pattern": wordPattern}}
)

func oneOf(schemas ...object) object { return object{"anyOf": schemas} }

func enum(words ...string) object { return object{"enum": words} }

func count(most int) object { return object{"type": "integer", "minimum": 1, "maximum": most} }

// shape is the schema of a map with those fields.
func shape[T any](fields []field[T]) object {
	properties, required := object{}, []string{}
	for _, f := range fields {
		s := object{}
		for k, v := range f.schema {
			s[k] = v
		}
		s["description"] = f.doc
		properties[f.name] = s
		if f.must {
			required = append(required, f.name)
		}
	}
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// Schema returns the JSON Schema of workflow files, for editors. It is made of the same tables that Parse reads by; what
// a schema cannot say (what refers to what, and expressions) only Parse checks.
func Schema() json.RawMessage {
	s := shape(workflowFields())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Parley workflow"
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("workflow: " + err.Error()) // it is made of literals
	}
	return b
}

func workflowFields() []field[Workflow] {
	steps := stepTable()
	return []field[Workflow]{
		{"name", "What people and agents call the workflow.", true, text, func(r *reader, n *node, w *Workflow) { w.Name = r.label(n, "the name", 100) }},
		{"description", "What it does, for people and for agents that look for a skill.", false, text, func(r *reader, n *node, w *Workflow) {
			w.Description = r.label(n, "the description", 2000)
		}},
		{
			"on", "Who may start it: `manual` is a person or the command line, `a2a` an A2A client, to whom it is a skill. Both, unless said.", false,
			oneOf(enum("manual", "a2a"), object{"type": "array", "items": enum("manual", "a2a"), "minItems": 1, "uniqueItems": true}),
			func(r *reader, n *node, w *Workflow) {
				for _, p := range r.several(n, "the trigger") {
					if t := r.option(&node{kind: isString, at: p.at, text: p.key}, "`on`", string(OnManual), string(OnA2A)); t != "" {
						w.On = append(w.On, Trigger(t))
					}
				}
			},
		},
		{
			"inputs", "What a run is given, by name: a JSON Schema each. One without a `default` is needed, unless it says `required: false`.", false,
			object{"type": "object", "propertyNames": object{"pattern": wordPattern}, "additionalProperties": object{"type": []string{"object", "null"}}},
			readInputs,
		},
		{"steps", "What is done. Steps without `needs` begin at once.", true, object{
			"type": "array", "items": shape(steps), "minItems": 1, "maxItems": engine.MaxNodes,
		}, func(r *reader, n *node, w *Workflow) { readSteps(r, n, steps, w) }},
		{"outputs", "What a run gives, by name; texts may hold expressions.", false, values, func(r *reader, n *node, w *Workflow) { w.Outputs = r.named(n, "outputs") }},
		{"timeout", "How long a run may take.", false, duration, func(r *reader, n *node, w *Workflow) { w.Timeout = r.duration(n, "the timeout") }},
		{"budget", "What a run may do on its own account.", false, shape(budgetFields()), func(r *reader, n *node, w *Workflow) {
			readObject(r, n, "the budget", budgetFields(), &w.Budget)
		}},
	}
}

func budgetFields() []field[engine.Budget] {
	return []field[engine.Budget]{
		{"calls", "Messages to agents, with repeats.", false, count(engine.MaxCalls), func(r *reader, n *node, b *engine.Budget) {
			b.Calls = r.number(n, "`calls`", 1, engine.MaxCalls)
		}},
		{"steps", "Steps of the plan, with those added while it runs.", false, count(engine.MaxNodes), func(r *reader, n *node, b *engine.Budget) {
			b.Nodes = r.number(n, "`steps`", 1, engine.MaxNodes)
		}},
		{"cost", "What all calls may cost, in the currency that the agents report: once they come to it, no other is begun. What agents report no cost of is not counted.", false, object{
			"type": "number", "exclusiveMinimum": 0,
		}, func(r *reader, n *node, b *engine.Budget) {
			b.Cost = r.amount(n, "`cost`")
		}},
	}
}

func readSteps(r *reader, n *node, fields []field[Step], w *Workflow) {
	switch {
	case n.kind != isList:
		r.bad(n.at, "begin each step with `- id:`", "`steps` is %s", n.kind)
		return
	case len(n.list) == 0:
		r.bad(n.at, "begin each step with `- id:`", "there are no steps")
		return
	case len(n.list) > engine.MaxNodes:
		r.bad(n.at, "divide the workflow, and join the parts with `use`", "there are %d steps; at most %d are allowed", len(n.list), engine.MaxNodes)
		return
	}
	for i, e := range n.list {
		s := Step{At: e.at}
		what := fmt.Sprintf("step %d", i+1)
		for _, p := range e.pairs {
			if p.key == "id" && p.value.text != "" {
				what = "step `" + p.value.text + "`"
			}
		}
		before := len(r.problems)
		readObject(r, e, what, fields, &s)
		if len(r.problems) > before {
			r.broken[i] = true
		}
		w.Steps = append(w.Steps, s)
	}
}

func stepTable() []field[Step] {
	return []field[Step]{
		{"id", "What expressions and `needs` call the step: letters, digits and _.", true, object{"type": "string", "pattern": wordPattern}, func(r *reader, n *node, s *Step) {
			s.ID = r.word(n.text, n.at, "the id")
		}},
		{"name", "What people call the step.", false, text, func(r *reader, n *node, s *Step) { s.Name = r.label(n, "the name", 200) }},
		{"agent", "Who gets the message: an agent's id, or the skill and tags it must have, looked for when the step runs.", false, agentShape(), func(r *reader, n *node, s *Step) {
			s.Agent = r.agent(n)
		}},
		{"message", "What is said to the agent: text with ${{ }} expressions, or a list of parts.", false, messageShape(), func(r *reader, n *node, s *Step) {
			s.Message = r.message(n)
		}},
		{"use", "Another workflow to run as this step: a file (./name.yaml), or the name of a workflow.", false, text, func(r *reader, n *node, s *Step) {
			s.Use = r.label(n, "`use`", 200)
		}},
		{"with", "The inputs of the workflow that `use` names.", false, values, func(r *reader, n *node, s *Step) { s.With = r.named(n, "with") }},
		{"ask", "A question to a person.", false, shape(askFields()), func(r *reader, n *node, s *Step) {
			s.Ask = &Ask{}
			readObject(r, n, "the question", askFields(), s.Ask)
		}},
		{"needs", "The steps that come before, by id.", false, someWords, func(r *reader, n *node, s *Step) { s.Needs = keysOf(r.several(n, "the step")) }},
		{"join", "When its turn comes: `all` it needs are done (as it is, unless said), `any` of them is, a `quorum` of so many is, or `collect`: none goes on, whatever became of it. A step that may fail says `on-error: skip`.", false, oneOf(
			enum("all", "any", "collect"), object{"type": "object", "properties": object{"quorum": count(engine.MaxNodes)}, "required": []string{"quorum"}, "additionalProperties": false},
		), readJoin},
		{"if", "An expression; when it is false, the step is skipped, and so is what needs it.", false, expression, func(r *reader, n *node, s *Step) {
			s.If = r.expr(n, "`if`")
		}},
		{"for-each", "A list, or an expression that gives one: the step is done for each `item`.", false, oneOf(text, object{"type": "array", "maxItems": engine.MaxItems}), func(r *reader, n *node, s *Step) {
			if n.kind == isList {
				if len(n.list) > engine.MaxItems {
					r.bad(n.at, "divide it", "the list has %d elements; at most %d are allowed", len(n.list), engine.MaxItems)
				}
				s.ForEach = r.value(n)
			} else if e := r.expr(n, "`for-each`"); e != nil {
				s.ForEach = &Value{Text: e.text()}
			}
		}},
		{"max-parallel", "How many items are worked on at a time; all, unless said.", false, count(engine.MaxItems), func(r *reader, n *node, s *Step) {
			s.Parallel = r.number(n, "`max-parallel`", 1, engine.MaxItems)
		}},
		{"loop", "Does the step again and again.", false, shape(loopFields()), func(r *reader, n *node, s *Step) { readObject(r, n, "`loop`", loopFields(), s) }},
		{"retry", "Tries again when the agent fails.", false, shape(retryFields()), func(r *reader, n *node, s *Step) { readObject(r, n, "`retry`", retryFields(), s) }},
		{"timeout", "How long the step may take, with retries and answers.", false, duration, func(r *reader, n *node, s *Step) { s.Timeout = r.duration(n, "the timeout") }},
		{"on-error", "What its failure means: the run fails (`fail`, unless said), goes on (`skip`), or another agent gets it once (`fallback`).", false, oneOf(
			enum("fail", "skip"), object{"type": "object", "properties": object{"fallback": agentShape()}, "required": []string{"fallback"}, "additionalProperties": false},
		), readOnError},
		{"approve", "true, or what to ask: a person must agree before anything is sent.", false, oneOf(object{"type": "boolean"}, text), readApprove},
		{"answer", "Who answers what the agent asks: a `person`, unless said, or the planner's `model`, which leaves to the person what it cannot tell.", false, enum("person", "model"), func(r *reader, n *node, s *Step) {
			if r.option(n, "`answer`", "person", AnswerModel) == AnswerModel {
				s.Answer = AnswerModel
			}
		}},
		{"undo", "What undoes the step once it is done, should the run be stopped.", false, shape(undoFields()), func(r *reader, n *node, s *Step) {
			s.Undo = &Undo{}
			readObject(r, n, "`undo`", undoFields(), s.Undo)
		}},
		{"outputs", "What becomes the step's data, by name, when it is done; without it that is what the agent gave.", false, values, func(r *reader, n *node, s *Step) {
			s.Outputs = r.named(n, "outputs")
		}},
	}
}

func loopFields() []field[Step] {
	return []field[Step]{
		{"while", "An expression; it may see the step itself. When it is false after a round, the loop is over.", false, expression, func(r *reader, n *node, s *Step) {
			s.While = r.expr(n, "`while`")
		}},
		{"max", "The most rounds.", true, count(engine.MaxRounds), func(r *reader, n *node, s *Step) { s.Loop = r.number(n, "`max`", 1, engine.MaxRounds) }},
	}
}

func retryFields() []field[Step] {
	return []field[Step]{
		{"attempts", "How often it is tried in all.", true, count(engine.MaxAttempt), func(r *reader, n *node, s *Step) {
			s.Attempts = r.number(n, "`attempts`", 1, engine.MaxAttempt)
		}},
		{"backoff", "The pause before the second attempt; it doubles with each.", false, duration, func(r *reader, n *node, s *Step) { s.Backoff = r.duration(n, "`backoff`") }},
	}
}

func askFields() []field[Ask] {
	return []field[Ask]{
		{"prompt", "What is asked, in Markdown; may hold ${{ }} expressions.", true, text, func(r *reader, n *node, a *Ask) { a.Prompt = r.text(n, "the prompt") }},
		{"choices", "The answers to choose from.", false, object{"type": "array", "items": words, "minItems": 2, "maxItems": 50, "uniqueItems": true}, func(r *reader, n *node, a *Ask) {
			if a.Choices = keysOf(r.several(n, "the choice")); len(a.Choices) < 2 || len(a.Choices) > 50 {
				r.bad(n.at, "write a list of 2 to 50", "`choices` has %d answers", len(a.Choices))
			}
		}},
		{"schema", "A JSON Schema of the answer: the person gets a form.", false, anySchema, func(r *reader, n *node, a *Ask) { a.Schema = r.schema(n, "`schema`") }},
	}
}

func undoFields() []field[Undo] {
	return []field[Undo]{
		{"agent", "Who undoes it; the step's own agent, unless said.", false, agentShape(), func(r *reader, n *node, u *Undo) { u.Agent = r.agent(n) }},
		{"message", "What is said to it; expressions may see the step itself.", true, messageShape(), func(r *reader, n *node, u *Undo) { u.Message = r.message(n) }},
	}
}

func readApprove(r *reader, n *node, s *Step) {
	if n.kind != isBool {
		s.Approve = r.text(n, "`approve`")
	} else if string(n.value) == "true" {
		s.Approve = &Text{At: []Pos{n.at}}
	}
}

func readJoin(r *reader, n *node, s *Step) {
	if n.kind == isMap {
		readObject(r, n, "`join`", []field[Step]{{"quorum", "How many must be done.", true, nil, func(r *reader, n *node, s *Step) {
			s.Join, s.Quorum = engine.JoinQuorum, r.number(n, "`quorum`", 1, engine.MaxNodes)
		}}}, s)
		return
	}
	switch r.option(n, "`join`", "all", "any", "collect") {
	case "any":
		s.Join = engine.JoinAny
	case "collect":
		s.Join = engine.JoinCollect
	}
}

func readOnError(r *reader, n *node, s *Step) {
	if n.kind == isMap {
		readObject(r, n, "`on-error`", []field[Step]{{"fallback", "Who gets it instead.", true, nil, func(r *reader, n *node, s *Step) {
			s.OnError, s.Fallback = engine.OnErrorFallback, r.agent(n)
		}}}, s)
		return
	}
	if n.text == "fallback" {
		r.bad(n.at, "write `on-error: {fallback: AGENT}`", "`fallback` does not say to whom")
		return
	}
	if r.option(n, "`on-error`", "fail", "skip") == "skip" {
		s.OnError = engine.OnErrorSkip
	}
}

func agentFields() []field[Agent] {
	return []field[Agent]{
		{"skill", "The id of a skill that its card names.", false, text, func(r *reader, n *node, a *Agent) { a.Skill = r.label(n, "the skill", 200) }},
		{"tags", "Tags that its skills have, all of them.", false, someWords, func(r *reader, n *node, a *Agent) { a.Tags = keysOf(r.several(n, "the tag")) }},
	}
}

func agentShape() object {
	s := shape(agentFields())
	s["minProperties"] = 1
	return oneOf(text, s)
}

// agent takes an id, or what an agent must be able to do.
func (r *reader) agent(n *node) *Agent {
	a := &Agent{}
	if n.kind != isMap {
		a.ID = r.label(n, "the agent", 200)
		return a
	}
	if readObject(r, n, "the agent", agentFields(), a); len(n.pairs) == 0 {
		r.bad(n.at, "write an agent's id, or a `skill` or `tags`", "the agent is empty")
	}
	return a
}

func partFields() []field[Part] {
	return []field[Part]{
		{"text", "Words; may hold ${{ }} expressions.", false, text, func(r *reader, n *node, p *Part) { p.Text = r.text(n, "the text") }},
		{"data", "Data; a text in it that is one expression becomes what that gives.", false, object{"not": object{"type": "null"}}, func(r *reader, n *node, p *Part) { p.Data = r.value(n) }},
		{"url", "The address of a file; may hold ${{ }} expressions.", false, text, func(r *reader, n *node, p *Part) { p.URL = r.text(n, "the address") }},
		{"artifacts", "An expression that gives artifacts of earlier steps, which are passed on, as steps.a.artifacts.", false, expression, func(r *reader, n *node, p *Part) {
			p.Artifacts = r.expr(n, "`artifacts`")
		}},
		{"media-type", "Of the text, the data or the file, as text/markdown.", false, text, func(r *reader, n *node, p *Part) {
			p.MediaType = r.label(n, "the media type", 200)
		}},
		{"filename", "What the part is called when it is kept as a file.", false, text, func(r *reader, n *node, p *Part) { p.Filename = r.label(n, "the file name", 200) }},
	}
}

func messageShape() object {
	return oneOf(words, object{"type": "array", "items": shape(partFields()), "minItems": 1, "maxItems": 100})
}

// message takes a text, or parts.
func (r *reader) message(n *node) []Part {
	if n.kind != isList {
		if t := r.text(n, "the message"); t != nil {
			return []Part{{Text: t}}
		}
		return nil
	}
	if len(n.list) == 0 || len(n.list) > 100 {
		r.bad(n.at, "write from 1 to 100", "the message has %d parts", len(n.list))
		return nil
	}
	var parts []Part
	for _, e := range n.list {
		var p Part
		if !readObject(r, e, "the part", partFields(), &p) {
			continue
		}
		kinds := []string{}
		for _, p := range e.pairs {
			if slices.Contains([]string{"text", "data", "url", "artifacts"}, p.key) {
				kinds = append(kinds, p.key)
			}
		}
		switch {
		case len(kinds) != 1:
			r.bad(e.at, "write exactly one of `text`, `data`, `url` and `artifacts`", "the part has %d contents", len(kinds))
		case p.Artifacts != nil && (p.MediaType != "" || p.Filename != ""):
			r.bad(e.at, "take `media-type` and `filename` out", "artifacts have their own types and names")
		}
		parts = append(parts, p)
	}
	return parts
}

// readInputs reads the inputs, each a JSON Schema; `required: false` beside it is taken out.
func readInputs(r *reader, n *node, w *Workflow) {
	if n.kind != isMap {
		r.bad(n.at, "write names, each with a JSON Schema", "`inputs` is %s", n.kind)
		return
	}
	for _, p := range n.pairs {
		in := Input{Name: r.word(p.key, p.at, "the input"), At: p.at}
		schema := *p.value
		if schema.kind == isNull {
			schema = node{kind: isMap, at: p.at}
		}
		needed, said, has := true, false, false
		schema.pairs = slices.DeleteFunc(slices.Clone(schema.pairs), func(q pair) bool {
			has = has || q.key == "default"
			if q.key != "required" || q.value.kind != isBool {
				return false
			}
			needed, said = string(q.value.value) == "true", true
			return true
		})
		if said && needed && has {
			r.bad(p.at, "take one of them out", "the input `%s` is needed, and has a default", p.key)
		}
		in.Optional = !needed && !has
		if in.Schema = r.schema(&schema, "the input `"+p.key+"`"); in.Schema != nil {
			r.checkDefault(&in)
		}
		w.Inputs = append(w.Inputs, in)
	}
}
