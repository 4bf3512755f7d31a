package frontend

import (
	"strings"
	"testing"
	"time"
)

func TestMathML(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`x^2 + y_i = z`:                        `<mrow><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><msub><mi>y</mi><mi>i</mi></msub><mo>=</mo><mi>z</mi></mrow>`,
		`\frac{a}{b+1}`:                        `<mrow><mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac></mrow>`,
		`\sum_{i=1}^n i`:                       `<mrow><munderover><mo largeop="true">∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi></mrow>`,
		`\sqrt[3]{x}`:                          `<mrow><mroot><mrow><mi>x</mi></mrow><mrow><mn>3</mn></mrow></mroot></mrow>`,
		`a<b`:                                  `<mrow><mi>a</mi><mo>&lt;</mo><mi>b</mi></mrow>`,
		`\mathbb{R}`:                           `<mrow><mrow><mi mathvariant="normal">ℝ</mi></mrow></mrow>`,
		`\left(\frac12\right)`:                 `<mrow><mrow><mo stretchy="true">(</mo><mrow><mfrac><mn>1</mn><mn>2</mn></mfrac></mrow><mo stretchy="true">)</mo></mrow></mrow>`,
		`\begin{pmatrix}1&0\\0&1\end{pmatrix}`: `<mrow><mrow><mo stretchy="true">(</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>0</mn></mtd><mtd><mn>1</mn></mtd></mtr></mtable><mo stretchy="true">)</mo></mrow></mrow>`,
		`f'(x)`:                                `<mrow><msup><mi>f</mi><mrow><mo>′</mo></mrow></msup><mo stretchy="false">(</mo><mi>x</mi><mo stretchy="false">)</mo></mrow>`,
		`\text{if } x`:                         "<mrow><mtext>if\u00a0</mtext><mi>x</mi></mrow>",
		`3.14\,\pi`:                            `<mrow><mn>3.14</mn><mspace width="0.167em"></mspace><mi>π</mi></mrow>`,
	} {
		got, ok := mathML(src, false)
		if want = `<math display="inline">` + want + "</math>"; !ok || got != want {
			t.Errorf("%s\ngot  %s\nwant %s", src, got, want)
		}
	}
	for _, src := range []string{
		``, ` `, `\unknown{x}`, `{x`, `x}`, `\frac{a}`, `x^`, `x^a^b`, `\left( x`, `\right)`, `\begin{pmatrix}1`, `\begin{evil}x\end{evil}`,
		`\newcommand{\a}{\a\a}\a`, `\def\a{\a}\a`, `\href{javascript:x}{y}`, `\`, `a & b`, `\text{$}`, strings.Repeat("{", 500) + strings.Repeat("}", 500),
		strings.Repeat("x", maxTeX+1), "\xff", strings.Repeat(`\hat `, texDepth) + "x", strings.Repeat(`\frac1`, texDepth) + "x",
	} {
		if got, ok := mathML(src, true); ok {
			t.Errorf("%q was taken for %s", src, got)
		}
	}
	if _, ok := mathML(strings.Repeat(`\hat `, texDepth-1)+"x", true); !ok {
		t.Errorf("%d accents are too deep", texDepth-1)
	}
	if _, ok := mathML(strings.Repeat("{", texDepth-1)+strings.Repeat("}", texDepth-1), true); !ok {
		t.Error("the deepest formula was not taken")
	}
}

func TestMathInMarkdown(t *testing.T) {
	t.Parallel()
	m := newMarkdown(nil)
	for src, want := range map[string]string{
		"It costs $5 and $6.":               "<p>It costs $5 and $6.</p>\n",
		"Take $x$ now.":                     `<p>Take <math display="inline"><mrow><mi>x</mi></mrow></math> now.</p>` + "\n",
		`Take \(x\) now.`:                   `<p>Take <math display="inline"><mrow><mi>x</mi></mrow></math> now.</p>` + "\n",
		"$$\nx\n$$":                         `<p><math display="block"><mrow><mi>x</mi></mrow></math></p>` + "\n",
		`\[x\]`:                             `<p><math display="block"><mrow><mi>x</mi></mrow></math></p>` + "\n",
		`$\evil$`:                           "<p><code>$\\evil$</code></p>\n",
		"`$x$`":                             "<p><code>$x$</code></p>\n",
		`\$x\$`:                             "<p>$x$</p>\n",
		"$a_1 * b_2 * c$":                   `<p><math display="inline"><mrow><msub><mi>a</mi><mn>1</mn></msub><mo>∗</mo><msub><mi>b</mi><mn>2</mn></msub><mo>∗</mo><mi>c</mi></mrow></math></p>` + "\n",
		"$ x$ and $x $ are none":            "<p>$ x$ and $x $ are none</p>\n",
		"An open $x":                        "<p>An open $x</p>\n",
		"$\\text{<img src=x onerror=y>}$ z": "<p><math display=\"inline\"><mrow><mtext>&lt;img\u00a0src=x\u00a0onerror=y&gt;</mtext></mrow></math> z</p>\n",
	} {
		if got := m.HTML(src); got != want {
			t.Errorf("%q\ngot  %s\nwant %s", src, got, want)
		}
	}
}

// What only begins formulas takes no longer than other texts of its length, about; formulas are read as far as there is
// little of that.
func TestFormulasWithoutEnd(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	for _, open := range []string{`\(`, `\[`, "\\(\n", "$1\n", "$1"} {
		done := make(chan string, 1)
		go func() { done <- newMarkdown(nil).HTML(strings.Repeat(open, size/len(open))) }()
		select {
		case html := <-done:
			if strings.Contains(html, "<math") {
				t.Errorf("%q made formulas: %.200s", open, html)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q takes too long", open)
		}
	}
	long := strings.Repeat("x", maxTeX)
	for src, formula := range map[string]bool{`\(` + long + `\)`: true, `\(x` + long + `\)`: false, "$$" + long + "$$": true, "$$x" + long + "$$": false} {
		if html := newMarkdown(nil).HTML(src); strings.Contains(html, "<math") != formula {
			t.Errorf("a formula of %d: %.100s", len(src), html)
		}
	}
	if html := newMarkdown(nil).HTML(strings.Repeat(`\(`, 50) + " $x$"); !strings.Contains(html, "<math") {
		t.Errorf("a formula behind some without an end: %s", html)
	}
}

// No formula takes long or panics, whatever is in it.
func FuzzMathML(f *testing.F) {
	for _, s := range []string{`\frac{a}{b}`, `\begin{cases}x&y\\z\end{cases}`, `\left.\middle|\right)`, `\sqrt[`, `'''^_`, `\not=`, `\text{{}`, "\\"} {
		f.Add(s)
	}
	m := newMarkdown(nil)
	f.Fuzz(func(t *testing.T, s string) {
		begin := time.Now()
		out, ok := mathML(s, true)
		if d := time.Since(begin); d > time.Second {
			t.Fatalf("%v for %q", d, s)
		}
		if ok && string(m.policy.SanitizeBytes([]byte(out))) != out && !strings.Contains(out, "&#") {
			if clean := string(m.policy.SanitizeBytes([]byte(out))); clean != out {
				t.Fatalf("%q: the policy changes\n%s\nto\n%s", s, out, clean)
			}
		}
	})
}
