package steps

import (
	"testing"

	"parley/a2a"
	"parley/orchestrator"
)

func TestUsage(t *testing.T) {
	for in, want := range map[string]orchestrator.Usage{
		`{"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}`:       {InputTokens: 12, OutputTokens: 3},
		`{"usage":{"input_tokens":12,"output_tokens":3,"cost":0.25,"currency":"EUR"}}`: {InputTokens: 12, OutputTokens: 3, Cost: 0.25, Currency: "EUR"},
		`{"adk_usage_metadata":{"promptTokenCount":7,"candidatesTokenCount":1}}`:       {InputTokens: 7, OutputTokens: 1},
		`{"usage_metadata":{"prompt_token_count":7},"usage":{}}`:                       {InputTokens: 7},
		`{"usage":{"total_cost":1,"currency":"much"}}`:                                 {Cost: 1},
		`{"usage":"none"}`:                           {},
		`{"usage":{"prompt_tokens":-1,"cost":1e99}}`: {},
		`{"usage":{"prompt_tokens":"many"}}`:         {},
		`["usage"]`:                                  {},
		`{"tokens":5}`:                               {},
	} {
		got := UsageIn(a2a.Metadata(in))
		if (got == nil) != (want == orchestrator.Usage{}) || got != nil && *got != want {
			t.Errorf("%s: %+v", in, got)
		}
	}
	said := func(n string) a2a.Metadata { return a2a.Metadata(`{"usage":{"input_tokens":` + n + `}}`) }
	task := &a2a.Task{Artifacts: []a2a.Artifact{{Metadata: said("1")}, {}, {Metadata: said("2")}}}
	if u := UsageOf(task); u == nil || u.InputTokens != 3 {
		t.Errorf("artifacts: %+v", u)
	}
	task.Status.Message = &a2a.Message{Metadata: said("4")}
	if u := UsageOf(task); u == nil || u.InputTokens != 4 {
		t.Errorf("the message: %+v", u)
	}
	task.Metadata = said("5")
	if u := UsageOf(task); u == nil || u.InputTokens != 5 {
		t.Errorf("the task: %+v", u)
	}
	if u := UsageOf(&a2a.Task{}); u != nil {
		t.Errorf("nothing: %+v", u)
	}
}
