package planner

import (
	_ "embed"
	"strconv"
	"strings"
)

// sensesText is written by build/senses.go: a line of topics, then English words with the topics they are near to,
// sorted. It is searched as it is, which costs no memory and no time at start.
//
//go:embed senses.txt
var sensesText string

// senses is the table of words that are near to topics.
type senses struct {
	topics []int  // of the lexicon, by their number in the table; -1 if it has them no more
	words  string // the lines of words
}

// newSenses reads the head of a table. Its topics are found by name, so that the lexicon's may be put in another order.
func newSenses(text string, topics []topic) *senses {
	names, words, _ := strings.Cut(text, "\n")
	s := &senses{words: words[:strings.LastIndexByte(words, '\n')+1]}
	at := map[string]int{}
	for i, t := range topics {
		at[t.name] = i
	}
	for name := range strings.SplitSeq(names, ",") {
		i, ok := at[name]
		if !ok {
			i = -1
		}
		s.topics = append(s.topics, i)
	}
	return s
}

// of returns the topics that a word of small letters is near to, the nearest first, each with how near, up to 1.
func (s *senses) of(word string) []entry {
	low, high := 0, len(s.words)
	for low < high {
		// The line in which the middle is.
		begin := (low + high) / 2
		begin = 1 + strings.LastIndexByte(s.words[:begin], '\n')
		end := begin + strings.IndexByte(s.words[begin:], '\n')
		key, near, _ := strings.Cut(s.words[begin:end], " ")
		switch strings.Compare(word, key) {
		case 0:
			return s.read(near)
		case -1:
			high = begin
		default:
			low = end + 1
		}
	}
	return nil
}

// read reads the topics of a word: two digits for which and one for how near, in base 36.
func (s *senses) read(near string) []entry {
	var es []entry
	for ; len(near) >= 3; near = near[3:] {
		which, err := strconv.ParseUint(near[:2], 36, 16)
		much, err2 := strconv.ParseUint(near[2:3], 36, 8)
		if err == nil && err2 == nil && int(which) < len(s.topics) && s.topics[which] >= 0 {
			es = append(es, entry{topic: s.topics[which], weight: float64(much) / 35})
		}
	}
	return es
}
