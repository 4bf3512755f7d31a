package frontend

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The mathematics that people and agents write in TeX, as MathML: what is common in prose and textbooks. There are no macros,
// nothing is defined, nothing loops. Whatever is not known makes the whole formula stay as it was written, so that nothing
// is shown that was not meant. Every text is escaped here, and passes the policy of Markdown like all else.

const (
	maxTeX   = 4 << 10 // a longer formula stays as it is written
	texDepth = 64      // of nested groups
)

// mathML returns a formula as MathML; false when it holds something that is not known.
func mathML(src string, block bool) (string, bool) {
	if len(src) > maxTeX || strings.TrimSpace(src) == "" || !utf8.ValidString(src) {
		return "", false
	}
	p := &tex{src: src}
	body, ok := p.rows("")
	if !ok || p.pos < len(p.src) {
		return "", false
	}
	display := "inline"
	if block {
		display = "block"
	}
	return `<math display="` + display + `">` + body + "</math>", true
}

// tex reads a formula from left to right.
type tex struct {
	src   string
	pos   int
	depth int
	font  string // what letters are drawn as: a mathvariant, or ""
}

// symbol is one thing that scripts can be put at.
type symbol struct {
	ml     string
	limits bool // its scripts stand above and below
}

// peek returns the next token: a command with its backslash, or one character; "" at the end.
func (p *tex) peek() string {
	for p.pos < len(p.src) && strings.ContainsRune(" \t\n\r~", rune(p.src[p.pos])) {
		p.pos++
	}
	if p.pos >= len(p.src) {
		return ""
	}
	if p.src[p.pos] != '\\' {
		_, n := utf8.DecodeRuneInString(p.src[p.pos:])
		return p.src[p.pos : p.pos+n]
	}
	end := p.pos + 1
	for end < len(p.src) && isLetter(p.src[end]) {
		end++
	}
	if end == p.pos+1 && end < len(p.src) {
		_, n := utf8.DecodeRuneInString(p.src[end:])
		end += n
	}
	return p.src[p.pos:end]
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (p *tex) next() string {
	t := p.peek()
	p.pos += len(t)
	return t
}

func mrow(ml string) string { return "<mrow>" + ml + "</mrow>" }

// rows reads up to the token that closes, which it takes: "" is the end.
func (p *tex) rows(closing string) (string, bool) {
	if p.depth++; p.depth > texDepth {
		return "", false
	}
	defer func() { p.depth-- }()
	var b strings.Builder
	font := p.font
	defer func() { p.font = font }()
	for {
		t := p.peek()
		if t == closing || t == "" {
			p.pos += len(t)
			return mrow(b.String()), t == closing
		}
		if t == "&" || t == `\\` || t == `\end` || t == `\right` || t == "}" {
			return "", false
		}
		ml, ok := p.scripted()
		if !ok {
			return "", false
		}
		b.WriteString(ml)
	}
}

// scripted reads one symbol with what stands at it.
func (p *tex) scripted() (string, bool) {
	a := symbol{ml: "<mrow></mrow>"}
	if t := p.peek(); t != "_" && t != "^" {
		var ok bool
		if a, ok = p.symbol(); !ok {
			return "", false
		}
	}
	var sub, sup string
	for {
		switch t := p.peek(); {
		case t == `\limits` || t == `\nolimits`:
			p.next()
			a.limits = t == `\limits`
		case t == "_" && sub == "", t == "^" && sup == "":
			p.next()
			s, ok := p.arg()
			if !ok {
				return "", false
			}
			if t == "_" {
				sub = s
			} else {
				sup = s
			}
		case t == "_" || t == "^":
			return "", false
		case t == "'":
			primes := ""
			for p.peek() == "'" {
				p.next()
				primes += "′"
			}
			sup = mrow(sup + "<mo>" + primes + "</mo>")
		default:
			return script(a, sub, sup), true
		}
	}
}

func script(a symbol, sub, sup string) string {
	tags := [3]string{"msub", "msup", "msubsup"}
	if a.limits {
		tags = [3]string{"munder", "mover", "munderover"}
	}
	switch {
	case sub != "" && sup != "":
		return "<" + tags[2] + ">" + a.ml + sub + sup + "</" + tags[2] + ">"
	case sub != "":
		return "<" + tags[0] + ">" + a.ml + sub + "</" + tags[0] + ">"
	case sup != "":
		return "<" + tags[1] + ">" + a.ml + sup + "</" + tags[1] + ">"
	}
	return a.ml
}

// arg reads what a command or a script applies to: a group or one symbol.
func (p *tex) arg() (string, bool) {
	switch t := p.peek(); t {
	case "", "}", "&", "_", "^", `\\`, `\right`, `\end`:
		return "", false
	case "{":
		p.next()
		return p.rows("}")
	}
	if c := p.src[p.pos]; c >= '0' && c <= '9' { // x^12 raises the 1 alone
		p.pos++
		return "<mn>" + string(c) + "</mn>", true
	}
	if p.depth++; p.depth > texDepth { // of groups without braces
		return "", false
	}
	defer func() { p.depth-- }()
	a, ok := p.symbol()
	return a.ml, ok
}

// raw reads a group as text.
func (p *tex) raw() (string, bool) {
	if p.next() != "{" {
		return "", false
	}
	level, from := 1, p.pos
	for ; p.pos < len(p.src); p.pos++ {
		switch p.src[p.pos] {
		case '{':
			level++
		case '}':
			if level--; level == 0 {
				p.pos++
				return p.src[from : p.pos-1], true
			}
		}
	}
	return "", false
}

func (p *tex) symbol() (symbol, bool) {
	t := p.next()
	r, _ := utf8.DecodeRuneInString(t)
	switch {
	case t == "{":
		ml, ok := p.rows("}")
		return symbol{ml: ml}, ok
	case t[0] == '\\':
		return p.command(t[1:])
	case unicode.IsDigit(r):
		n := t
		for p.pos < len(p.src) && (p.src[p.pos] >= '0' && p.src[p.pos] <= '9' || p.src[p.pos] == '.' && p.pos+1 < len(p.src) && p.src[p.pos+1] >= '0' && p.src[p.pos+1] <= '9') {
			n += string(p.src[p.pos])
			p.pos++
		}
		return symbol{ml: "<mn>" + html.EscapeString(n) + "</mn>"}, true
	case unicode.IsLetter(r):
		return symbol{ml: p.letter(t)}, true
	case t == "$" || t == "%" || t == "#" || unicode.IsControl(r):
		return symbol{}, false
	case t == "-":
		t = "−"
	case t == "*":
		t = "∗"
	}
	if strings.Contains("()[]|/", t) {
		return symbol{ml: `<mo stretchy="false">` + t + "</mo>"}, true
	}
	return symbol{ml: "<mo>" + html.EscapeString(t) + "</mo>"}, true
}

func (p *tex) letter(t string) string {
	if p.font == "" {
		return "<mi>" + html.EscapeString(t) + "</mi>"
	}
	return `<mi mathvariant="normal">` + html.EscapeString(styled(t, p.font)) + "</mi>"
}

// styled returns letters in the alphabet of a font, as Unicode has it.
func styled(s, font string) string {
	var b strings.Builder
	for _, r := range s {
		if e, ok := texHoles[font][r]; ok {
			b.WriteRune(e)
			continue
		}
		base, ok := texFonts[font]
		switch {
		case ok && r >= 'A' && r <= 'Z':
			r = base[0] + r - 'A'
		case ok && r >= 'a' && r <= 'z':
			r = base[1] + r - 'a'
		case ok && base[2] > 0 && r >= '0' && r <= '9':
			r = base[2] + r - '0'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (p *tex) command(name string) (symbol, bool) {
	if s, ok := texLetters[name]; ok {
		return symbol{ml: "<mi>" + s + "</mi>"}, true
	}
	if s, ok := texOperators[name]; ok {
		return symbol{ml: "<mo>" + s + "</mo>"}, true
	}
	if s, ok := texLarge[name]; ok {
		return symbol{ml: `<mo largeop="true">` + s + "</mo>", limits: !strings.Contains(name, "int")}, true
	}
	if texFunctions[name] {
		return symbol{ml: `<mi mathvariant="normal">` + name + "</mi>", limits: texBelow[name]}, true
	}
	if w, ok := texSpaces[name]; ok {
		return symbol{ml: `<mspace width="` + w + `"></mspace>`}, true
	}
	if s, ok := texAccents[name]; ok {
		ml, ok := p.arg()
		if strings.HasPrefix(name, "under") {
			return symbol{ml: "<munder>" + ml + "<mo>" + s + "</mo></munder>", limits: true}, ok
		}
		return symbol{ml: `<mover accent="true">` + ml + "<mo>" + s + "</mo></mover>", limits: name == "overbrace"}, ok
	}
	if font, ok := texFontNames[name]; ok {
		was := p.font
		p.font = font
		ml, ok := p.arg()
		p.font = was
		return symbol{ml: ml}, ok
	}
	switch name {
	case "frac", "dfrac", "tfrac", "cfrac", "binom":
		up, ok := p.arg()
		down, ok2 := p.arg()
		if !ok || !ok2 {
			return symbol{}, false
		}
		if name == "binom" {
			return symbol{ml: mrow(`<mo>(</mo><mfrac linethickness="0">` + up + down + `</mfrac><mo>)</mo>`)}, true
		}
		return symbol{ml: "<mfrac>" + up + down + "</mfrac>"}, true
	case "sqrt":
		if p.peek() == "[" {
			p.next()
			n, ok := p.rows("]")
			ml, ok2 := p.arg()
			return symbol{ml: "<mroot>" + ml + n + "</mroot>"}, ok && ok2
		}
		ml, ok := p.arg()
		return symbol{ml: "<msqrt>" + ml + "</msqrt>"}, ok
	case "text", "textrm", "textbf", "textit", "mbox", "operatorname", "mathop":
		s, ok := p.raw()
		if !ok || strings.ContainsAny(s, "\\$") {
			return symbol{}, false
		}
		if name == "operatorname" || name == "mathop" {
			return symbol{ml: `<mi mathvariant="normal">` + html.EscapeString(s) + "</mi>", limits: name == "mathop"}, true
		}
		return symbol{ml: "<mtext>" + html.EscapeString(strings.ReplaceAll(s, " ", "\u00a0")) + "</mtext>"}, true
	case "left":
		return p.fenced()
	case "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "biggl", "biggr", "middle":
		d, ok := p.delimiter()
		return symbol{ml: `<mo stretchy="true">` + d + "</mo>"}, ok
	case "begin":
		return p.environment()
	case "stackrel", "overset", "underset":
		over, ok := p.arg()
		base, ok2 := p.arg()
		if name == "underset" {
			return symbol{ml: "<munder>" + base + over + "</munder>"}, ok && ok2
		}
		return symbol{ml: "<mover>" + base + over + "</mover>"}, ok && ok2
	case "displaystyle", "textstyle", "nonumber", "notag":
		return symbol{}, true
	case "not":
		a, ok := p.symbol()
		return symbol{ml: strings.Replace(a.ml, "</mo>", "\u0338</mo>", 1)}, ok && strings.HasPrefix(a.ml, "<mo>")
	case "pmod":
		ml, ok := p.arg()
		return symbol{ml: mrow(`<mspace width="1em"></mspace><mo stretchy="false">(</mo><mi mathvariant="normal">mod</mi><mspace width="0.33em"></mspace>` + ml + `<mo stretchy="false">)</mo>`)}, ok
	case "bmod":
		return symbol{ml: `<mo>mod</mo>`}, true
	}
	return symbol{}, false
}

func (p *tex) delimiter() (string, bool) {
	t := p.next()
	if t == "." {
		return "", true
	}
	if s, ok := texDelimiters[t]; ok {
		return s, true
	}
	if t != "" && strings.Contains("()[]|/<>", t) {
		return html.EscapeString(strings.NewReplacer("<", "⟨", ">", "⟩").Replace(t)), true
	}
	return "", false
}

// fenced reads what stands between \left and \right.
func (p *tex) fenced() (symbol, bool) {
	open, ok := p.delimiter()
	if !ok {
		return symbol{}, false
	}
	ml, ok := p.rows(`\right`)
	if !ok {
		return symbol{}, false
	}
	end, ok := p.delimiter()
	fence := func(s string) string {
		if s == "" {
			return ""
		}
		return `<mo stretchy="true">` + s + "</mo>"
	}
	return symbol{ml: mrow(fence(open) + ml + fence(end))}, ok
}

// environment reads a table of formulas.
func (p *tex) environment() (symbol, bool) {
	name, ok := p.raw()
	env, known := texEnvironments[strings.TrimSuffix(name, "*")]
	if !ok || !known {
		return symbol{}, false
	}
	if name == "array" {
		if _, ok := p.raw(); !ok { // how its columns are aligned
			return symbol{}, false
		}
	}
	if p.depth++; p.depth > texDepth {
		return symbol{}, false
	}
	defer func() { p.depth-- }()
	var b, line, cell strings.Builder
	endCell := func() {
		line.WriteString("<mtd>" + cell.String() + "</mtd>")
		cell.Reset()
	}
	endLine := func() {
		endCell()
		b.WriteString("<mtr>" + line.String() + "</mtr>")
		line.Reset()
	}
	for {
		switch t := p.peek(); t {
		case "", "}", `\right`:
			return symbol{}, false
		case "&":
			p.next()
			endCell()
		case `\\`:
			p.next()
			endLine()
		case `\hline`:
			p.next()
		case `\end`:
			p.next()
			if end, ok := p.raw(); !ok || end != name {
				return symbol{}, false
			}
			if cell.Len() > 0 || line.Len() > 0 {
				endLine()
			}
			align := ""
			if env.align != "" {
				align = ` columnalign="` + env.align + `"`
			}
			ml := "<mtable" + align + ">" + b.String() + "</mtable>"
			if env.open != "" {
				ml = `<mo stretchy="true">` + env.open + "</mo>" + ml
			}
			if env.close != "" {
				ml += `<mo stretchy="true">` + env.close + "</mo>"
			}
			return symbol{ml: mrow(ml)}, true
		default:
			ml, ok := p.scripted()
			if !ok {
				return symbol{}, false
			}
			cell.WriteString(ml)
		}
	}
}
