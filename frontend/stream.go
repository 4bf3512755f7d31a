package frontend

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// mdStream renders Markdown while it is written. A block that nothing can change any more is rendered once and for all;
// only the last, open block is drawn again, without colours, and an open code fence grows by its new text alone. What
// all the finished blocks amount to is exactly what markdown.HTML makes of the whole text, but for links whose target is
// defined further down.
type mdStream struct {
	m    *markdown
	src  []byte // everything so far
	open int    // where the open region begins in src
	seen int    // how far src has been parsed
	refs []parser.Reference

	done  bytes.Buffer // HTML of the finished blocks
	taken int          // how much of done the last flush handed out

	tail   string // HTML of the open region, as last handed out
	fence  *fence // set while the open region is one unclosed code fence
	inTail bool   // the fence's frame has been handed out
	id     string
}

// fence is an open code fence: its frame is drawn once, then only text follows.
type fence struct {
	lang   string
	char   byte
	length int
	body   int // where its text begins in src
	sent   int // how much of src has been handed out
	line   int // where the last, perhaps unfinished line begins
}

// change is what a flush hands out: HTML of newly finished blocks to put before the tail, and either the tail anew or
// text to append to its open code.
type change struct {
	blocks  string
	tail    string
	newTail bool
	text    string
}

func (s *mdStream) write(chunk string) {
	s.src = append(s.src, chunk...)
}

// flush renders what came since the last flush.
func (s *mdStream) flush() (c change) {
	if s.seen == len(s.src) {
		return c
	}
	s.advance()
	c.blocks = s.done.String()[s.taken:]
	s.taken = s.done.Len()
	if s.fence != nil {
		end := s.fence.show(s.src)
		if !s.inTail || c.blocks != "" {
			s.inTail = true
			c.newTail, c.tail = true, s.drawFence(end)
			s.fence.sent = end
			return c
		}
		c.text = string(s.src[s.fence.sent:end])
		s.fence.sent = end
		return c
	}
	s.inTail = false
	t := s.drawTail()
	if t != s.tail || c.blocks != "" {
		c.newTail, c.tail = true, t
	}
	s.tail = t
	return c
}

// html returns the whole as it stands: the finished blocks, and the open region drawn plainly.
func (s *mdStream) html() (blocks, tail string) {
	if s.fence != nil {
		return s.done.String()[:s.taken], s.drawFence(s.fence.sent)
	}
	return s.done.String()[:s.taken], s.tail
}

// advance moves every block that is finished into done.
func (s *mdStream) advance() {
	whole := bytes.LastIndexByte(s.src, '\n') + 1 // only whole lines decide
	if s.fence != nil && !s.fence.ends(s.src, whole) {
		s.seen = len(s.src)
		return
	}
	s.fence = nil
	s.seen = len(s.src)
	if whole <= s.open {
		return
	}
	src := s.src[s.open:whole]
	doc, ctx := s.parse(src)
	last := doc.LastChild()
	if last == nil {
		return
	}
	// A table that took its head from a paragraph begins, for the parser, where that did: both stay open.
	for p := last.PreviousSibling(); p != nil && start(p, src) >= start(last, src); p = last.PreviousSibling() {
		last = p
	}
	f, fenced := last.(*ast.FencedCodeBlock)
	lang := ""
	if fenced {
		lang = string(f.Language(src))
	}
	if last != doc.FirstChild() {
		cut := start(last, src)
		if cut > 0 {
			for n := doc.FirstChild(); n != last; n = n.NextSibling() {
				s.m.block(&s.done, src, n, true)
			}
			s.refs = ctx.References()
			s.open += cut
			src = src[cut:]
		}
	}
	if !fenced {
		return
	}
	if s.fence = openFence(lang, src, s.open); s.fence == nil || !s.fence.ends(s.src, whole) {
		return
	}
	// A closed fence is finished: nothing that follows belongs to it.
	end := s.fence.line + bytes.IndexByte(s.src[s.fence.line:], '\n') + 1
	s.m.code(&s.done, lang, string(s.src[s.fence.body:s.fence.line]), true)
	s.open, s.fence = end, nil
}

func (s *mdStream) parse(src []byte) (ast.Node, parser.Context) {
	ctx := parser.NewContext()
	for _, r := range s.refs {
		ctx.AddReference(r)
	}
	return s.m.md.Parser().Parse(text.NewReader(src), parser.WithContext(ctx)), ctx
}

func (s *mdStream) drawTail() string {
	src := s.src[s.open:]
	if len(bytes.TrimSpace(src)) == 0 {
		return ""
	}
	doc, _ := s.parse(src)
	var b bytes.Buffer
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		s.m.block(&b, src, n, false)
	}
	return b.String()
}

func (s *mdStream) drawFence(end int) string {
	open := strings.Replace(s.m.codeOpen(s.fence.lang), "<code>", `<code id="`+s.id+`-f">`, 1)
	return open + html.EscapeString(string(s.src[s.fence.body:max(end, s.fence.body)])) + codeClose
}

// start returns where a block begins in src, at the start of its line.
func start(n ast.Node, src []byte) int {
	p := n.Pos()
	if p < 0 || p > len(src) {
		return 0
	}
	return bytes.LastIndexByte(src[:p], '\n') + 1
}

// openFence reads the opening line of a fence at the start of src; base is where src begins in the whole. Indented
// fences are left to the parser, which takes the indentation off each line.
func openFence(lang string, src []byte, base int) *fence {
	end := bytes.IndexByte(src, '\n')
	if end < 0 {
		return nil
	}
	line := src[:end]
	if len(line) < 3 || (line[0] != '`' && line[0] != '~') {
		return nil
	}
	f := &fence{lang: lang, char: line[0], body: base + end + 1}
	for f.length < len(line) && line[f.length] == f.char {
		f.length++
	}
	f.sent, f.line = f.body, f.body
	return f
}

// ends looks at the lines of src up to whole that it has not seen, and reports whether one of them closes the fence.
func (f *fence) ends(src []byte, whole int) bool {
	for f.line < whole {
		n := bytes.IndexByte(src[f.line:whole], '\n')
		if f.closes(src[f.line : f.line+n]) {
			return true
		}
		f.line += n + 1
	}
	return false
}

func (f *fence) closes(line []byte) bool {
	t := bytes.TrimLeft(line, " ")
	if len(line)-len(t) > 3 {
		return false
	}
	n := 0
	for n < len(t) && t[n] == f.char {
		n++
	}
	return n >= f.length && len(bytes.TrimSpace(t[n:])) == 0
}

// show returns up to where src may be shown: an unfinished line that could become the closing one is held back.
func (f *fence) show(src []byte) int {
	last := bytes.TrimLeft(src[f.line:], " ")
	if len(last) > 0 && len(bytes.Trim(last, string(f.char))) == 0 {
		return f.line
	}
	return len(src)
}
