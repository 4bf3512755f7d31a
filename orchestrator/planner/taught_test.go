package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTaught(t *testing.T) {
	t.Parallel()
	l := parseLexicon("[tea]\n[rain]\n", "")
	all := lessons("# none\nnobody asked\n[rain]\nwill it drizzle again\ndoes it drizzle\n\n[soup]\ndrizzle the soup\n[tea]\nbrew some more\nお茶を淹れて\n", l.topics)
	if diff := cmp.Diff([]lesson{{1, "will it drizzle again"}, {1, "does it drizzle"}, {0, "brew some more"}, {0, "お茶を淹れて"}},
		all, cmp.AllowUnexported(lesson{})); diff != "" {
		t.Fatalf("lessons (-want +got):\n%s", diff)
	}
	l.learn(all)
	recalled := func(text string) map[string]float64 {
		got := map[string]float64{}
		l.recall(tokens(text), func(f feature, w float64, _ string) { got[l.topics[f.num].name] += w })
		return got
	}
	if got := recalled("drizzle it again, drizzle"); got["rain"] <= 0 || got["tea"] != 0 {
		t.Errorf("drizzle: %v", got)
	}
	if got := recalled("お茶を"); got["tea"] <= 0 || got["rain"] != 0 {
		t.Errorf("お茶を: %v", got)
	}
	if once, twice := recalled("brew again")["tea"], recalled("drizzle again")["rain"]; once <= 0 || twice <= once {
		t.Errorf("seen once %v, twice %v", once, twice)
	}
	for _, text := range []string{"", "drizzle", "drizzle drizzle", "it will", "xyzzy plugh", "비가 오네", "42 43"} {
		if got := recalled(text); len(got) != 0 {
			t.Errorf("%q: %v", text, got)
		}
	}
	l.learn(nil)
	if got := recalled("drizzle it again"); len(got) != 0 {
		t.Errorf("nothing was learned: %v", got)
	}
}

// TestRequestsTopics holds that no topic of requests.txt is one that the lexicon has no more.
func TestRequestsTopics(t *testing.T) {
	t.Parallel()
	topics := map[int]int{}
	for _, x := range lessons(requestsText, readLexicon().topics) {
		topics[x.topic]++
	}
	if len(topics) != 75 {
		t.Errorf("requests of %d topics, want 75", len(topics))
	}
	for topic, n := range topics {
		if n < 5 {
			t.Errorf("%s: %d requests", readLexicon().topics[topic].name, n)
		}
	}
}
