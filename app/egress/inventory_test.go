package egress_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outbound are the ways around this package.
var outbound = map[string][]string{
	"net/http":                     {"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "Client", "Transport"},
	"net":                          {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer"},
	"crypto/tls":                   {"Dial", "DialWithDialer", "Dialer", "Client"},
	"google.golang.org/grpc":       {"Dial", "DialContext", "NewClient"},
	"github.com/coder/websocket":   {"Dial"},
	"github.com/gorilla/websocket": {"DefaultDialer", "Dialer", "NewClient"},
	"net/rpc":                      {"Dial", "DialHTTP", "DialHTTPPath"},
	"net/smtp":                     {"Dial", "SendMail"},
}

// types are harmless as the type of a pointer, and a client is with a Transport: it is a value with the defaults that
// connects by itself.
var types = []string{"Client", "Transport", "Dialer"}

// allowed are the exceptions, each with its reason: "file: use".
var allowed = map[string]string{
	"app/control.go: net/http.Transport": "speaks to the running program through its own Unix socket",
	"app/instance.go: net.Dialer":        "connects to the running program's own Unix socket",
}

// TestInventory fails on every outbound connection that does not go through this package.
func TestInventory(t *testing.T) {
	t.Parallel()
	var bad, used []string
	for _, use := range uses(t, moduleRoot(t)) {
		if strings.HasPrefix(use, "app/egress/") {
			continue
		}
		if key, _, _ := strings.Cut(use, " at line"); allowed[key] != "" {
			used = append(used, key)
			continue
		}
		bad = append(bad, use)
	}
	if len(bad) > 0 {
		t.Errorf("outbound connections outside app/egress (take an *http.Client from outside, or add a line with a reason to the list here):\n%s", strings.Join(bad, "\n"))
	}
	for key := range allowed {
		if !slices.Contains(used, key) {
			t.Errorf("the exception for %q is not used any more", key)
		}
	}
}

// TestInventoryFinds shows that each way around is found, and that what only looks like one is not.
func TestInventoryFinds(t *testing.T) {
	t.Parallel()
	const source = `package x
import (
	"net"
	web "net/http"
	"crypto/tls"
	"google.golang.org/grpc"
)
type holds struct { by *web.Client; value web.Client }
func f(c *web.Client) {
	web.Get("")
	_ = web.DefaultClient
	_ = &web.Client{}
	_ = web.Client{Transport: web.DefaultTransport}
	_ = &web.Client{Transport: c.Transport}
	_ = new(web.Transport)
	var d net.Dialer
	net.Dial("tcp", "")
	tls.Dial("tcp", "", nil)
	grpc.NewClient("")
	var srv web.Server
	_ = net.Listen
}
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, use := range uses(t, dir) {
		_, line, _ := strings.Cut(use, " at line ")
		got = append(got, line)
	}
	if diff := cmp.Diff([]string{"8", "10", "11", "12", "13", "15", "16", "17", "18", "19"}, got); diff != "" {
		t.Errorf("lines found (-want +got):\n%s", diff)
	}
}

// uses lists "file: package.Name at line n" for every use in the module at root, without tests, generated files and
// other modules.
func uses(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone while we looked
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (err == nil || strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // replaced while we looked
		}
		if err != nil || ast.IsGenerated(f) {
			return err
		}
		rel, err := filepath.Rel(root, path)
		for _, u := range usesIn(files, f) {
			found = append(found, filepath.ToSlash(rel)+": "+u)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func usesIn(files *token.FileSet, f *ast.File) []string {
	var found []string
	packages := map[string]string{} // by the name in this file
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if outbound[path] == nil {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			found = append(found, path+" with a dot at line "+strconv.Itoa(files.Position(spec.Pos()).Line))
		}
		packages[name] = path
	}
	fine := map[ast.Expr]bool{} // a type that is only pointed to, or a client that is given its transport
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			fine[n.X] = true
		case *ast.CompositeLit:
			fine[n.Type] = slices.ContainsFunc(n.Elts, func(e ast.Expr) bool {
				field, ok := e.(*ast.KeyValueExpr)
				if !ok {
					return false
				}
				name, ok := field.Key.(*ast.Ident)
				return ok && name.Name == "Transport"
			})
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			path := packages[id.Name]
			if !slices.Contains(outbound[path], n.Sel.Name) {
				return true
			}
			if path != "crypto/tls" && slices.Contains(types, n.Sel.Name) && fine[n] {
				return true
			}
			found = append(found, path+"."+n.Sel.Name+" at line "+strconv.Itoa(files.Position(n.Pos()).Line))
		}
		return true
	})
	return found
}

// moduleRoot is the directory of the module that this package is in.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above this package")
		}
		dir = parent
	}
}
