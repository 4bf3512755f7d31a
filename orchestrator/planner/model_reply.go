package planner

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"parley/orchestrator/planner/completions"
)

// Reply answers an agent's question with what the person already said, and proves it by their words; nil in every other
// case, whatever it was that failed. The error is ctx's.
func (m *Model) Reply(ctx context.Context, b *Brief, q *Question) (*Answer, error) {
	if wantsSecret(q) || len(b.said()) == 0 || len(q.Schema) > 0 && m.o.Fits == nil {
		return nil, nil
	}
	t := m.newTalk()
	offered := replyTools()
	var a *Answer
	err := m.ask(ctx, t, offered, func() []completions.Message { return replyConversation(b, q, t.written) },
		func(reply *completions.Reply) (err error) {
			calls := reply.Calls
			if len(calls) == 0 {
				calls = writtenCalls(spoken(reply.Content), offered, t.written)
			}
			a, err = b.answer(q, calls, m.o.Fits)
			return err
		})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var wrong problem
	switch {
	case err == nil:
		m.fault.Store(nil)
	case errors.As(err, &wrong): // it does not know how to: the person does
		return nil, nil
	default:
		m.fault.Store(faultOf(err, m.name))
		m.o.Logger.WarnContext(ctx, "the model did not answer an agent", "run", b.RunID, "model", m.name, "err", err)
		return nil, nil
	}
	if a != nil {
		a.Usage = t.used()
	}
	return a, nil
}

// secrets matches what a model is never to answer for anybody, in the languages of the lexicon and some more: it would have
// nothing to answer with, but a person is to see that it was asked for.
var secrets = regexp.MustCompile(`(?i)passwor[dt]|pass(phrase|code)|\bpin\b|secret|\btokens?\b|api[-_ ]?key|credential|credit[-_ ]?card|card number|\bcvv\b|\biban\b|one[-_ ]time|\b2fa\b|\botp\b|contraseña|clave|mot de passe|kennwort|geheim|senha|密码|密碼|パスワード|暗証|비밀번호|암호`)

func wantsSecret(q *Question) bool {
	return secrets.MatchString(q.Prompt) || secrets.Match(q.Schema)
}

func replyConversation(b *Brief, q *Question, written bool) []completions.Message {
	system := struct{ Text string }{}
	if written {
		system.Text = prompt("reply_text", nil)
	}
	v := struct {
		Said                    []string
		Agent, Question, Schema string
		Choices                 []string
	}{Agent: quoted(q.AgentID, 128)}
	v.Question = data("agent "+v.Agent, q.Prompt, maxAsked)
	for _, s := range b.said() {
		v.Said = append(v.Said, shorten(clean(s), maxRequest))
	}
	v.Said = v.Said[max(0, len(v.Said)-maxTurns):]
	for _, c := range q.Choices {
		v.Choices = append(v.Choices, quoted(c.Label, MaxChoice))
	}
	if len(q.Schema) > 0 {
		v.Schema = data("agent "+v.Agent, string(q.Schema), maxAsked)
	}
	return []completions.Message{
		{Role: completions.System, Content: prompt("reply", system)},
		{Role: completions.User, Content: prompt("question", v)},
	}
}

const maxAsked = 8_000 // runes of a question, and of its schema

// answer makes of the calls of tools what an agent is answered: nil when the person is to answer.
func (b *Brief) answer(q *Question, calls []completions.Call, fits func(schema, data json.RawMessage) error) (*Answer, error) {
	if len(calls) != 1 || calls[0].Name != toolAnswer && calls[0].Name != toolLeave {
		return nil, problemf("Call %s, once.", names(replyTools()))
	}
	if calls[0].Name == toolLeave {
		return nil, nil
	}
	var args answerArgs
	if err := arguments(toolAnswer, calls[0].Arguments, &args); err != nil {
		return nil, err
	}
	if quote := folded(args.Quote); len([]rune(quote)) < 2 || !slices.ContainsFunc(b.said(), func(s string) bool { return strings.Contains(folded(s), quote) }) {
		return nil, problemf("The quote is not in what the person said. Where the person did not say the answer, call %s.", toolLeave)
	}
	a := &Answer{Text: strings.TrimSpace(args.Text)}
	if len(a.Text) > MaxReply || len(args.Data) > MaxReply {
		return nil, problemf("The answer is longer than %d bytes.", MaxReply)
	}
	switch {
	case len(q.Schema) > 0:
		a.Data, a.Text = args.Data, ""
		if s := argumentsOf(args.Data); json.Valid([]byte(s)) {
			a.Data = json.RawMessage(s)
		}
		if len(a.Data) == 0 {
			return nil, problemf(`The answer has to be in "data".`)
		}
		if err := fits(q.Schema, a.Data); err != nil {
			return nil, problemf("The data is not what the schema wants: %s", cutRunes(err.Error(), 300))
		}
	case len(q.Choices) > 0:
		id, ok := Pick(q.Choices, a.Text)
		if !ok {
			return nil, problemf("The answer is none of the choices.")
		}
		a.Text = id
	case a.Text == "":
		return nil, problemf(`The answer has to be in "text".`)
	}
	return a, nil
}

// folded is a text by its letters and digits alone, so that a quotation is known in spite of its marks, case and lines.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
