package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"parley/orchestrator"
)

// noAgent says that there is no agent of that id, and which one may have been meant. Other errors stay as they are.
func noAgent(ctx context.Context, s interface {
	ListAgents(context.Context) ([]*orchestrator.Agent, error)
}, id string, err error,
) error {
	if !errors.Is(err, orchestrator.ErrNotFound) {
		return err
	}
	all, _ := s.ListAgents(ctx)
	known := map[string]string{}
	for _, g := range all {
		known[g.ID] = g.Name
	}
	f := &orchestrator.Fault{
		Kind: "not-found", Where: orchestrator.WhereUs, What: "There is no agent " + id + ".", Do: "See: parley agents list",
	}
	if ids := near(id, known); ids != "" {
		f.Do = "Did you mean " + ids + "? See: parley agents list"
	}
	return f
}

// near names the ids that a word may stand for, which have a name each: the nearest of those whose name it is, which it
// begins, or from which it differs in a letter or two; at most three that are equally near. "" = none.
func near(word string, known map[string]string) string {
	word = strings.ToLower(strings.TrimSpace(word))
	type one struct {
		id   string
		away int
	}
	var found []one
	for id, name := range known {
		away := min(distance(word, strings.ToLower(id)), distance(word, strings.ToLower(name)))
		if strings.HasPrefix(id, word) {
			away = min(away, 1)
		}
		if away <= 2 && away < len([]rune(word)) {
			found = append(found, one{id, away})
		}
	}
	slices.SortFunc(found, func(a, b one) int { return cmp.Or(a.away-b.away, strings.Compare(a.id, b.id)) })
	var ids []string
	for _, f := range found[:min(3, len(found))] {
		if f.away == found[0].away {
			ids = append(ids, f.id)
		}
	}
	return strings.Join(ids, ", or ")
}

// distance is how many letters are to be put in, taken out, replaced or swapped with their neighbour to make b of a; 3 for
// more than two.
func distance(a, b string) int {
	const far = 3
	x, y := []rune(a), []rune(b)
	if len(x) > 256 || len(x)-len(y) >= far || len(y)-len(x) >= far {
		return far
	}
	var before []int // the row above the last
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row := make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return min(far, last[len(y)])
}
