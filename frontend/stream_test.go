package frontend

import (
	"fmt"
	"html"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// longText is n bytes or a little more of all that Markdown has.
func longText(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "## Part %d\n\nA paragraph with *emphasis*, `code`, **weight** and [a link](https://example.com/%d), over\ntwo lines.\n\n", i, i)
		b.WriteString("- one\n- two\n  - inner\n  - inner two\n\n  with a paragraph\n- three\n\n")
		b.WriteString("| Store | Appends | Notes |\n| --- | ---: | :-: |\n| one | 41,200 | ok |\n| two | 2,900 | `x|y` |\n\n")
		fmt.Fprintf(&b, "```go\nfunc f%d(a, b int) error {\n\t// not a fence: ``\n\tif a < b {\n\t\treturn fmt.Errorf(\"no: %%d\", a)\n\t}\n\n\treturn nil\n}\n```\n\n", i)
		b.WriteString("1. first\n2. second\n\n   ```\n   inner code\n   ```\n\n> a quotation\n> of two lines\n\n    indented code\n\n    more of it\n\n---\n\n")
		b.WriteString("Setext heading\n---\n\n~~~~\ntilde ~~~ fence\n~~~~\nText right after.\n- [x] done\n- [ ] open\n\n<div onclick=x>\nraw\n</div>\n\n")
	}
	return b.String()
}

// stream feeds src in pieces and returns what the page would show at the end.
func stream(m *markdown, src string, size func() int) string {
	s := &mdStream{m: m, id: "p1"}
	for len(src) > 0 {
		n := min(size(), len(src))
		s.write(src[:n])
		src = src[n:]
		s.flush()
	}
	return s.finish()
}

func TestStreamEqualsWhole(t *testing.T) {
	t.Parallel()
	m := newMarkdown(nil)
	src := longText(20_000)
	for _, size := range []int{1, 7, 100, 1000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			// Code is coloured with regular expressions that give up after a quarter of a second, even one in which this process
			// stood still, and leave a word plain. What is wrong is wrong every time.
			diff := ""
			for range 3 {
				got := stream(newMarkdown(nil), src, func() int { return size })
				if diff = cmp.Diff(m.HTML(src), got); diff == "" {
					return
				}
			}
			t.Errorf("chunks of %d give another page than the whole (-whole +stream):\n%.2000s", size, diff)
		})
	}
}

func TestStreamEqualsWholeOfAnything(t *testing.T) {
	t.Parallel()
	m := newMarkdown(nil)
	lines := []string{"# h", "para", "more *text*", "", "", "- a", "  - b", "1. x", "```go", "```", "~~~", "    code", "> q", "|a|b|", "|-|-|", "|1|2|", "---", "===", "<div>", "</div>", "  ", "\tx", "- [x] t", "`c`", "```", "* * *"}
	rapid.Check(t, func(t *rapid.T) {
		src := strings.Join(rapid.SliceOfN(rapid.SampledFrom(lines), 0, 30).Draw(t, "lines"), "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		got := stream(m, src, func() int { return 1 + r.IntN(9) })
		want := newMarkdown(nil).HTML(src)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%q (-whole +stream):\n%s", src, d)
		}
	})
}

// The page puts finished blocks before the tail and replaces or extends the tail; what it then shows must be what a
// snapshot shows.
func TestChangesAddUpToSnapshot(t *testing.T) {
	t.Parallel()
	m := newMarkdown(nil)
	s := &mdStream{m: m, id: "p1"}
	src := longText(6_000)
	var blocks, tail string
	for len(src) > 0 {
		n := min(13, len(src))
		s.write(src[:n])
		src = src[n:]
		c := s.flush()
		blocks += c.blocks
		if c.newTail {
			tail = c.tail
		}
		if c.text != "" {
			tail = strings.TrimSuffix(tail, codeClose) + html.EscapeString(c.text) + codeClose
		}
		b, t2 := s.html()
		if b != blocks || t2 != tail {
			t.Fatalf("after %d bytes:\nblocks equal: %v\ntail shown: %s\nsnapshot:   %s", len(s.src), b == blocks, tail, t2)
		}
	}
}

func TestOpenFenceSendsOnlyNewText(t *testing.T) {
	t.Parallel()
	s := &mdStream{m: newMarkdown(nil), id: "p1"}
	s.write("Look:\n\n```go\nfirst\n")
	if c := s.flush(); !strings.Contains(c.blocks, "Look") || !strings.Contains(c.tail, `id="p1-f"`) {
		t.Fatalf("the fence was not opened: %+v", c)
	}
	line := strings.Repeat("x", 99) + "\n"
	for range 2000 {
		s.write(line)
		if c := s.flush(); c.text != line || c.newTail || c.blocks != "" {
			t.Fatalf("want only the new text, got %+v", c)
		}
	}
	s.write("``")
	if c := s.flush(); c.text != "" {
		t.Fatalf("a beginning of the closing line was shown: %q", c.text)
	}
	s.write("`\nafter\n\nlast")
	if c := s.flush(); !strings.Contains(c.blocks, "first") || !strings.Contains(c.tail, "last") {
		t.Fatalf("the fence was not closed: blocks %d bytes, tail %q", len(c.blocks), c.tail)
	}
}

func BenchmarkStream200KB(b *testing.B) {
	src := longText(200_000)
	b.ReportAllocs()
	for b.Loop() {
		stream(newMarkdown(nil), src, func() int { return 800 })
	}
}

func BenchmarkOneFence200KB(b *testing.B) {
	src := "```go\n" + strings.Repeat("\tif err := f(); err != nil { return err }\n", 5000)
	b.ReportAllocs()
	for b.Loop() {
		stream(newMarkdown(nil), src, func() int { return 800 })
	}
}

// finish returns the HTML of the whole, what is still open drawn as if it were done.
func (s *mdStream) finish() string {
	src := s.src[s.open:]
	doc, _ := s.parse(src)
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		s.m.block(&s.done, src, n, true)
	}
	return s.done.String()
}
