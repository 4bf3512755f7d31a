package view

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/orchestrator"
)

// packagesBelow are the packages under the pages whose sentences the pages show, and the words of the window.
var packagesBelow = []string{
	"../../app", "../../app/cli/window.go", "../../app/config", "../../app/egress", "../../app/vault", "../../a2aclient", "../../a2aclient/card",
	"../../orchestrator", "../../orchestrator/engine", "../../orchestrator/local", "../../orchestrator/planner", "../../orchestrator/planner/completions",
	"../../orchestrator/steps", "../../orchestrator/workflow",
}

// tells are the fields that hold sentences for people, some only in one type.
var tells = map[string]bool{
	"What": true, "Do": true, "Reason": true, "Advice": true, "Detail": true, "Why": true, "Help": true, "Prompt": true,
	".Label":        true, // of menus
	"TestStep.Name": true, "CardHunk.Title": true, "Note.Text": true,
}

// gives are the functions that return such sentences, and lists are the variables and fields that hold several.
var (
	gives = map[string]bool{
		"../../app/vault String": true, "../../orchestrator/workflow hint": true, "../../orchestrator/workflow didYouMean": true,
		"../../orchestrator/workflow kindOf": true, "../../orchestrator/workflow wanting": true,
	}
	lists = map[string]bool{"Notes": true, "notes": true, "note": true}
)

// names are the parameters that say what a sentence is about, and kinds are the types whose constants do.
var (
	names = map[string]string{"../../orchestrator/workflow": "what"}
	kinds = map[string]bool{"../../orchestrator/workflow nodeKind": true}
)

// finds are the functions that say what is wrong with a file: their sentences may be short, see shape.
var finds = map[string]bool{"../../orchestrator/workflow bad": true}

// shell are files whose sentences only the shell shows.
var shell = map[string]bool{"doctor.go": true, "remote.go": true, "tasklist.go": true}

// teller reads the sentences that one package tells. A sentence is a literal, or put together of literals and values: a
// value is %s, as it is in the catalogue. A sentence that is a parameter is looked for where the function is called.
type teller struct {
	dir   string
	set   *token.FileSet
	files []*ast.File
	funcs map[string]map[int]bool // parameters of functions that are sentences
	keys  map[string]string
	short bool // also what says too little by itself
}

// told are the sentences that the packages below tell, each with where it is.
func told(t *testing.T) map[string]string {
	t.Helper()
	keys := map[string]string{}
	for _, dir := range packagesBelow {
		if filepath.Ext(dir) == "" {
			dir += "/*.go"
		}
		names, err := filepath.Glob(dir)
		if err != nil || len(names) == 0 {
			t.Fatal(dir, err)
		}
		p := &teller{dir: filepath.Dir(dir), set: token.NewFileSet(), funcs: map[string]map[int]bool{}, keys: keys}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || shell[filepath.Base(name)] {
				continue
			}
			f, err := parser.ParseFile(p.set, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			p.files = append(p.files, f)
		}
		p.name()
		for n := -1; n != len(p.funcs); { // until no more functions are known to take sentences
			n = len(p.funcs)
			p.read()
		}
	}
	return keys
}

// name notes the functions that are told what they are about, and keeps the constants that say it.
func (p *teller) name() {
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if name := names[p.dir]; name != "" {
					p.among(n.Name.Name, n.Type, name)
				}
			case *ast.ValueSpec:
				if kinds[p.dir+" "+typeName(n.Type)] {
					for _, v := range n.Values {
						p.say(nil, v)
					}
				}
			case *ast.CompositeLit: // keys that a file must have: what is told of them says what to add
				list, _ := n.Type.(*ast.ArrayType)
				if list == nil {
					return true
				}
				if of, ok := list.Elt.(*ast.IndexExpr); !ok || typeName(of.X) != "field" {
					return true
				}
				for _, e := range n.Elts {
					if c, ok := e.(*ast.CompositeLit); ok && typeName(c.Elts[2]) == "true" {
						p.say(nil, c.Elts[1])
					}
				}
			}
			return true
		})
	}
}

func (p *teller) read() {
	for _, f := range p.files {
		for _, d := range f.Decls {
			fn, _ := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					of := typeName(n.Type)
					for i, e := range n.Elts {
						kv, ok := e.(*ast.KeyValueExpr)
						if !ok {
							if of == "Finding" && i == 2 {
								p.say(fn, e)
							}
							continue
						}
						if lit, ok := kv.Value.(*ast.FuncLit); ok && typeName(kv.Key) == "hint" {
							ast.Inspect(lit, func(n ast.Node) bool {
								if r, ok := n.(*ast.ReturnStmt); ok {
									p.say(fn, r.Results[0])
								}
								return true
							})
						}
						if name, ok := kv.Key.(*ast.Ident); ok && (tells[name.Name] || tells[of+"."+name.Name]) {
							p.say(fn, kv.Value)
						}
					}
				case *ast.AssignStmt:
					for i, l := range n.Lhs {
						if len(n.Rhs) != len(n.Lhs) {
							break
						}
						name := typeName(l)
						if _, field := l.(*ast.SelectorExpr); field && tells[name] || lists[name] {
							p.say(fn, n.Rhs[i])
						}
					}
				case *ast.ReturnStmt:
					if fn != nil && gives[p.dir+" "+fn.Name.Name] {
						p.say(fn, n.Results[0])
					}
				case *ast.CallExpr:
					p.short = names[p.dir] != ""
					for i := range p.funcs[called(n)] {
						if i < len(n.Args) {
							p.say(fn, n.Args[i])
						}
					}
					p.short = false
					if finds[p.dir+" "+called(n)] {
						p.find(fn, n)
					}
				}
				return true
			})
		}
	}
}

// find reads what is said of a problem of a file: bad(at, do, format, …), or bad(do, format, …) where it is of one step.
func (p *teller) find(fn *ast.FuncDecl, c *ast.CallExpr) {
	i := 1
	if _, own := c.Fun.(*ast.Ident); own {
		i = 0
	}
	p.short = true
	defer func() { p.short = false }()
	p.say(fn, c.Args[i])
	if s, ok := literal(c.Args[i+1]); ok {
		for _, one := range p.formatted(fn, s, c.Args[i+2:], 0) {
			p.keep(one, c)
		}
		return
	}
	for _, s := range p.shapes(fn, c.Args[i+1], 0) { // a place before whatever is said of it
		if !strings.HasPrefix(s, "%s") {
			p.keys[s] = p.set.Position(c.Pos()).String()
		}
	}
}

// typeName is the last name of a type, a variable or a field.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func called(c *ast.CallExpr) string { return typeName(c.Fun) }

// say keeps what e says in fn, nil outside of any.
func (p *teller) say(fn *ast.FuncDecl, e ast.Expr) {
	for _, s := range p.shapes(fn, e, 0) {
		p.keep(s, e)
	}
}

// keep keeps a sentence. What says too little beside its values would be taken for what agents say.
func (p *teller) keep(s string, at ast.Node) {
	said := verb.ReplaceAllString(s, "")
	if strings.Trim(said, " .,:;()“”`") != "" && (len(said) >= leastSaid || said == s || p.short) && !plainly.MatchString(s) {
		p.keys[s] = p.set.Position(at.Pos()).String()
	}
}

// shapes are the sentences that e can be.
func (p *teller) shapes(fn *ast.FuncDecl, e ast.Expr, deep int) []string {
	value := []string{"%s"}
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return []string{strings.ReplaceAll(s, "%", "%%")}
		}
	case *ast.ParenExpr:
		return p.shapes(fn, e.X, deep)
	case *ast.BinaryExpr:
		var all []string
		for _, a := range p.shapes(fn, e.X, deep+1) {
			for _, b := range p.shapes(fn, e.Y, deep+1) {
				all = append(all, a+b)
			}
		}
		return all
	case *ast.CallExpr:
		switch called(e) {
		case "Sprintf":
			if s, ok := literal(e.Args[0]); ok {
				return p.formatted(fn, s, e.Args[1:], deep)
			}
			if deep == 0 {
				p.param(fn, e.Args[0])
			}
			return value
		case "append":
			var all []string
			for _, a := range e.Args[1:] {
				all = append(all, p.shapes(fn, a, deep+1)...)
			}
			return all
		case "Or": // cmp.Or
			var all []string
			for _, a := range e.Args {
				all = append(all, p.shapes(fn, a, deep+1)...)
			}
			if deep == 0 || !slices.Contains(all, "%s") {
				return all
			}
		default:
			if all := p.returned(called(e)); all != nil {
				return all
			}
		}
	case *ast.Ident:
		if deep == 0 && p.param(fn, e) || fn == nil {
			return value
		}
		var all []string // what the variable is given in this function
		ast.Inspect(fn, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for i, l := range a.Lhs {
				if typeName(l) != e.Name {
					continue
				}
				if len(a.Lhs) == len(a.Rhs) && deep <= 4 {
					all = append(all, p.shapes(fn, a.Rhs[i], deep+1)...)
				} else {
					all = append(all, "%s")
				}
			}
			return true
		})
		if len(all) > 0 && (deep == 0 || !slices.Contains(all, "%s")) {
			return all
		}
	}
	return value
}

// formatted are the sentences that a format makes of args.
func (p *teller) formatted(fn *ast.FuncDecl, s string, args []ast.Expr, deep int) []string {
	all := []string{""}
	add := func(with ...string) {
		var next []string
		for _, a := range all {
			for _, w := range with {
				next = append(next, a+w)
			}
		}
		all = next
	}
	end := 0
	for _, at := range verb.FindAllStringIndex(s, -1) {
		add(s[end:at[0]])
		end = at[1]
		switch v := s[at[0]:at[1]]; {
		case v == "%%":
			add(v)
		case v == "%s" && len(args) > 0:
			add(p.shapes(fn, args[0], deep+1)...)
			args = args[1:]
		case v == "%q":
			add(`"%s"`)
			args = args[1:]
		default:
			add("%s")
			args = args[min(1, len(args)):]
		}
	}
	add(s[end:])
	return all
}

// returned are the sentences that a function of the package returns, nil if one of them is none.
func (p *teller) returned(name string) (all []string) {
	for _, f := range p.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != name || fn.Type.Results == nil || len(fn.Type.Results.List) != 1 {
				continue
			}
			bad := false
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
					s, ok := literal(r.Results[0])
					if s == "" {
						ok = false
					}
					bad = bad || !ok
					all = append(all, s)
				}
				return true
			})
			if bad {
				return nil
			}
		}
	}
	return all
}

// param remembers that e, a parameter of fn or of a function in it, is a sentence, and reports whether it is one.
func (p *teller) param(fn *ast.FuncDecl, e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	if !ok || fn == nil {
		return false
	}
	found := p.among(fn.Name.Name, fn.Type, id.Name)
	ast.Inspect(fn, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i, r := range a.Rhs {
				if lit, ok := r.(*ast.FuncLit); ok && lit.Pos() <= e.Pos() && e.End() <= lit.End() {
					found = p.among(typeName(a.Lhs[i]), lit.Type, id.Name) || found
				}
			}
		}
		return true
	})
	return found
}

func (p *teller) among(fn string, t *ast.FuncType, param string) bool {
	i := 0
	for _, f := range t.Params.List {
		for _, name := range f.Names {
			if name.Name == param {
				if p.funcs[fn] == nil {
					p.funcs[fn] = map[int]bool{}
				}
				p.funcs[fn][i] = true
				return true
			}
			i++
		}
	}
	return false
}

// Every sentence that is told below has its translation, and no other is there.
func TestTold(t *testing.T) {
	keys := told(t)
	for k := range said(t) {
		delete(keys, k) // it is in the other catalogue
	}
	if len(keys) < 100 {
		t.Fatal("hardly any sentences found: the test looks at the wrong place")
	}
	for _, tongue := range Tongues()[1:] {
		t.Run(tongue.Code, func(t *testing.T) {
			name := filepath.Join("told", tongue.Code)
			b, err := words.ReadFile("words/told/" + tongue.Code + ".json")
			c := map[string]string{}
			if err == nil {
				err = json.Unmarshal(b, &c)
			}
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				writeCatalogue(t, name, keys, c)
			}
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				switch s := c[k]; {
				case s == "":
					t.Errorf("%s: not translated: %q", keys[k], k)
				case verbs(t, s) != verbs(t, k):
					t.Errorf("%q has other values than its translation %q", k, s)
				}
			}
			for _, k := range slices.Sorted(maps.Keys(c)) {
				if keys[k] == "" {
					t.Errorf("nobody tells %q", k)
				}
			}
		})
	}
}

// What is told with values in it is translated with them in their places, by the shape that says most.
func TestToldIn(t *testing.T) {
	belows()["xx"] = &below{plain: map[string]string{"its port is wrong": "PORT"}, shapes: []shape{
		shapeOf("There is no agent %s on %s.", "<%[2]s> no agent %[1]s"),
		shapeOf("There is no agent %s.", "no agent %s"),
		shapeOf("It is 100%% of %s%s.", "%s: all%s, 100%%"),
		shapeOf("%s is %s", "%s = %s"),
	}}
	t.Cleanup(func() { delete(belows(), "xx") })
	ctx := Speak(t.Context(), "xx")
	long := "There is no agent " + strings.Repeat("x", maxTold) + "."
	for told, want := range map[string]string{
		"There is no agent a on b.":               "<b> no agent a",
		"There is no agent a.b.":                  "no agent a.b",
		"There is no agent .":                     "There is no agent .",
		"There is no agent its port is wrong.":    "no agent PORT",
		"There is no agent There is no agent 5%.": "no agent There is no agent 5%",
		"It is 100% of it (all).":                 "it (all): all, 100%",
		"There was no agent a.":                   "There was no agent a.",
		"`p` is `x`, `y` or `z`":                  "`p` = `x`, `y` or `z`",
		"the weather is `x`":                      "the weather is `x`",
		long:                                      long,
	} {
		if got := Tv(ctx, told); got != want {
			t.Errorf("%q: %q, want %q", told, got, want)
		}
	}
	for told, want := range map[string]string{
		"step `a` needs itself":                          "`a` 단계가 자기 자신을 필요로 해요",
		"step `a`: the agent gets no message":            "`a` 단계: 에이전트가 받을 메시지가 없어요",
		"unknown key `agnt` in the workflow":             "워크플로에 모르는 키 `agnt`이(가) 있어요",
		"unknown key `agnt` in step `a-b`":               "`a-b` 단계에 모르는 키 `agnt`이(가) 있어요",
		"step 2 is a number":                             "2번째 단계이(가) 숫자(이)에요",
		"the name is a list":                             "이름이(가) 목록(이)에요",
		"step `a`: `agent` and `use` do not go together": "`a` 단계: `agent` 및 `use`은(는) 함께 쓸 수 없어요",
		"did you mean `agent`?":                          "`agent`을(를) 뜻했나요?",
		"there are 70 steps; at most 64 are allowed":     "단계가 70개예요. 최대 64개까지 쓸 수 있어요",
	} {
		if got := Tv(Speak(t.Context(), "ko"), told); got != want {
			t.Errorf("%q: %q, want %q", told, got, want)
		}
	}
	f := FaultOf(Speak(t.Context(), "ko"), &orchestrator.Fault{What: "There is no host named agent.example.", Do: "Check the spelling."}, "")
	if f.What != "agent.example(이)라는 호스트가 없어요." || f.Do != "철자를 확인해 주세요." {
		t.Errorf("%+v", f)
	}
}
