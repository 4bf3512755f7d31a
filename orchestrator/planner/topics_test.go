package planner

import (
	"fmt"
	"testing"
)

// topicFigures say how well requests are understood before any card is looked at.
type topicFigures struct{ requests, first, three int }

func (f topicFigures) String() string {
	return fmt.Sprintf("%d requests, first topic right %.1f %%, right among the best three %.1f %%",
		f.requests, 100*float64(f.first)/float64(f.requests), 100*float64(f.three)/float64(f.requests))
}

// measureTopics counts how often the topic that a request of requests.txt stands under is the strongest that is found in
// it, or among the strongest three. What the lexicon learns of is the rest of the requests, if it learns at all.
func measureTopics(l *lexicon, learns bool) (english, others topicFigures) {
	const folds = 10
	all := lessons(requestsText, l.topics)
	r := &roster{lex: l, stems: map[string]bool{}}
	for fold := range folds {
		var known, asked []lesson
		for i, x := range all {
			if i%folds == fold {
				asked = append(asked, x)
			} else if learns {
				known = append(known, x)
			}
		}
		l.learn(known)
		for _, x := range asked {
			f := &english
			ts := tokens(x.text)
			tongue := language(ts)
			if foreign(tongue) {
				f = &others
			}
			score := make([]float64, len(l.topics))
			add := func(f feature, w float64, _ string) {
				if f.kind == ofTopic {
					score[f.num] += w
				}
			}
			r.features(ts, tongue, true, add)
			l.recall(ts, add)
			better := 0
			for i, s := range score {
				if i != x.topic && s >= score[x.topic] {
					better++
				}
			}
			f.requests++
			if score[x.topic] > 0 && better == 0 {
				f.first++
			}
			if score[x.topic] > 0 && better < 3 {
				f.three++
			}
		}
	}
	return english, others
}

// TestTopics holds that the table of senses and the glossary are worth what they weigh: without them, requests that
// nothing was learned of are understood worse.
func TestTopics(t *testing.T) {
	t.Parallel()
	show := func(name string, l *lexicon, learns bool) (english, others topicFigures) {
		english, others = measureTopics(l, learns)
		t.Logf("%s: English: %v; others: %v", name, english, others)
		return english, others
	}
	english, others := show("all", parseLexicon(lexiconText, glossaryText), true)
	show("without lessons", parseLexicon(lexiconText, glossaryText), false)
	senseless := parseLexicon(lexiconText, glossaryText)
	senseless.senses = newSenses("", nil)
	plain, _ := show("without senses", senseless, true)
	_, bare := show("without the glossary", parseLexicon(lexiconText, ""), true)
	if english.first <= plain.first || english.three <= plain.three {
		t.Error("the senses are of no use any more")
	}
	if others.first <= bare.first || others.three <= bare.three {
		t.Error("the glossary is of no use any more")
	}
}
