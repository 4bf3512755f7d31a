// Package config reads the configuration file: a YAML file, parley.yaml in the data directory or the one that --config
// names. YAML because workflows are YAML too, and because its reader says on which line something is wrong.
//
//	a2a:
//	  publicUrl: https://parley.example
//	appearance:
//	  theme: dark
//
// Each name is an environment variable, too: PARLEY_A2A_PUBLIC_URL is a2a.publicUrl.
//
// What holds: a flag counts before an environment variable, that before the file, the file before what was chosen on the
// page, and that before the default. A name that nobody knows, a value of the wrong type, or a value that cannot be is an
// error that names the line or the variable; nothing is guessed, and nothing is ever written. An empty variable is none.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Name is the file in the data directory.
const Name = "parley.yaml"

// Key is one thing that can be set.
type Key struct {
	Name    string // "a2a.publicUrl"
	Flag    string // of the command line, without dashes; "" for none
	Setting string // under which the store keeps it, for what the page changes; "" for what counts from the start on
	Kind    Kind
	Words   []string // for OneOf
	Help    string   // one sentence
}

// Kind is the type of a value.
type Kind int

const (
	Text Kind = iota
	YesNo
	Number
	OneOf
)

// Keys are all there are, in the order in which they are shown.
var Keys = []Key{
	{Name: "ui.address", Flag: "ui", Help: "Address of the page."},
	{Name: "ui.url", Flag: "ui-url", Help: "URL under which browsers on other machines reach the page."},
	{Name: "a2a.address", Flag: "a2a", Help: "Address for A2A clients."},
	{Name: "a2a.grpc", Flag: "grpc", Help: "Address for A2A clients over gRPC, or off."},
	{Name: "a2a.auth", Flag: "a2a-auth", Kind: OneOf, Words: []string{"token", "none"}, Help: "Whether callers need a token."},
	{Name: "a2a.publicUrl", Flag: "public-url", Help: "URL under which A2A clients, and agents with webhooks, reach this machine."},
	{Name: "a2a.localWebhooks", Flag: "push-loopback", Kind: YesNo, Help: "Webhooks of callers may be on this machine."},
	{Name: "a2a.errorStatuses", Setting: "a2a.errorMapping", Kind: OneOf, Words: []string{"1.0.1", "1.0.0"}, Help: "The edition of A2A v1.0 whose statuses of errors are used."},
	{Name: "proxies", Flag: "proxies", Help: "Addresses of proxies in front, whose X-Forwarded-For says where a request comes from."},
	{Name: "tls.certificate", Flag: "tls-cert", Help: "PEM file with the certificate of all addresses."},
	{Name: "tls.key", Flag: "tls-key", Help: "PEM file with its key."},
	{Name: "demo", Flag: "demo", Kind: YesNo, Help: "Start the demo agents."},
	{Name: "appearance.theme", Setting: "ui.theme", Kind: OneOf, Words: []string{"system", "light", "dark"}, Help: "Colours of the page."},
	{Name: "appearance.textSize", Setting: "ui.textSize", Kind: OneOf, Words: []string{"normal", "large", "larger"}, Help: "Size of the text."},
	{Name: "appearance.language", Setting: "ui.language", Help: "Language of the page: en, ko, ja."},
	{Name: "history.days", Setting: "retention.days", Kind: Number, Help: "Days that chats are kept; 0 is for ever."},
	{Name: "model.url", Setting: "model.url", Help: "Endpoint of the model that plans."},
	{Name: "model.name", Setting: "model.name", Help: "Its name there."},
	{Name: "model.on", Setting: "model.on", Kind: YesNo, Help: "Whether it plans."},
}

// Variable is the key's environment variable.
func (k Key) Variable() string {
	name := []rune("PARLEY_")
	for _, c := range k.Name {
		switch {
		case c == '.':
			c = '_'
		case unicode.IsUpper(c):
			name = append(name, '_')
		}
		name = append(name, unicode.ToUpper(c))
	}
	return string(name)
}

// check says why a value cannot be.
func (k Key) check(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case k.Kind == YesNo && text != "true" && text != "false":
		return k.isNot("true or false", text)
	case k.Kind == Number && (err != nil || n < 0):
		return k.isNot("a whole number from 0 on", text)
	case k.Kind == OneOf && !slices.Contains(k.Words, text):
		return k.isNot("one of "+strings.Join(k.Words, ", "), text)
	}
	return nil
}

func (k Key) isNot(wanted, text string) error {
	return fmt.Errorf("%s is %s, not %q", k.Name, wanted, text)
}

// Stored is a value as the store keeps it: what goes without saying is "".
func (k Key) Stored(text string) string {
	if k.Kind == OneOf && text == k.Words[0] || k.Kind == YesNo && text == "false" {
		return ""
	}
	return text
}

// File is a file that was read. The zero value is one without values.
type File struct {
	Path   string
	values map[string]value
}

type value struct {
	text string
	line int
}

// Read reads a file. One that is not there is empty, unless must says that it has to be.
func Read(path string, must bool) (*File, error) {
	f := &File{Path: path, values: map[string]value{}}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	parsed, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, fmt.Errorf("%s is not YAML: %s", path, firstLine(err.Error()))
	}
	for _, doc := range parsed.Docs {
		if doc.Body == nil {
			continue
		}
		if err := f.walk("", doc.Body); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func (f *File) bad(n ast.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", f.Path, n.GetToken().Position.Line, fmt.Errorf(format, args...))
}

func (f *File) walk(prefix string, n ast.Node) error {
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	case *ast.CommentGroupNode, *ast.NullNode:
		return nil
	default:
		return f.bad(n, "a name and a value are wanted here")
	}
	for _, p := range pairs {
		name := prefix + p.Key.GetToken().Value
		i := slices.IndexFunc(Keys, func(k Key) bool { return k.Name == name })
		if i < 0 {
			if slices.ContainsFunc(Keys, func(k Key) bool { return strings.HasPrefix(k.Name, name+".") }) {
				if err := f.walk(name+".", p.Value); err != nil {
					return err
				}
				continue
			}
			return f.bad(p.Key, "there is no setting %s%s", name, meant(name))
		}
		if _, twice := f.values[name]; twice {
			return f.bad(p.Key, "%s is set twice", name)
		}
		text, err := f.read(Keys[i], p.Value)
		if err != nil {
			return err
		}
		f.values[name] = value{text, p.Key.GetToken().Position.Line}
	}
	return nil
}

// read returns a value as text, as flags take it.
func (f *File) read(k Key, n ast.Node) (string, error) {
	scalar, ok := n.(ast.ScalarNode)
	if !ok || n.Type() == ast.NullType {
		return "", f.bad(n, "%s wants one value", k.Name)
	}
	text := fmt.Sprint(scalar.GetValue())
	switch n := n.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.FloatNode, *ast.IntegerNode:
		text = n.GetToken().Value
	}
	err := k.check(text)
	if err == nil && k.Kind == Number && n.Type() != ast.IntegerType {
		err = k.isNot("a whole number", text)
	}
	if err == nil && k.Kind == YesNo && n.Type() != ast.BoolType {
		err = k.isNot("true or false", text)
	}
	if err != nil {
		return "", f.bad(n, "%w", err)
	}
	return text, nil
}

// meant names the setting that was probably meant.
func meant(name string) string {
	best, least := "", 4
	for _, k := range Keys {
		if d := distance(strings.ToLower(name), strings.ToLower(k.Name)); d < least {
			best, least = k.Name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is the number of letters to change, add or leave out (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := last
			if a[i] != b[j] {
				d = min(last, row[j], row[j+1]) + 1
			}
			last, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// Find returns what an environment variable, else the file, says of a key, and where: "PARLEY_DEMO", "parley.yaml, line 3".
func (f *File) Find(k Key, getenv func(string) string) (text, where string, ok bool, err error) {
	name := k.Variable()
	if text = getenv(name); text == "" {
		text, where, ok = f.Get(k.Name)
		return text, where, ok, nil
	}
	if err := k.check(text); err != nil {
		return "", "", false, fmt.Errorf("%s: %w", name, err)
	}
	return text, name, true, nil
}

// Get returns what the file says of a key, and where: "parley.yaml, line 3".
func (f *File) Get(name string) (text, where string, ok bool) {
	v, ok := f.values[name]
	if !ok {
		return "", "", false
	}
	return v.text, fmt.Sprintf("%s, line %d", f.Path, v.line), true
}
