package planner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// topicFigures say how well requests are understood before any card is looked at.
type topicFigures struct{ requests, first, three int }

func (f topicFigures) String() string {
	return fmt.Sprintf("%d requests, first topic right %.1f %%, right among the best three %.1f %%",
		f.requests, 100*float64(f.first)/float64(f.requests), 100*float64(f.three)/float64(f.requests))
}

// measureTopics counts how often the topic that a request of testdata/topics.txt stands under is the strongest that is
// found in it, or among the strongest three.
func measureTopics(t *testing.T, l *lexicon) map[string]*topicFigures {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "topics.txt"))
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, topic := range l.topics {
		at[topic.name] = i
	}
	r := &roster{lex: l, stems: map[string]bool{}}
	all := map[string]*topicFigures{}
	want := -1
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			i, ok := at[strings.Trim(line, "[]")]
			if !ok {
				t.Fatalf("the lexicon has no topic %s", line)
			}
			want = i
			continue
		}
		ts := tokens(line)
		tongue := language(ts)
		score := make([]float64, len(l.topics))
		r.features(ts, tongue, true, func(f feature, w float64, _ string) {
			if f.kind == ofTopic {
				score[f.num] += w
			}
		})
		better := 0
		for i, s := range score {
			if i != want && s >= score[want] {
				better++
			}
		}
		if tongue == "" {
			tongue = "en"
		}
		if all[tongue] == nil {
			all[tongue] = &topicFigures{}
		}
		f := all[tongue]
		f.requests++
		if score[want] > 0 && better == 0 {
			f.first++
		}
		if score[want] > 0 && better < 3 {
			f.three++
		}
	}
	return all
}
