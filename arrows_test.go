package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// arrows says what each package of the module may import from the module. The README draws the same table.
var arrows = map[string][]string{
	".": {"app/cli"},

	"a2a":          {},
	"a2a/wire":     {"a2a"},
	"a2a/sign":     {"a2a"},
	"a2a/wiretest": {"a2a", "a2a/wire"},
	"a2a/pb":       {"a2a", "a2a/wire"},

	"a2aclient":      {"a2a", "a2a/wire", "a2a/pb", "a2aclient/card"},
	"a2aclient/card": {"a2a", "a2a/wire", "a2a/sign"},
	"a2aserver":      {"a2a", "a2a/wire", "a2a/pb"},

	"a2aserver/logtest": {"a2aserver", "a2a"},

	"orchestrator":                     {"a2a"},
	"orchestrator/engine":              {"orchestrator", "a2a"},
	"orchestrator/planner":             {"orchestrator", "orchestrator/engine", "orchestrator/planner/completions", "a2a"},
	"orchestrator/planner/completions": {"a2a", "a2a/wire"},
	"orchestrator/planner/modeltest":   {},
	"orchestrator/workflow":            {"orchestrator", "orchestrator/engine", "a2a"},
	"orchestrator/steps":               {"orchestrator", "orchestrator/engine", "orchestrator/planner", "a2a"},
	"orchestrator/local":               {"orchestrator", "orchestrator/engine", "orchestrator/steps", "orchestrator/planner", "orchestrator/workflow", "a2a"},
	"orchestrator/column":              {},
	"orchestrator/words":               {"orchestrator", "a2a"},
	"orchestrator/wirelog":             {"orchestrator", "a2a"},
	"orchestrator/tail":                {"orchestrator", "a2a"},
	"orchestrator/sqlite":              {"orchestrator", "orchestrator/column", "orchestrator/words", "orchestrator/wirelog", "orchestrator/tail", "a2a"},
	"orchestrator/orchestratortest":    {"orchestrator", "orchestrator/engine", "a2a"},

	"frontend":           {"frontend/view", "orchestrator", "a2a"},
	"frontend/view":      {"orchestrator", "a2a"},
	"frontend/storybook": {"frontend/view", "orchestrator", "a2a"},

	"app": {
		"a2a", "a2a/wire", "a2a/sign", "a2aclient", "a2aclient/card", "a2aserver",
		"orchestrator", "orchestrator/engine", "orchestrator/planner", "orchestrator/planner/completions", "orchestrator/steps", "orchestrator/local", "orchestrator/sqlite", "orchestrator/workflow",
		"frontend", "frontend/view", "app/config", "app/egress", "app/guard", "app/vault",
	},
	"app/crashtest":      {},
	"app/journeytest":    {},
	"app/historytest":    {"orchestrator/sqlite", "orchestrator", "a2a"},
	"app/config":         {},
	"app/cli":            {"app", "app/config", "app/demo", "app/desktop", "orchestrator", "orchestrator/workflow", "a2a"},
	"app/demo":           {"a2aserver", "a2a"},
	"app/desktop":        {"app/desktop/notice"},
	"app/desktop/notice": {},
	"app/egress":         {},
	"app/guard":          {},
	"app/vault":          {},

	"build/dev": {"app", "app/cli", "frontend/storybook"},

	"interop":      {},
	"interop/sign": {"a2a", "a2a/wire", "a2a/sign"},
}

// clusterArrows says the same of the packages of the module cluster.
var clusterArrows = map[string][]string{
	"cluster/cmd/parley-cluster":    {"app", "app/cli", "cluster/postgres", "cluster/temporal"},
	"cluster/postgres":              {"orchestrator", "orchestrator/column", "orchestrator/tail", "orchestrator/wirelog", "orchestrator/words", "a2a"},
	"cluster/postgres/postgrestest": {},
	"cluster/temporal":              {"orchestrator", "orchestrator/local"},
	"cluster/temporal/servertest":   {},
}

// testArrows says what the tests of a package may import beside its own row and *test packages.
var testArrows = map[string][]string{
	"app":      {"app/demo"}, // real agents to talk to
	"a2a/sign": {"a2a/wire"}, // cards in every form

	// Our client and server, face to face with those of others.
	"interop": {"a2a", "a2a/wire", "a2aclient", "a2aclient/card", "a2aserver", "interop/peer"},
}

// homes are libraries that one package alone may import.
var homes = map[string]string{
	"github.com/wailsapp/wails/":    "app/desktop",
	"github.com/mattn/go-sqlite3":   "orchestrator/sqlite",
	"github.com/zalando/go-keyring": "app/vault",
	"github.com/spf13/cobra":        "app/cli",
	"github.com/a2aproject/":        "a2a/pb",
}

// stdOnly lists packages that other programs import for the protocol's nouns alone.
var stdOnly = []string{"a2a"}

type listed struct {
	Dir, ImportPath, Doc               string
	GoFiles, CgoFiles                  []string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
}

// list runs go list over the module in a directory with extra build tags.
func list(t *testing.T, dir, tags string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=Dir,ImportPath,Doc,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "-tags", tags, "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

var builds = map[string]string{
	"browser": "sqlite_fts5",
	"window":  "sqlite_fts5,desktop,production,webkit2_41",
	"interop": "sqlite_fts5,interop",
}

const module = "parley"

// inside returns the name of an import within the module. What is internal to a package counts as that package: Go
// itself keeps others out.
func inside(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	name, ok := strings.CutPrefix(path, module+"/")
	name, _, _ = strings.Cut(name, "/internal/")
	return name, ok
}

func TestArrows(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for build, tags := range builds {
		for _, p := range list(t, ".", tags) {
			name, _ := inside(p.ImportPath)
			seen[name] = true
			row, ok := arrows[name]
			if !ok {
				t.Errorf("%s build: package %s has no row in the table of arrows", build, name)
				continue
			}
			for _, path := range p.Imports {
				in, ok := inside(path)
				if ok && in != name && !slices.Contains(row, in) && !within(p.ImportPath, path) {
					t.Errorf("%s build: %s must not import %s", build, name, in)
				}
				if !ok {
					checkLibrary(t, name, path)
				}
			}
			for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
				in, ok := inside(path)
				if ok && in != name && !slices.Contains(row, in) && !slices.Contains(testArrows[name], in) && !strings.HasSuffix(in, "test") && !within(p.ImportPath, path) {
					t.Errorf("%s build: the tests of %s must not import %s", build, name, in)
				}
			}
		}
	}
	for name := range arrows {
		if !seen[name] {
			t.Errorf("the table of arrows has a row for %s, which is not there", name)
		}
	}
}

// TestClusterArrows holds the other module to its table. Its tests put all together and are free.
func TestClusterArrows(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range list(t, "cluster", builds["browser"]) {
		name, _ := inside(p.ImportPath)
		seen[name] = true
		row, ok := clusterArrows[name]
		if !ok {
			t.Errorf("package %s has no row in the table of the cluster's arrows", name)
		}
		for _, path := range p.Imports {
			if in, ok := inside(path); ok && in != name && !slices.Contains(row, in) {
				t.Errorf("%s must not import %s", name, in)
			}
		}
	}
	for name := range clusterArrows {
		if !seen[name] {
			t.Errorf("the table of the cluster's arrows has a row for %s, which is not there", name)
		}
	}
}

// within tells whether path is internal to a package that p is below of.
func within(p, path string) bool {
	owner, _, ok := strings.Cut(path, "/internal/")
	return ok && strings.HasPrefix(p, owner+"/")
}

func checkLibrary(t *testing.T, name, path string) {
	t.Helper()
	for prefix, home := range homes {
		if strings.HasPrefix(path, prefix) && name != home {
			t.Errorf("%s imports %s, which belongs to %s", name, path, home)
		}
	}
	if domain, _, _ := strings.Cut(path, "/"); slices.Contains(stdOnly, name) && strings.Contains(domain, ".") {
		t.Errorf("%s imports %s; it may use the standard library only", name, path)
	}
}

func TestPackageComments(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, ".", builds["interop"]) {
		doc := p.Doc
		if len(p.GoFiles)+len(p.CgoFiles) == 0 { // go list does not read the comments of test files
			for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
				f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
				if err != nil {
					t.Fatal(err)
				}
				doc += f.Doc.Text()
			}
		}
		if len(strings.TrimSpace(doc)) < 20 {
			t.Errorf("package %s does not say what it is for", p.ImportPath)
		}
	}
}

// TestTidyTree keeps out of the repository what is true on one machine only, and notes left for later.
func TestTidyTree(t *testing.T) {
	t.Parallel()
	local := regexp.MustCompile(`(?m)(?:^|[\s"'` + "`" + `(=:,])((?:/(?:work|root)/|\.\./share[d])[^\s"']*)`)
	later := regexp.MustCompile(`\b(TOD[O]|FIXM[E]|XX[X])\b`)
	// Without one of these in it a file is not worth the slow search of an expression.
	paths := []string{"/" + "work/", "/" + "root/", "../share" + "d"}
	notes := []string{"TOD" + "O", "FIXM" + "E", "XX" + "X"}
	hasAny := func(b []byte, of []string) bool {
		return slices.ContainsFunc(of, func(s string) bool { return bytes.Contains(b, []byte(s)) })
	}
	skip := []string{".git", ".cache", ".venv", "bin", "node_modules", "target", "testdata", "static", "fonts"}
	text := []string{".go", ".templ", ".ts", ".mjs", ".js", ".css", ".md", ".sh", ".sql", ".yml", ".yaml", ".json", ".txtar", ".mod", ""}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // gone while we looked
			return nil
		case err != nil:
			return err
		case e.IsDir() && slices.Contains(skip, e.Name()):
			return filepath.SkipDir
		case !e.Type().IsRegular() || !slices.Contains(text, filepath.Ext(path)):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if hasAny(b, paths) {
			for _, m := range local.FindAllSubmatch(b, -1) {
				t.Errorf("%s: %s is a path of one machine", path, m[1])
			}
		}
		if hasAny(b, notes) {
			for _, m := range later.FindAll(b, -1) {
				t.Errorf("%s: %s: do it, or say in docs/ why not", path, m)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
