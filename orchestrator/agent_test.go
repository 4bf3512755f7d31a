package orchestrator_test

import (
	"encoding/json"
	"slices"
	"testing"

	"parley/a2a"
	"parley/orchestrator"
)

// What is noted of an agent's version counts until it is known better; every other note stays, whatever its words.
func TestRemarks(t *testing.T) {
	t.Parallel()
	const (
		doubtful = "It may be any."
		other    = "The agent's own version is not said: none is assumed."
	)
	all := []a2a.Note{{Kind: a2a.NoteVersion, Text: doubtful}, {Text: other}}
	for known, want := range map[orchestrator.KnownBy][]string{
		orchestrator.KnownByCard: {doubtful, other}, orchestrator.KnownByAnswer: {other}, orchestrator.KnownByPerson: {other},
	} {
		a := &orchestrator.Agent{Known: known, Notes: slices.Clone(all)}
		if got := a.Remarks(); !slices.Equal(got, want) {
			t.Errorf("known by %q: %q", known, got)
		}
	}
}

// Notes are stored with their kind. Those that were stored without any are read as they are.
func TestNotesInJSON(t *testing.T) {
	t.Parallel()
	var got []a2a.Note
	if err := json.Unmarshal([]byte(`["as before",{"text":"plain"},{"kind":"version","text":"doubtful"}]`), &got); err != nil {
		t.Fatal(err)
	}
	want := []a2a.Note{{Text: "as before"}, {Text: "plain"}, {Kind: a2a.NoteVersion, Text: "doubtful"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	b, err := json.Marshal(want)
	var again []a2a.Note
	if err == nil {
		err = json.Unmarshal(b, &again)
	}
	if err != nil || !slices.Equal(again, want) {
		t.Errorf("%s: %+v, %v", b, again, err)
	}
}
