package frontend

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"html"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"parley/frontend/view"
)

// markdown turns what agents write into HTML. Every block goes through one strict policy; the frames around code and
// tables are ours and are put on afterwards. It is safe for concurrent use.
type markdown struct {
	md     goldmark.Markdown
	ctx    func() context.Context // with the language to speak
	policy *bluemonday.Policy
	cache  *cache[[32]byte]
}

const (
	colouredBlock = 64 << 10 // a longer code block is shown without colours
	cachedHTML    = 32 << 20 // how much finished HTML is kept
)

// newMarkdown returns one whose own words are in the language of ctx; nil is English.
func newMarkdown(ctx func() context.Context) *markdown {
	if ctx == nil {
		ctx = context.Background
	}
	m := &markdown{ctx: ctx, cache: newCache[[32]byte](cachedHTML), policy: policy()}
	m.md = goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.Linkify, extension.TaskList, formulas{},
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 10))),
	)
	return m
}

// policy is what HTML from Markdown may hold: no style, no script, no form, no frame, no image; classes only on code and
// only ours.
func policy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "em", "strong", "del", "blockquote",
		"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "pre", "code", "span")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|center|right)$`)).OnElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^[ksmfcpadh]$|^host$`)).OnElements("pre", "code", "span")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("title").OnElements("a")
	p.AllowAttrs("rel").Matching(regexp.MustCompile(`^noopener noreferrer nofollow$`)).OnElements("a")
	p.AllowAttrs("target").Matching(regexp.MustCompile(`^_blank$`)).OnElements("a")
	mathPolicy(p)
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	return p
}

// HTML renders a finished text. The same text is rendered once.
func (m *markdown) HTML(src string) string {
	if src == "" {
		return ""
	}
	key := m.key([]byte(src))
	if s, ok := m.cache.get(key); ok {
		return s
	}
	b := []byte(src)
	doc := m.md.Parser().Parse(text.NewReader(b))
	var out bytes.Buffer
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		m.block(&out, b, n, true)
	}
	s := out.String()
	m.cache.put(key, s)
	return s
}

// key is that of a text in the cache, in the language spoken now.
func (m *markdown) key(src []byte) [32]byte {
	h := sha256.New()
	h.Write([]byte(view.Spoken(m.ctx()) + ":"))
	h.Write(src)
	return [32]byte(h.Sum(nil))
}

// mathPolicy allows MathML as our own converter writes it: no links, no styles, no events, nothing that HTML could stand in
// but text.
func mathPolicy(p *bluemonday.Policy) {
	p.AllowElements("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msub", "msup", "msubsup", "munder", "mover", "munderover",
		"mfrac", "msqrt", "mroot", "mtable", "mtr", "mtd")
	p.AllowNoAttrs().OnElements("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msub", "msup", "msubsup", "munder", "mover", "munderover",
		"mfrac", "msqrt", "mroot", "mtable", "mtr", "mtd")
	yes := regexp.MustCompile(`^(true|false)$`)
	p.AllowAttrs("display").Matching(regexp.MustCompile(`^(block|inline)$`)).OnElements("math")
	p.AllowAttrs("mathvariant").Matching(regexp.MustCompile(`^normal$`)).OnElements("mi")
	p.AllowAttrs("stretchy", "largeop").Matching(yes).OnElements("mo")
	p.AllowAttrs("accent").Matching(yes).OnElements("mover")
	p.AllowAttrs("linethickness").Matching(regexp.MustCompile(`^0$`)).OnElements("mfrac")
	p.AllowAttrs("columnalign").Matching(regexp.MustCompile(`^(left|right) left$`)).OnElements("mtable")
	p.AllowAttrs("width").Matching(regexp.MustCompile(`^-?[0-9.]{1,6}em$`)).OnElements("mspace")
}

// block renders one block of the top level. Unless it is final, code has no colours.
func (m *markdown) block(out *bytes.Buffer, src []byte, n ast.Node, final bool) {
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		m.code(out, string(n.Language(src)), lines(n, src), final)
		return
	case *ast.CodeBlock:
		m.code(out, "", lines(n, src), final)
		return
	case *extast.Table:
		out.WriteString(`<div class="tbl-box" tabindex="0" role="region" aria-label="` + html.EscapeString(view.T(m.ctx(), "Table")) + `">`)
		m.sane(out, src, n)
		out.WriteString("</div>\n")
		return
	}
	m.sane(out, src, n)
}

func (m *markdown) sane(out *bytes.Buffer, src []byte, n ast.Node) {
	var b bytes.Buffer
	if err := m.md.Renderer().Render(&b, src, n); err != nil {
		out.WriteString("<pre>" + html.EscapeString(string(src)) + "</pre>")
		return
	}
	out.Write(m.policy.SanitizeBytes(b.Bytes()))
}

// code frames a code block: its language, a button that copies it, and the code, coloured when it is final.
func (m *markdown) code(out *bytes.Buffer, lang, src string, final bool) {
	out.WriteString(m.codeOpen(lang))
	if final {
		out.Write(m.policy.SanitizeBytes([]byte(colour(lang, src))))
	} else {
		out.WriteString(html.EscapeString(src))
	}
	out.WriteString("</code></pre>")
	if final && strings.EqualFold(lang, "mermaid") && len(src) <= colouredBlock {
		out.WriteString(`<details class="diagram" data-diagram><summary>` + html.EscapeString(view.T(m.ctx(), "Show the diagram")) + "</summary></details>")
	}
	out.WriteString("</figure>\n")
}

func (m *markdown) codeOpen(lang string) string {
	label := html.EscapeString(view.T(m.ctx(), "Copy code"))
	return `<figure class="code"><header><span class="cut-line">` + html.EscapeString(m.languageName(lang)) +
		`</span><span class="push"></span><button class="btn icon quiet" type="button" data-copy aria-label="` + label + `" title="` + label + `">` +
		`<svg class="i" aria-hidden="true"><use href="#i-copy"></use></svg></button></header><pre tabindex="0"><code>`
}

// codeClose ends the frame of code that is still open.
const codeClose = "</code></pre></figure>\n"

// languageName is the name of a language as people write it.
func (m *markdown) languageName(lang string) string {
	if lang == "" {
		return view.T(m.ctx(), "Text")
	}
	if l := lexers.Get(lang); l != nil {
		return l.Config().Name
	}
	if utf8.RuneCountInString(lang) > 24 {
		return string([]rune(lang)[:24])
	}
	return lang
}

// colour marks up code with six classes: keyword, string, number, function, comment, punctuation; a diff by its lines.
func colour(lang, src string) string {
	switch strings.ToLower(lang) {
	case "diff", "patch", "udiff":
		if len(src) <= colouredBlock {
			return diffLines(src)
		}
	}
	var l chroma.Lexer
	if lang != "" && len(src) <= colouredBlock {
		l = lexers.Get(lang)
	}
	if l == nil {
		return html.EscapeString(src)
	}
	it, err := chroma.Coalesce(l).Tokenise(&chroma.TokeniseOptions{State: "root", EnsureLF: false}, src)
	if err != nil {
		return html.EscapeString(src)
	}
	var b strings.Builder
	b.Grow(2 * len(src))
	for t := it(); t != chroma.EOF; t = it() {
		c := class(t.Type)
		if c == "" {
			b.WriteString(html.EscapeString(t.Value))
			continue
		}
		b.WriteString(`<span class="` + c + `">` + html.EscapeString(t.Value) + `</span>`)
	}
	return b.String()
}

// diffLines marks up the lines of a diff: added, deleted, and the heads of its hunks.
func diffLines(src string) string {
	var b strings.Builder
	for line := range strings.Lines(src) {
		class := ""
		switch {
		case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "),
			strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			class = "h"
		case strings.HasPrefix(line, "+"):
			class = "a"
		case strings.HasPrefix(line, "-"):
			class = "d"
		}
		if class == "" {
			b.WriteString(html.EscapeString(line))
			continue
		}
		b.WriteString(`<span class="` + class + `">` + html.EscapeString(line) + "</span>")
	}
	return b.String()
}

func class(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Keyword), t == chroma.NameTag, t == chroma.OperatorWord:
		return "k"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber), t == chroma.NameConstant:
		return "m"
	case t == chroma.NameFunction, t == chroma.NameFunctionMagic, t == chroma.NameAttribute, t == chroma.NameClass, t == chroma.NameBuiltin:
		return "f"
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InCategory(chroma.Punctuation):
		return "p"
	}
	return ""
}

func lines(n ast.Node, src []byte) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(src))
	}
	return b.String()
}

// nodes renders what is not shown as goldmark would: links leave in a new tab and show their host, pictures are never
// fetched, HTML is shown as it was written, boxes of task lists are characters.
type nodes struct{}

func (nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, link)
	r.Register(ast.KindAutoLink, autoLink)
	r.Register(ast.KindImage, image)
	r.Register(ast.KindRawHTML, rawHTML)
	r.Register(ast.KindHTMLBlock, htmlBlock)
	r.Register(ast.KindFencedCodeBlock, innerCode)
	r.Register(extast.KindTaskCheckBox, box)
}

func openLink(w util.BufWriter, dest string) {
	w.WriteString(`<a href="` + html.EscapeString(dest) + `" rel="noopener noreferrer nofollow" target="_blank" title="` + html.EscapeString(dest) + `">`)
}

// safe reports whether a link may be followed from the page: an absolute web address, or mail.
func safe(dest string) (host string, ok bool) {
	u, err := url.Parse(strings.TrimSpace(dest))
	if err != nil {
		return "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.Host, u.Host != "" && u.User == nil
	case "mailto":
		return "", u.Opaque != ""
	}
	return "", false
}

func link(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.Link)
	dest := string(n.Destination)
	host, ok := safe(dest)
	if !ok {
		if !entering {
			w.WriteString(` <span class="host">` + html.EscapeString(dest) + `</span>`)
		}
		return ast.WalkContinue, nil
	}
	if entering {
		openLink(w, dest)
		return ast.WalkContinue, nil
	}
	w.WriteString("</a>")
	if host != "" && !strings.Contains(string(plain(n, src)), host) {
		w.WriteString(`<span class="host">` + html.EscapeString(host) + `</span>`)
	}
	return ast.WalkContinue, nil
}

func autoLink(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.AutoLink)
	dest, label := string(n.URL(src)), string(n.Label(src))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(dest), "mailto:") {
		dest = "mailto:" + dest
	}
	if _, ok := safe(dest); !ok {
		w.WriteString(html.EscapeString(label))
		return ast.WalkContinue, nil
	}
	openLink(w, dest)
	w.WriteString(html.EscapeString(label) + "</a>")
	return ast.WalkContinue, nil
}

// image shows a picture's text and where it is; following the link is the person's choice.
func image(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.Image)
	dest, alt := string(n.Destination), strings.TrimSpace(string(plain(n, src)))
	if alt == "" {
		alt = "Picture"
	}
	host, ok := safe(dest)
	if !ok {
		w.WriteString(html.EscapeString(alt))
		return ast.WalkSkipChildren, nil
	}
	openLink(w, dest)
	w.WriteString(html.EscapeString(alt) + `</a><span class="host">picture at ` + html.EscapeString(host) + `</span>`)
	return ast.WalkSkipChildren, nil
}

func plain(n ast.Node, src []byte) []byte {
	var b []byte
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch c := c.(type) {
		case *ast.Text:
			b = append(b, c.Segment.Value(src)...)
		case *ast.String:
			b = append(b, c.Value...)
		}
		return ast.WalkContinue, nil
	})
	return b
}

func rawHTML(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.RawHTML)
	for i := range n.Segments.Len() {
		s := n.Segments.At(i)
		w.WriteString(html.EscapeString(string(s.Value(src))))
	}
	return ast.WalkSkipChildren, nil
}

func htmlBlock(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.HTMLBlock)
	if entering {
		w.WriteString("<pre><code>" + html.EscapeString(lines(n, src)))
		return ast.WalkContinue, nil
	}
	if n.HasClosure() {
		w.WriteString(html.EscapeString(string(n.ClosureLine.Value(src))))
	}
	w.WriteString("</code></pre>\n")
	return ast.WalkContinue, nil
}

// innerCode is a code block inside a list or a quotation, which has no frame.
func innerCode(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.FencedCodeBlock)
	w.WriteString("<pre><code>" + colour(string(n.Language(src)), lines(n, src)) + "</code></pre>\n")
	return ast.WalkSkipChildren, nil
}

func box(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		if node.(*extast.TaskCheckBox).IsChecked {
			w.WriteString("☑ ")
		} else {
			w.WriteString("☐ ")
		}
	}
	return ast.WalkContinue, nil
}

// cache keeps HTML, what was used last first, up to a number of bytes.
type cache[K comparable] struct {
	mu    sync.Mutex
	max   int
	size  int
	order *list.List
	items map[K]*list.Element
}

type cached[K comparable] struct {
	key  K
	html string
}

func newCache[K comparable](max int) *cache[K] {
	return &cache[K]{max: max, order: list.New(), items: map[K]*list.Element{}}
}

func (c *cache[K]) get(key K) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		return "", false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached[K]).html, true
}

func (c *cache[K]) put(key K, html string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[key]; ok || len(html) > c.max/4 {
		return
	}
	c.items[key] = c.order.PushFront(&cached[K]{key, html})
	c.size += len(html)
	for c.size > c.max {
		old := c.order.Remove(c.order.Back()).(*cached[K])
		delete(c.items, old.key)
		c.size -= len(old.html)
	}
}

func (c *cache[K]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order.Init()
	clear(c.items)
	c.size = 0
}
