package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	Pos
	What string `json:"what"`         // without a full stop
	Do   string `json:"do,omitempty"` // how to put it right
}

func (p *Problem) String() string {
	s := fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.What)
	if p.Do != "" {
		s += "; " + p.Do
	}
	return s
}

// Problems are all that is wrong with a file.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i := range ps {
		lines[i] = ps[i].String()
	}
	return strings.Join(lines, "\n")
}

// reader gathers problems while a file is read.
type reader struct {
	src      []byte
	lines    []string // of src; made when first needed
	problems Problems
	broken   map[int]bool // steps of which something could not be read
}

func (r *reader) bad(at Pos, do, format string, args ...any) {
	r.problems = append(r.problems, Problem{at, fmt.Sprintf(format, args...), do})
}

// sorted returns the problems in the order of the file, each once.
func (r *reader) sorted() Problems {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	ps := slices.Compact(r.problems)
	return ps[:min(len(ps), maxProblems)]
}

// nearest returns the name that was probably meant, "" when none is near.
func nearest(word string, names []string) string {
	best, least := "", 1+max(1, len(word)/3)
	for _, n := range names {
		d := distance(strings.ToLower(word), strings.ToLower(n))
		if d < least || d == least && best != "" && n < best {
			best, least = n, d
		}
	}
	return best
}

// didYouMean is what to do about a word that is not among names.
func didYouMean(word string, names []string) string {
	if n := nearest(word, names); n != "" {
		return "did you mean `" + n + "`?"
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 30:
		return ""
	}
	if len(names) == 1 {
		return "there is only `" + names[0] + "`"
	}
	return "there are " + quoted(names, "and")
}

// quoted lists names: `a`, `b` and `c`.
func quoted(names []string, last string) string {
	s := ""
	for i, n := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			s += " " + last + " "
		default:
			s += ", "
		}
		s += "`" + n + "`"
	}
	return s
}

// distance is how many letters must be put in, taken out, replaced or swapped with their neighbour.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var d [65][65]int
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			default:
				same := 1
				if a[i-1] == b[j-1] {
					same = 0
				}
				d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+same)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d[i][j] = min(d[i][j], d[i-2][j-2]+1)
				}
			}
		}
	}
	return d[len(a)][len(b)]
}
