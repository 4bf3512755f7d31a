package view

import (
	"bytes"
	"context"
	"encoding/json"
	cmdline "flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/a-h/templ"
)

var update = cmdline.Bool("update", false, "add to the catalogues what they lack, to be translated, and remove what nobody says")

// said are the sentences of the sources, each with where it is.
func said(t *testing.T) map[string]string {
	t.Helper()
	keys := map[string]string{}
	var files []string
	for _, dir := range []string{".", ".."} {
		fs, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, fs...)
	}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CompositeLit); ok {
				faults(keys, set, c)
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fn := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				fn = f.Name
			case *ast.SelectorExpr:
				if x, ok := f.X.(*ast.Ident); ok && x.Name == "view" {
					fn = f.Sel.Name
				}
			}
			at := map[string][]int{"T": {1}, "Tn": {2, 3}, "TC": {0}, "Mark": {0}}[fn]
			if fn == "badRequest" { // is shown by FaultOf, which looks it up; what it is told may have been put together by T
				if s, ok := literal(call.Args[0]); ok {
					keys[s] = set.Position(call.Pos()).String()
				}
				return true
			}
			if at == nil || len(call.Args) <= at[len(at)-1] {
				return true
			}
			where := set.Position(call.Pos()).String()
			var texts []string
			for _, i := range at {
				s, ok := literal(call.Args[i])
				if !ok {
					t.Errorf("%s: %s wants its sentence as a literal", where, fn)
					return true
				}
				texts = append(texts, s)
			}
			key := texts[len(texts)-1]
			if fn == "Tn" && verbs(t, texts[0]) != verbs(t, key) {
				t.Errorf("%s: one and many differ in their verbs: %q, %q", where, texts[0], key)
			}
			if n := len(call.Args) - at[len(at)-1] - 1; fn != "Mark" && call.Ellipsis == token.NoPos {
				if fn == "Tn" {
					n++
				}
				if got := len(strings.Fields(verbs(t, key))); got != n {
					t.Errorf("%s: %q has %d verbs for %d arguments", where, key, got, n)
				}
			}
			if key == "" {
				t.Errorf("%s: %s of nothing", where, fn)
				return true
			}
			keys[key] = where
			return true
		})
	}
	return keys
}

// faults adds what a literal failure says: FaultOf looks it up when it is shown.
func faults(keys map[string]string, set *token.FileSet, c *ast.CompositeLit) {
	sel, ok := c.Type.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Fault" {
		return
	}
	for _, e := range c.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if name := kv.Key.(*ast.Ident).Name; name != "What" && name != "Do" {
			continue
		}
		if s, ok := literal(kv.Value); ok {
			keys[s] = set.Position(kv.Pos()).String()
		}
	}
}

func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		a, ok := literal(e.X)
		b, ok2 := literal(e.Y)
		return a + b, ok && ok2
	}
	return "", false
}

var verb = regexp.MustCompile(`%(?:\[(\d+)\])?([#+\- 0-9.]*[a-zA-Z%])`)

// verbs returns the verbs of a sentence in the order of their arguments.
func verbs(t *testing.T, s string) string {
	t.Helper()
	byArg := map[int]string{}
	next := 1
	for _, m := range verb.FindAllStringSubmatch(s, -1) {
		if m[2] == "%" {
			continue
		}
		if m[1] != "" {
			next, _ = strconv.Atoi(m[1])
		}
		if v, ok := byArg[next]; ok && v != m[2] {
			t.Errorf("%q uses argument %d in two ways", s, next)
		}
		byArg[next] = m[2]
		next++
	}
	var all []string
	for _, i := range slices.Sorted(maps.Keys(byArg)) {
		all = append(all, fmt.Sprint(i, "%", byArg[i]))
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(strings.Join(all, "\n"), " ", "")), " ")
}

func TestCatalogues(t *testing.T) {
	keys := said(t)
	if len(keys) == 0 {
		t.Fatal("no sentences found: the test looks at the wrong place")
	}
	for _, tongue := range Tongues()[1:] {
		t.Run(tongue.Code, func(t *testing.T) {
			c := catalogues()[tongue.Code]
			if *update {
				writeCatalogue(t, tongue.Code, keys, c)
			}
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				switch s := c[k]; {
				case s == "":
					t.Errorf("%s: not translated: %q", keys[k], k)
				case verbs(t, s) != verbs(t, k):
					t.Errorf("%q has other verbs than its translation %q", k, s)
				}
			}
			for _, k := range slices.Sorted(maps.Keys(c)) {
				if keys[k] == "" {
					t.Errorf("nobody says %q", k)
				}
			}
		})
	}
}

func writeCatalogue(t *testing.T, code string, keys, c map[string]string) {
	t.Helper()
	maps.DeleteFunc(c, func(k, _ string) bool { return keys[k] == "" })
	for k := range keys {
		c[k] += ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	if err := e.Encode(c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("words", code+".json"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The page's own script says nothing that the server does not give it.
func TestScriptWords(t *testing.T) {
	call := regexp.MustCompile(`\bt\("((?:[^"\\]|\\.)*)"`)
	given := map[string]bool{}
	for _, w := range scriptWords() {
		given[w] = false
	}
	files, err := filepath.Glob("../src/*.ts")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(b), -1) {
			if _, ok := given[m[1]]; !ok {
				t.Errorf("%s: scriptWords lacks %q", f, m[1])
			}
			given[m[1]] = true
		}
	}
	for w, used := range given {
		if !used {
			t.Errorf("no script says %q", w)
		}
	}
}

func TestNegotiate(t *testing.T) {
	for _, c := range []struct{ setting, accept, want string }{
		{"", "", "en"},
		{"", "ko-KR,ko;q=0.9,en;q=0.8", "ko"},
		{"", "ja", "ja"},
		{"", "fr-FR, de;q=0.5", "en"},
		{"", "fr, ja;q=0.3, en;q=0.1", "ja"},
		{"ja", "ko-KR,ko;q=0.9", "ja"},
		{"en", "ko", "en"},
		{"tlh", "ko", "ko"},
		{"", "\x00;;q=", "en"},
	} {
		if got := Negotiate(c.setting, c.accept); got != c.want {
			t.Errorf("Negotiate(%q, %q) = %q, want %q", c.setting, c.accept, got, c.want)
		}
	}
}

// Sentences are formatted in English as in any language, in whatever order that has its words.
func TestT(t *testing.T) {
	catalogues()["xx"] = map[string]string{
		"%d from %s":         "%[2]s: %[1]d",
		"%d chats of %s":     "%[2]s has %[1]d",
		"Sent to %s by %s":   "<%[2]s> %[1]s",
		"100%% of it":        "all, 100%%",
		"nothing to put in ": "",
	}
	t.Cleanup(func() { delete(catalogues(), "xx") })
	en, xx := context.Background(), Speak(context.Background(), "xx")
	b := func(s string) templ.Component { return templ.Raw("<b>" + s + "</b>") }
	draw := func(ctx context.Context, c templ.Component) string {
		var w strings.Builder
		if err := c.Render(ctx, &w); err != nil {
			t.Error(err)
		}
		return w.String()
	}
	for got, want := range map[string]string{
		T(en, "%d from %s", 3, "a"):                                    "3 from a",
		T(xx, "%d from %s", 3, "a"):                                    "a: 3",
		T(en, "100%% of it"):                                           "100% of it",
		T(xx, "100%% of it"):                                           "all, 100%",
		T(xx, "Unknown & plain"):                                       "Unknown & plain",
		Tn(en, 1, "%d chat of %s", "%d chats of %s", "a"):              "1 chat of a",
		Tn(en, 2, "%d chat of %s", "%d chats of %s", "a"):              "2 chats of a",
		Tn(xx, 1, "%d chat of %s", "%d chats of %s", "a"):              "a has 1",
		draw(en, TC("Sent to %s by %s", b("x"), b("y"))):               "Sent to <b>x</b> by <b>y</b>",
		draw(xx, TC("Sent to %s by %s", b("x"), b("y"))):               "&lt;<b>y</b>&gt; <b>x</b>",
		Tv(xx, "%d from %s"):                                           "%[2]s: %[1]d",
		Tv(xx, "An agent's own words, 100% "):                          "An agent's own words, 100% ",
		Spoken(en) + Spoken(xx) + Spoken(Speak(xx, Negotiate("", ""))): "enxxen",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
