package workflow

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// segment is a stretch of a text: words, or an expression.
type segment struct {
	words string
	expr  *Expr
}

var errOpen = errors.New("`${{` is not closed")

// segments divides a text. An expression ends at the first }} that is neither within quotes nor within braces.
func (t *Text) segments() ([]segment, error) {
	var segs []segment
	rest := t.Src
	for n := 1; ; n++ {
		words, after, found := strings.Cut(rest, "${{")
		if words != "" {
			segs = append(segs, segment{words: words})
		}
		if !found {
			return segs, nil
		}
		end := closing(after)
		if end < 0 {
			return nil, errOpen
		}
		segs = append(segs, segment{expr: inner(after[:end], t.mark(n))})
		rest = after[end+2:]
	}
}

// mark is where the nth expression begins.
func (t *Text) mark(n int) Pos {
	switch {
	case n < len(t.At):
		return t.At[n]
	case len(t.At) > 0:
		return t.At[0]
	}
	return Pos{1, 1}
}

// inner makes an expression of what stands between ${{ at that place and its }}.
func inner(s string, at Pos) *Expr {
	src := strings.TrimSpace(s)
	return &Expr{Src: src, At: advance(Pos{at.Line, at.Column + 3}, s[:strings.Index(s, src)])}
}

// advance moves a place over what stands there.
func advance(at Pos, s string) Pos {
	if n := strings.Count(s, "\n"); n > 0 {
		return Pos{at.Line + n, 1 + utf8.RuneCountInString(s[strings.LastIndexByte(s, '\n')+1:])}
	}
	return Pos{at.Line, at.Column + utf8.RuneCountInString(s)}
}

// closing finds the }} that ends an expression, -1 when there is none.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\'', '`':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' && c != '`' {
					i++
				}
			}
		case '{':
			depth++
		case '}':
			switch {
			case depth > 0:
				depth--
			case i+1 < len(s) && s[i+1] == '}':
				return i
			}
		}
	}
	return -1
}

// exprs returns the expressions of a text. One that does not end was a problem when it was read.
func (t *Text) exprs() []*Expr {
	segs, _ := t.segments()
	var es []*Expr
	for _, s := range segs {
		if s.expr != nil {
			es = append(es, s.expr)
		}
	}
	return es
}

// sole returns the expression that a text consists of, nil when there is anything beside it.
func (t *Text) sole() *Expr {
	if segs, _ := t.segments(); len(segs) == 1 {
		return segs[0].expr
	}
	return nil
}

// text takes words that may hold expressions.
func (r *reader) text(n *node, what string) *Text {
	s, ok := r.words(n, what)
	if !ok {
		return nil
	}
	return r.marked(n, s)
}

// marked finds the expressions of a text in the file.
func (r *reader) marked(n *node, s string) *Text {
	t := &Text{Src: s, At: []Pos{n.at}}
	count := strings.Count(s, "${{")
	at := n.at
	for range count {
		if at = r.find(at, "${{"); at.Line == 0 {
			at = n.at
			break
		}
		t.At = append(t.At, at)
		at.Column += 3
		// What is quoted within an expression is no mark.
		segs, _ := (&Text{Src: s, At: t.At}).segments()
		k := 0
		for _, seg := range segs {
			if seg.expr == nil {
				continue
			}
			if k++; k == len(t.At)-1 && strings.Contains(seg.expr.Src, "${{") && r.startsWith(seg.expr.At, seg.expr.Src) {
				at = advance(seg.expr.At, seg.expr.Src)
			}
		}
	}
	if segs, err := t.segments(); err != nil {
		r.bad(t.At[len(t.At)-1], "end it with `}}`", "%s", err)
	} else {
		k := 0
		for _, s := range segs {
			if s.expr != nil {
				k++
			}
		}
		t.At = t.At[:min(len(t.At), 1+k)]
	}
	return t
}

// find returns the next place of s in the file, the zero Pos when there is none.
func (r *reader) find(from Pos, s string) Pos {
	for line := from.Line; line <= len(r.lines); line++ {
		l, skip := r.lines[line-1], 0
		if line == from.Line {
			l, skip = skipRunes(l, from.Column-1)
		}
		if i := strings.Index(l, s); i >= 0 {
			return Pos{line, 1 + skip + utf8.RuneCountInString(l[:i])}
		}
	}
	return Pos{}
}

func (r *reader) startsWith(at Pos, s string) bool {
	if at.Line < 1 || at.Line > len(r.lines) {
		return false
	}
	l, _ := skipRunes(r.lines[at.Line-1], at.Column-1)
	return strings.HasPrefix(l, s)
}

func skipRunes(s string, n int) (string, int) {
	k := 0
	for k < n && s != "" {
		_, size := utf8.DecodeRuneInString(s)
		s, k = s[size:], k+1
	}
	return s, k
}

// expr takes an expression, with or without ${{ }} around it.
func (r *reader) expr(n *node, what string) *Expr {
	switch n.kind {
	case isBool, isNumber:
		return &Expr{Src: string(n.value), At: n.at}
	case isString:
	default:
		r.bad(n.at, "write an expression, as `steps.a.state == \"done\"`", "%s is %s", what, n.kind)
		return nil
	}
	src := strings.TrimSpace(n.text)
	if strings.HasPrefix(src, "${{") {
		t := r.marked(n, src)
		if e := t.sole(); e != nil {
			return e
		}
		if _, err := t.segments(); err == nil {
			r.bad(n.at, "put all of it into one `${{ }}`, or take the marks out", "%s is more than one expression", what)
		}
		return nil
	}
	if src == "" {
		r.bad(n.at, "write an expression", "%s is empty", what)
		return nil
	}
	at := n.at
	first, _, _ := strings.Cut(src, "\n")
	if found := r.find(n.at, first); found.Line != 0 && found.Line-at.Line <= 2 {
		at = found
	}
	return &Expr{Src: src, At: at}
}

// text is the expression as a text that consists of it.
func (e *Expr) text() *Text {
	return &Text{Src: "${{ " + e.Src + " }}", At: []Pos{e.At, {e.At.Line, e.At.Column - len("${{ ")}}}
}
