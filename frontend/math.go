package frontend

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// formulas are the mathematics in Markdown: $…$ and \(…\) in a line, $$…$$ and \[…\] by themselves. A dollar begins a formula
// as in Pandoc: no space may follow it, none may stand before the one that ends it, and no digit after that: $5 and $6 are
// money.
type formulas struct{}

func (formulas) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(parser.WithInlineParsers(util.Prioritized(formulas{}, 150)))
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(formulas{}, 150)))
}

type formula struct {
	ast.BaseInline
	tex   string
	whole string // as it was written
	block bool
}

var kindFormula = ast.NewNodeKind("Formula")

func (*formula) Kind() ast.NodeKind           { return kindFormula }
func (f *formula) Dump(src []byte, level int) { ast.DumpHelper(f, src, level, nil, nil) }
func (formulas) Trigger() []byte              { return []byte{'$', '\\'} }

// maxVain is how many bytes of a text are read in search of ends that formulas do not have. Behind that it has none: else a
// text that only begins formulas would take the square of its length.
const maxVain = 1 << 20

var vainly = parser.NewContextKey() // how many were

// Parse reads a formula at the reader's place, over the lines of its paragraph.
func (formulas) Parse(_ ast.Node, r text.Reader, c parser.Context) ast.Node {
	line, _ := r.PeekLine()
	open, end, block := "", "", false
	switch {
	case bytes.HasPrefix(line, []byte("$$")):
		open, end, block = "$$", "$$", true
	case bytes.HasPrefix(line, []byte("$")):
		open, end = "$", "$"
	case bytes.HasPrefix(line, []byte(`\[`)):
		open, end, block = `\[`, `\]`, true
	case bytes.HasPrefix(line, []byte(`\(`)):
		open, end = `\(`, `\)`
	default:
		return nil
	}
	if open == "$" && (len(line) < 3 || strings.ContainsRune(" \t\n$", rune(line[1]))) {
		return nil
	}
	vain, _ := c.Get(vainly).(int)
	if vain > maxVain {
		return nil
	}
	row, pos := r.Position()
	r.Advance(len(open))
	var b strings.Builder
	for b.Len() <= maxTeX {
		line, _ = r.PeekLine()
		if line == nil {
			break
		}
		i := ending(line[:min(len(line), maxTeX+len(end)+1)], end)
		if i < 0 {
			b.Write(line[:min(len(line), maxTeX+1)])
			r.AdvanceLine()
			continue
		}
		b.Write(line[:i])
		r.Advance(i + len(end))
		tex := b.String()
		if strings.TrimSpace(tex) == "" {
			break
		}
		return &formula{tex: tex, whole: open + tex + end, block: block}
	}
	r.SetPosition(row, pos)
	c.Set(vainly, vain+b.Len())
	return nil
}

// ending returns where a formula ends in a line; -1 when it does not.
func ending(line []byte, end string) int {
	if end != "$" {
		return bytes.Index(line, []byte(end))
	}
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if line[i] != '$' {
			continue
		}
		if i > 0 && (line[i-1] == ' ' || line[i-1] == '\t') {
			return -1
		}
		if i+1 < len(line) && line[i+1] >= '0' && line[i+1] <= '9' {
			return -1
		}
		return i
	}
	return -1
}

func (formulas) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindFormula, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		f := n.(*formula)
		if ml, ok := mathML(f.tex, f.block); ok {
			w.WriteString(ml)
		} else {
			w.WriteString("<code>" + html.EscapeString(f.whole) + "</code>")
		}
		return ast.WalkSkipChildren, nil
	})
}
