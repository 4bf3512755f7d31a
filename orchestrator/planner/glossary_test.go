package planner

import (
	"slices"
	"testing"
)

func TestGlossary(t *testing.T) {
	t.Parallel()
	l := parseLexicon("[carrots]\nen: carrot\nde: karotte\n[beds]\nen: bed\n",
		"# none\n\ncarrot: karotte mohre 人参 ,\nbed: bett 床 bettwort\nbroken\n: leer\nstone: stein\n")
	of := func(word string) []string {
		t.Helper()
		ts := tokens(word)
		if len(ts) != 1 {
			t.Fatalf("%q is %d tokens", word, len(ts))
		}
		es := l.gloss(ts[0])
		if ts[0].run {
			es = l.runs[ts[0].word]
		}
		var names []string
		for _, e := range es {
			if e.weight <= 0 || e.weight > glossWeight {
				t.Errorf("%q: weight %v", word, e.weight)
			}
			names = append(names, l.topics[e.topic].name)
		}
		return names
	}
	for word, want := range map[string][]string{
		"Möhre":      {"carrots"},
		"Möhren":     {"carrots"},
		"人参":         {"carrots"},
		"床":          {"beds"},
		"Kinderbett": {"beds"},
		"Karotte":    nil, // the lexicon has it
		"Stein":      nil, // the lexicon has no such matter
		"leer":       nil,
		"Stuhl":      nil,
		"椅":          nil,
		"침대":         nil,
	} {
		if got := of(word); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
}

func TestGlossaryRequests(t *testing.T) {
	t.Parallel()
	r := newRoster(approved(deskCards...))
	for text, want := range map[string]string{"我要订机票": "travel-desk", "un vuelo y un pasajero": "travel-desk"} {
		if ms := r.rank(text); len(ms) == 0 || ms[0].agent.ID != want {
			t.Errorf("%q: %+v", text, ms)
		}
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                  "",
		"xyzzy":             "",
		"where is the bus":  "en",
		"wo ist der Bus":    "de",
		"dónde está el bus": "es",
		"où est le bus":     "fr",
		"バスはどこですか":          "ja",
		"東京駅のバス":            "ja",
		"버스 어디예요":           "ko",
		"明天会下雨吗":            "zh",
		"我的 SAP 密码忘了":       "zh",
	} {
		got := language(tokens(text))
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if foreign(got) != (want != "" && want != "en") {
			t.Errorf("%q: foreign %v", text, foreign(got))
		}
	}
}
