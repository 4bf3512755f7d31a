package frontend

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// oklch is a colour of the tokens.
type oklch struct{ l, c, h, a float64 }

var (
	tokenLine = regexp.MustCompile(`(--[a-z0-9-]+):\s*light-dark\((oklch\([^)]*\)),\s*(oklch\([^)]*\))\)`)
	oklchArgs = regexp.MustCompile(`oklch\(([^)]*)\)`)
)

// tokens reads the colours of tokens.css: first by day, then by night.
func tokens(t *testing.T) map[string][2]oklch {
	t.Helper()
	b, err := os.ReadFile("src/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][2]oklch{}
	for _, m := range tokenLine.FindAllStringSubmatch(string(b), -1) {
		out[m[1]] = [2]oklch{parse(t, m[2]), parse(t, m[3])}
	}
	return out
}

func parse(t *testing.T, s string) oklch {
	t.Helper()
	m := oklchArgs.FindStringSubmatch(s)
	if m == nil {
		t.Fatalf("%q is no colour", s)
	}
	color, alpha, _ := strings.Cut(m[1], "/")
	var v [4]float64
	v[3] = 1
	for i, f := range strings.Fields(color) {
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			t.Fatal(err)
		}
		v[i] = n
	}
	if a := strings.TrimSpace(alpha); a != "" {
		n, err := strconv.ParseFloat(a, 64)
		if err != nil {
			t.Fatal(err)
		}
		v[3] = n
	}
	return oklch{v[0], v[1], v[2], v[3]}
}

// luminance is the relative luminance of WCAG.
func (c oklch) luminance() float64 {
	h := c.h * math.Pi / 180
	a, b := c.c*math.Cos(h), c.c*math.Sin(h)
	l := math.Pow(c.l+0.3963377774*a+0.2158037573*b, 3)
	m := math.Pow(c.l-0.1055613458*a-0.0638541728*b, 3)
	s := math.Pow(c.l-0.0894841775*a-1.2914855480*b, 3)
	clip := func(v float64) float64 { return math.Min(1, math.Max(0, v)) }
	red := clip(4.0767416621*l - 3.3077115913*m + 0.2309699292*s)
	green := clip(-1.2684380046*l + 2.6097574011*m - 0.3413193965*s)
	blue := clip(-0.0041960863*l - 0.7034186147*m + 1.7076147010*s)
	return 0.2126*red + 0.7152*green + 0.0722*blue
}

func contrast(a, b oklch) float64 {
	x, y := a.luminance(), b.luminance()
	if x < y {
		x, y = y, x
	}
	return (x + 0.05) / (y + 0.05)
}

func TestContrast(t *testing.T) {
	t.Parallel()
	tk := tokens(t)
	surfaces := []string{"--bg", "--surface", "--raised", "--sunken"}
	for name, least := range map[string]float64{
		"--text": 7, "--text-2": 7, "--text-3": 4.5, "--accent": 4.5, "--ok": 4.5, "--ask": 4.5, "--fail": 4.5,
		"--c-key": 4.5, "--c-str": 4.5, "--c-num": 4.5, "--c-fun": 4.5, "--line-2": 3,
	} {
		for _, s := range surfaces {
			checkContrast(t, tk, name, s, least)
		}
	}
	checkContrast(t, tk, "--on-accent", "--accent", 4.5)
	checkContrast(t, tk, "--on-accent", "--accent-2", 4.5)
	for _, name := range []string{"--ok", "--ask", "--fail"} {
		checkContrast(t, tk, name, name+"-soft", 4.5)
	}
	checkContrast(t, tk, "--text", "--accent-soft", 7)
}

func checkContrast(t *testing.T, tk map[string][2]oklch, fg, bg string, least float64) {
	t.Helper()
	f, ok := tk[fg]
	b, ok2 := tk[bg]
	if !ok || !ok2 {
		t.Fatalf("no token %s or %s", fg, bg)
	}
	for i, when := range []string{"by day", "by night"} {
		if got := contrast(f[i], b[i]); got < least {
			t.Errorf("%s on %s %s: %.2f, want %.1f", fg, bg, when, got, least)
		}
	}
}

func TestFlagContrast(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("src/parley.css")
	if err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile(`\.flag\{[^}]*background:light-dark\(oklch\(([.\d]+) ([.\d]+) var\(--hue\)\),oklch\(([.\d]+) ([.\d]+) var\(--hue\)\)\);color:light-dark\(oklch\(([.\d]+) ([.\d]+) var\(--hue\)\),oklch\(([.\d]+) ([.\d]+) var\(--hue\)\)\)`).FindStringSubmatch(string(b))
	if flag == nil {
		t.Fatal("the flag's colours were not found")
	}
	n := func(i int) float64 { v, _ := strconv.ParseFloat(flag[i], 64); return v }
	css, err := os.ReadFile("src/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	hues := regexp.MustCompile(`\.hue-\d+ \{ --hue: (\d+)`).FindAllStringSubmatch(string(css), -1)
	if len(hues) != 12 {
		t.Fatalf("%d hues", len(hues))
	}
	for _, h := range hues {
		hue, _ := strconv.ParseFloat(h[1], 64)
		for i, when := range []string{"by day", "by night"} {
			cloth, letters := oklch{n(1 + 2*i), n(2 + 2*i), hue, 1}, oklch{n(5 + 2*i), n(6 + 2*i), hue, 1}
			if got := contrast(cloth, letters); got < 4.5 {
				t.Errorf("hue %v %s: %.2f", hue, when, got)
			}
		}
	}
}
