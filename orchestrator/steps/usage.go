package steps

import (
	"bytes"
	"encoding/json"

	"parley/a2a"
	"parley/orchestrator"
)

// UsageOf reads what an agent reports that its work took; nil when it reports nothing. A2A has no field for it: what
// frameworks write into metadata is read, of the first of these that has any: the task, its status's message, and its
// artifacts, which are added up. In the metadata it stands under usage, usage_metadata, usageMetadata or
// adk_usage_metadata, with the names of OpenAI (prompt_tokens, completion_tokens), of Anthropic (input_tokens,
// output_tokens), or of Gemini (promptTokenCount, candidatesTokenCount); cost, total_cost or totalCost; and currency.
func UsageOf(t *a2a.Task) *orchestrator.Usage {
	if u := UsageIn(t.Metadata); u != nil {
		return u
	}
	if m := t.Status.Message; m != nil {
		if u := UsageIn(m.Metadata); u != nil {
			return u
		}
	}
	var all *orchestrator.Usage
	for i := range t.Artifacts {
		u := UsageIn(t.Artifacts[i].Metadata)
		switch {
		case u == nil:
		case all == nil:
			all = u
		default:
			all.Add(u)
		}
	}
	return all
}

// UsageIn is UsageOf for the metadata of one thing.
func UsageIn(m a2a.Metadata) *orchestrator.Usage {
	if !bytes.Contains(m, []byte("usage")) { // most say nothing, and are not read
		return nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(m, &all) != nil {
		return nil
	}
	for _, name := range []string{"usage", "usage_metadata", "usageMetadata", "adk_usage_metadata"} {
		var said map[string]json.RawMessage
		if json.Unmarshal(all[name], &said) != nil || said == nil {
			continue
		}
		u := &orchestrator.Usage{
			InputTokens:  int64(amount(said, "prompt_tokens", "input_tokens", "inputTokens", "promptTokenCount", "prompt_token_count")),
			OutputTokens: int64(amount(said, "completion_tokens", "output_tokens", "outputTokens", "candidatesTokenCount", "candidates_token_count")),
			Cost:         amount(said, "cost", "total_cost", "totalCost"),
		}
		if *u == (orchestrator.Usage{}) {
			continue
		}
		if _ = json.Unmarshal(said["currency"], &u.Currency); len(u.Currency) != 3 {
			u.Currency = ""
		}
		return u
	}
	return nil
}

// maxUsage bounds what is believed of one number.
const maxUsage = 1e15

// amount returns the first of those numbers that there is and that can be.
func amount(m map[string]json.RawMessage, names ...string) float64 {
	for _, name := range names {
		var f float64
		if json.Unmarshal(m[name], &f) == nil && f > 0 && f < maxUsage {
			return f
		}
	}
	return 0
}
