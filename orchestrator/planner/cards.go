package planner

import (
	"context"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode"

	"parley/orchestrator"
)

// A match is taken without asking when it scores Enough more than Margin times the second best: a lead tells better than
// a ratio that small scores are often right by chance. Less than Enough is a word or two that say little.
const (
	Margin = 1.125
	Enough = 0.5
)

// offered is how many candidates at most are put to a person when some match.
const offered = 3

// Cards finds the agent for a text. It keeps what it has read of the cards until they change. The zero value is ready
// to use, by several goroutines at once.
type Cards struct {
	mu     sync.Mutex
	seed   maphash.Seed
	key    uint64 // of the cards that roster was made from
	roster *roster
}

// Plan finds the approved agent whose card matches the text. An agent that the text names, or a clear winner (a match
// that scores Enough more than Margin times the second) is the plan; otherwise the best matches are offered, three at most,
// or every approved agent when none matches. With no approved agent at all it answers a *orchestrator.Fault.
func (c *Cards) Plan(ctx context.Context, agents orchestrator.Agents, text string) (*Plan, error) {
	all, err := agents.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(a *orchestrator.Agent) bool { return a.Trust != orchestrator.TrustApproved })
	if len(all) == 0 {
		return nil, &orchestrator.Fault{
			Kind: "no-agents", Where: orchestrator.WhereUs,
			What: "No agent is connected yet.", Do: "Connect an agent first, then send the message again.",
		}
	}
	return c.choose(all, text), nil
}

// choose finds the one of the agents, of which there is at least one, whose card matches the text.
func (c *Cards) choose(all []*orchestrator.Agent, text string) *Plan {
	r := c.read(all)
	if a := r.named(text); a != nil {
		return &Plan{Agent: a.ID, Why: "The message asks for " + Choice(a).Label + "."}
	}
	ms := r.rank(text)
	if clear(ms) {
		return &Plan{Agent: ms[0].agent.ID, Why: ms[0].why()}
	}
	if len(ms) == 0 {
		p := &Plan{Prompt: "None of the connected agents clearly fits. Which one should take this?"}
		for _, a := range all {
			p.Choices = append(p.Choices, Choice(a))
		}
		return p
	}
	p := &Plan{Prompt: "More than one agent could take this. Which one should it be?"}
	if len(ms) == 1 {
		p.Prompt = "It is not certain that this agent can take this. Should it?"
	}
	for _, m := range ms[:min(offered, len(ms))] {
		p.Choices = append(p.Choices, Choice(m.agent))
	}
	return p
}

// clear reports whether the first of the matches, best first, is plainly the best.
func clear(ms []match) bool {
	if len(ms) == 0 {
		return false
	}
	second := 0.0
	if len(ms) > 1 {
		second = ms[1].score
	}
	return ms[0].score >= Enough+Margin*second
}

// why says in a sentence which words of the request speak for the match.
func (m *match) why() string {
	words := make([]string, min(3, len(m.words)))
	for i := range words {
		words[i] = "“" + m.words[i] + "”"
	}
	last := len(words) - 1
	list := words[last]
	if last > 0 {
		list = strings.Join(words[:last], ", ") + " and " + list
	}
	return Choice(m.agent).Label + " fits best: its card speaks of what " + list + " is about."
}

// read returns the roster of the agents, from before if nothing about their cards has changed.
func (c *Cards) read(agents []*orchestrator.Agent) *roster {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.roster == nil {
		c.seed = maphash.MakeSeed()
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, a := range agents {
		h.WriteString(a.ID)
		for s := range texts(a) {
			h.WriteByte(0)
			h.WriteString(s)
		}
		h.WriteByte(1)
	}
	if key := h.Sum64(); c.roster == nil || key != c.key {
		c.roster, c.key = newRoster(agents), key
	} else {
		// The agents may have changed in what is not matched by.
		for i, a := range agents {
			if c.roster.cards[i].agent != a {
				c.roster = c.roster.with(agents)
				break
			}
		}
	}
	return c.roster
}

// texts yields all that an agent is matched by.
func texts(a *orchestrator.Agent) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(a.Name) || a.Card == nil || !yield(a.Card.Description) {
			return
		}
		for i := range a.Card.Skills {
			s := &a.Card.Skills[i]
			for _, part := range [][]string{{s.Name, s.Description}, s.Tags, s.Examples} {
				for _, text := range part {
					if !yield(text) {
						return
					}
				}
			}
		}
	}
}

// with returns the roster with other rows of the same agents.
func (r *roster) with(agents []*orchestrator.Agent) *roster {
	to := *r
	to.cards = make([]*card, len(r.cards))
	for i, c := range r.cards {
		other := *c
		other.agent = agents[i]
		to.cards[i] = &other
	}
	return &to
}

// named returns the agent that the text asks for by name, if there is exactly one. A name of several words, or one that
// is no word of the languages we know, is enough by itself; one that is needs a word before it that asks for somebody
// ("ask Currency"), an @, or to stand first with a comma or a colon.
func (r *roster) named(text string) *orchestrator.Agent {
	ts := tokens(text)
	var found *orchestrator.Agent
	for _, c := range r.cards {
		if !c.names(ts, text) {
			continue
		}
		if found != nil {
			return nil
		}
		found = c.agent
	}
	return found
}

func (c *card) names(ts []token, text string) bool {
	name := c.name
	if len(name) == 0 {
		return false
	}
	for i := 0; i+len(name) <= len(ts); i++ {
		if ts[i].aside || !slices.EqualFunc(ts[i:i+len(name)], name, func(x, y token) bool { return x.word == y.word }) {
			continue
		}
		switch {
		case c.sure, i > 0 && asksFor[ts[i-1].word]:
			return true
		case i == 0 && strings.IndexAny(strings.TrimPrefix(strings.TrimSpace(text), ts[0].text), ",:") == 0:
			return true
		}
	}
	for i := range text {
		if text[i] != '@' {
			continue
		}
		handle := text[i+1:]
		end := strings.IndexFunc(handle, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("-_.@", r)
		})
		if end >= 0 {
			handle = handle[:end]
		}
		handle = strings.TrimRight(handle, ".")
		if strings.EqualFold(handle, c.agent.ID) || strings.EqualFold(handle, strings.Join(strings.Fields(c.agent.Name), "")) {
			return true
		}
	}
	return false
}

// sure reports whether a name means its agent wherever it stands.
func (r *roster) sure(name []token) bool {
	if len(name) != 1 {
		return len(name) > 1
	}
	t := name[0]
	return !t.run && len(t.word) >= 4 && r.lex.ordinary[t.word] == plainWord && len(r.lex.word(t)) == 0 &&
		len(r.in[feature{kind: ofWord, text: t.stem}]) == 1
}

var asksFor = map[string]bool{
	"ask": true, "let": true, "tell": true, "via": true, "use": true, "using": true,
	"frag": true, "frage": true, "nutze": true, "uber": true,
	"pregunta": true, "usa": true, "demande": true, "utilise": true,
}
