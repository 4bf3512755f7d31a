package engine

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// What is written by hand is what encoding/json writes.
func TestMarshal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.Just(""))
		var config *Config
		if rapid.Bool().Draw(t, "configured") {
			config = &Config{OutputModes: rapid.SliceOf(text).Draw(t, "modes"), Immediately: rapid.Bool().Draw(t, "immediately")}
		}
		bodies := []Body{
			&Sent{Step: text.Draw(t, "step"), Task: text.Draw(t, "task"), Context: text.Draw(t, "context")},
			&Sending{
				Step: text.Draw(t, "step"), Agent: text.Draw(t, "agent"), Turn: rapid.Int().Draw(t, "turn"),
				Attempt: rapid.Int().Draw(t, "attempt"), Repeat: rapid.IntRange(0, 2).Draw(t, "repeat"),
				MessageID: text.Draw(t, "message id"), ContextID: text.Draw(t, "context"), TaskID: text.Draw(t, "task"),
				References: rapid.SliceOf(text).Draw(t, "references"), Digest: text.Draw(t, "digest"),
				At: rapid.Int64().Draw(t, "at"), Hops: rapid.IntRange(0, 2).Draw(t, "hops"),
				Message: rapid.SampledFrom([]json.RawMessage{nil, []byte(`{}`), []byte(`{"messageId":"m"}`)}).Draw(t, "message"),
				Config:  config,
			},
		}
		for _, b := range bodies {
			want, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			if got := Marshal(b); string(got) != string(want) {
				t.Fatalf("%T is written as\n%s\nencoding/json writes\n%s", b, got, want)
			}
		}
	})
}
