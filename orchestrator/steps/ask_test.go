package steps_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
	"parley/orchestrator/engine"
	"parley/orchestrator/steps"
)

func data(s string) a2a.Part { return a2a.Part{Kind: a2a.PartData, Data: json.RawMessage(s)} }

func status(parts ...a2a.Part) *a2a.TaskStatus {
	return &a2a.TaskStatus{Message: &a2a.Message{Parts: parts}}
}

func link(label, url string) orchestrator.Link { return orchestrator.Link{Label: label, URL: url} }

func TestAskOf(t *testing.T) {
	t.Parallel()
	const object = `{"type":"object","properties":{"a":{"type":"string"}}}`
	tests := []struct {
		name   string
		kind   orchestrator.AskKind
		status *a2a.TaskStatus
		want   engine.Asked
	}{
		{"words", orchestrator.AskInput, status(a2a.TextPart(" Which **city**? ")), engine.Asked{Prompt: "Which **city**?"}},
		{"no message", orchestrator.AskInput, &a2a.TaskStatus{}, engine.Asked{Prompt: "The agent needs your answer."}},
		{"no words for a sign-in", orchestrator.AskSignIn, &a2a.TaskStatus{}, engine.Asked{Prompt: "The agent needs you to sign in."}},
		{"a link is no sign-in", orchestrator.AskInput, status(a2a.TextPart("See https://e.com")), engine.Asked{Prompt: "See https://e.com"}},

		{"the data is the schema", orchestrator.AskInput, status(a2a.TextPart("?"), data(object)), engine.Asked{Prompt: "?", Schema: json.RawMessage(object)}},
		{"properties alone", orchestrator.AskInput, status(a2a.TextPart("?"), data(`{"properties":{}}`)), engine.Asked{Prompt: "?", Schema: json.RawMessage(`{"properties":{}}`)}},
		{"by $schema", orchestrator.AskInput, status(a2a.TextPart("?"), data(`{"$schema":"x"}`)), engine.Asked{Prompt: "?", Schema: json.RawMessage(`{"$schema":"x"}`)}},
		{"a single value", orchestrator.AskInput, status(a2a.TextPart("?"), data(`{"type":"string","enum":["a"]}`)), engine.Asked{Prompt: "?", Schema: json.RawMessage(`{"type":"string","enum":["a"]}`)}},
		{"under schema", orchestrator.AskInput, status(a2a.TextPart("?"), data(`{"schema":`+object+`}`)), engine.Asked{Prompt: "?", Schema: json.RawMessage(object)}},
		{"under inputSchema", orchestrator.AskInput, status(a2a.TextPart("?"), data(`{"inputSchema":`+object+`}`)), engine.Asked{Prompt: "?", Schema: json.RawMessage(object)}},
		{"under requestedSchema", orchestrator.AskInput, status(a2a.TextPart("?"), data(`{"requestedSchema":`+object+`}`)), engine.Asked{Prompt: "?", Schema: json.RawMessage(object)}},
		{"under form", orchestrator.AskInput, status(a2a.TextPart("?"), data(`{"form":`+object+`}`)), engine.Asked{Prompt: "?", Schema: json.RawMessage(object)}},
		{"data that only looks like one", orchestrator.AskInput, status(a2a.TextPart("?"), data(`{"type":"flight"}`), data(`{"type":"string"}`), data(`[1]`), data(`{"schema":"x"}`), data(`{"properties":[]}`)), engine.Asked{Prompt: "?"}},

		{"choices of strings", orchestrator.AskInput, status(a2a.TextPart("?"), data(`{"choices":["a","b"]}`)), engine.Asked{Prompt: "?", Choices: []orchestrator.Choice{{ID: "a", Label: "a"}, {ID: "b", Label: "b"}}}},
		{"options of objects", orchestrator.AskInput, status(a2a.TextPart("?"), data(`{"options":[{"value":"1","title":"One","description":"d"}]}`)), engine.Asked{Prompt: "?", Choices: []orchestrator.Choice{{ID: "1", Label: "One", Detail: "d"}}}},
		{"choices of something else", orchestrator.AskInput, status(a2a.TextPart("?"), data(`{"choices":[1,{}]}`)), engine.Asked{Prompt: "?"}},

		{
			"links of a sign-in", orchestrator.AskSignIn,
			status(a2a.TextPart("Go to [the desk](https://a.com/x?y=1), or http://b.com/z."), a2a.Part{Kind: a2a.PartURL, URL: "https://c.com/", Filename: "Sign in"},
				data(`{"schemes":["OAuth2"],"credentials":"{\"authorizationUrl\":\"https://d.com/auth\",\"tokenUrl\":\"https://d.com/token\"}"}`)),
			engine.Asked{
				Prompt: "Go to [the desk](https://a.com/x?y=1), or http://b.com/z.",
				Links:  []orchestrator.Link{link("the desk", "https://a.com/x?y=1"), link("b.com", "http://b.com/z"), link("Sign in", "https://c.com/"), link("authorizationUrl", "https://d.com/auth")},
			},
		},
		{
			"the schemes are the words", orchestrator.AskSignIn, status(data(`{"schemes":["Bearer","OAuth2"],"url":"https://a.com"}`)),
			engine.Asked{Prompt: "The agent needs you to sign in (Bearer, OAuth2).", Links: []orchestrator.Link{link("url", "https://a.com")}},
		},
		{
			"addresses that are none to open", orchestrator.AskSignIn,
			status(a2a.TextPart("javascript:alert(1) ftp://a.com file:///etc/passwd https://user:pw@evil.com/ https://"), data(`{"a":"javascript:x","b":"https://user@evil.com","$schema":"https://json-schema.org/x"}`)),
			engine.Asked{Prompt: "javascript:alert(1) ftp://a.com file:///etc/passwd https://user:pw@evil.com/ https://", Schema: json.RawMessage(`{"a":"javascript:x","b":"https://user@evil.com","$schema":"https://json-schema.org/x"}`)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.want.AskKind = tt.kind
			if diff := cmp.Diff(&tt.want, steps.AskOf(tt.kind, tt.status, nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A sign-in that is wanted again keeps the way in, unless the agent names another.
func TestAskOfSignInAgain(t *testing.T) {
	t.Parallel()
	links := []orchestrator.Link{link("the desk", "https://a.com/x")}
	before := &orchestrator.Ask{Prompt: "Go to [the desk](https://a.com/x).", Links: links}
	again := orchestrator.NotSignedIn + "\n\n" + before.Prompt
	for _, tt := range []struct {
		name   string
		status *a2a.TaskStatus
		before *orchestrator.Ask
		want   engine.Asked
	}{
		{"without a word", &a2a.TaskStatus{}, before, engine.Asked{Prompt: again, Links: links}},
		{"a third time", &a2a.TaskStatus{}, &orchestrator.Ask{Prompt: again, Links: links}, engine.Asked{Prompt: again, Links: links}},
		{"in words", status(a2a.TextPart("Not yet.")), before, engine.Asked{Prompt: orchestrator.NotSignedIn + "\n\nNot yet.", Links: links}},
		{"elsewhere", status(a2a.TextPart("Go to https://b.com.")), before, engine.Asked{Prompt: "Go to https://b.com.", Links: []orchestrator.Link{link("b.com", "https://b.com")}}},
		{"where no way in was given", &a2a.TaskStatus{}, &orchestrator.Ask{Prompt: "Sign in."}, engine.Asked{Prompt: "The agent needs you to sign in."}},
	} {
		tt.want.AskKind = orchestrator.AskSignIn
		if diff := cmp.Diff(&tt.want, steps.AskOf(orchestrator.AskSignIn, tt.status, tt.before)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if got := steps.AskOf(orchestrator.AskInput, &a2a.TaskStatus{}, before); got.Links != nil {
		t.Errorf("a question that is no sign-in has links: %+v", got)
	}
}

func TestAskOfIsBounded(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("https://a.com/", 1)
	for i := range 50 {
		text += " https://a.com/" + strings.Repeat("x", i+1)
	}
	if n := len(steps.AskOf(orchestrator.AskSignIn, status(a2a.TextPart(text)), nil).Links); n != 8 {
		t.Errorf("%d links", n)
	}
	deep := strings.Repeat(`{"a":`, 60) + `"https://a.com/"` + strings.Repeat("}", 60)
	if n := len(steps.AskOf(orchestrator.AskSignIn, status(data(deep)), nil).Links); n != 0 {
		t.Errorf("%d links from the deep", n)
	}
}

func FuzzAskOf(f *testing.F) {
	f.Add("Go to https://a.com", `{"schemes":["OAuth2"],"url":"https://a.com","schema":{"type":"object","properties":{}}}`)
	f.Add("[x](http://b.com/)", `{"choices":["a",{"id":"b"}],"credentials":"{\"u\":\"https://c.com\"}"}`)
	f.Add("", `[]`)
	f.Fuzz(func(t *testing.T, words, json string) {
		for _, kind := range []orchestrator.AskKind{orchestrator.AskInput, orchestrator.AskSignIn} {
			a := steps.AskOf(kind, status(a2a.TextPart(words), data(json)), nil)
			if a.Prompt == "" || a.AskKind != kind {
				t.Errorf("%+v", a)
			}
			for _, l := range a.Links {
				if !strings.HasPrefix(strings.ToLower(l.URL), "http") || l.Label == "" {
					t.Errorf("link %+v", l)
				}
			}
			engine.Marshal(a)
		}
	})
}
