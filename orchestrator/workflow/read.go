package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// object is JSON.
type object = map[string]any

// field is a key of a map in the file: what editors are told of it, and how it is read.
type field[T any] struct {
	name   string
	doc    string
	must   bool
	schema object
	read   func(r *reader, n *node, t *T)
}

// readObject reads a map whose keys are fields, and reports those that are none.
func readObject[T any](r *reader, n *node, what string, fields []field[T], t *T) bool {
	if n.kind != isMap {
		r.bad(n.at, "write keys and values: "+quoted(names(fields), "or"), "%s is %s", what, n.kind)
		return false
	}
	seen := map[string]bool{}
	for _, p := range n.pairs {
		i := slices.IndexFunc(fields, func(f field[T]) bool { return f.name == p.key })
		if i < 0 {
			r.bad(p.at, didYouMean(p.key, names(fields)), "unknown key `%s` in %s", p.key, what)
			seen[nearest(p.key, names(fields))] = true // that it is missing goes without saying
			continue
		}
		seen[p.key] = true
		if p.value.kind == isNull {
			r.bad(p.at, "write a value, or take it out", "`%s` has no value", p.key)
			continue
		}
		fields[i].read(r, p.value, t)
	}
	for i := range fields {
		if fields[i].must && !seen[fields[i].name] {
			r.bad(n.at, "add it: "+fields[i].doc, "%s has no `%s`", what, fields[i].name)
		}
	}
	return true
}

func names[T any](fields []field[T]) []string {
	ns := make([]string, len(fields))
	for i := range fields {
		ns[i] = fields[i].name
	}
	return ns
}

// words takes text. A number or a truth that stands for text is taken as it is written.
func (r *reader) words(n *node, what string) (string, bool) {
	switch {
	case n.kind == isString && strings.TrimSpace(n.text) == "":
		r.bad(n.at, "write something, or take it out", "%s is empty", what)
		return "", false
	case n.kind == isString, n.kind == isNumber, n.kind == isBool:
		return n.text, true
	}
	r.bad(n.at, "write text", "%s is %s", what, n.kind)
	return "", false
}

// label takes text of one line, for people or as a name of something.
func (r *reader) label(n *node, what string, most int) string {
	s, ok := r.words(n, what)
	switch {
	case !ok:
		return ""
	case strings.Contains(s, "${{"):
		r.bad(n.at, "write it out", "%s may not hold an expression", what)
		return ""
	case utf8.RuneCountInString(s) > most:
		r.bad(n.at, "shorten it", "%s has %d characters; at most %d are allowed", what, utf8.RuneCountInString(s), most)
		return ""
	}
	return s
}

var word = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

const wordPattern = "^[A-Za-z_][A-Za-z0-9_]{0,63}$"

// name takes a word that expressions can use.
func (r *reader) word(s string, at Pos, what string) string {
	if word.MatchString(s) {
		return s
	}
	do := "begin with a letter, and go on with letters, digits and `_`, 64 at most"
	if fixed := strings.ReplaceAll(s, "-", "_"); word.MatchString(fixed) {
		do = "write `" + fixed + "`: in expressions, - is minus"
	}
	r.bad(at, do, "%s `%s` is no name", what, s)
	return ""
}

func (r *reader) number(n *node, what string, least, most int) int {
	i, err := strconv.Atoi(string(n.value))
	if n.kind != isNumber || err != nil {
		r.bad(n.at, fmt.Sprintf("write a number from %d to %d", least, most), "%s is no whole number", what)
		return 0
	}
	if i < least || i > most {
		r.bad(n.at, fmt.Sprintf("write a number from %d to %d", least, most), "%s is %d", what, i)
		return 0
	}
	return i
}

// amount takes a number above 0.
func (r *reader) amount(n *node, what string) float64 {
	f, err := strconv.ParseFloat(string(n.value), 64)
	if n.kind != isNumber || err != nil || f <= 0 {
		r.bad(n.at, "write a number above 0", "%s is none", what)
		return 0
	}
	return f
}

// option takes one of several words.
func (r *reader) option(n *node, what string, options ...string) string {
	if n.kind == isString && slices.Contains(options, n.text) {
		return n.text
	}
	said := string(n.kind)
	do := "write " + quoted(options, "or")
	if n.text != "" {
		said = "`" + n.text + "`"
		if near := nearest(n.text, options); near != "" {
			do = "did you mean `" + near + "`?"
		}
	}
	r.bad(n.at, do, "%s is %s", what, said)
	return ""
}

// several takes a list of texts, or one.
func (r *reader) several(n *node, what string) []pair {
	if n.kind != isList {
		n = &node{kind: isList, at: n.at, list: []*node{n}}
	}
	var all []pair
	for _, e := range n.list {
		if s := r.label(e, what, 200); s != "" {
			if slices.ContainsFunc(all, func(p pair) bool { return p.key == s }) {
				r.bad(e.at, "take one of them out", "%s `%s` is there twice", what, s)
				continue
			}
			all = append(all, pair{key: s, at: e.at})
		}
	}
	if len(n.list) == 0 {
		r.bad(n.at, "write something, or take it out", "%s is empty", what)
	}
	return all
}

func keysOf(ps []pair) []string {
	var s []string
	for _, p := range ps {
		s = append(s, p.key)
	}
	return s
}

var units = []struct {
	name string
	d    time.Duration
}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

const durationPattern = `^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$`

var durations = regexp.MustCompile(durationPattern)

// duration takes a time such as 90s, 5m, 1h30m or 2d.
func (r *reader) duration(n *node, what string) time.Duration {
	m := durations.FindStringSubmatch(n.text)
	if m == nil || n.text == "" {
		do := "write it as `90s`, `5m`, `1h30m` or `2d`"
		if n.kind == isNumber {
			do = "say of what: `" + n.text + "s` or `" + n.text + "m`"
		}
		r.bad(n.at, do, "%s is no time", what)
		return 0
	}
	var d time.Duration
	for i, u := range units {
		if m[i+1] == "" {
			continue
		}
		k, err := strconv.ParseInt(strings.TrimSuffix(m[i+1], u.name), 10, 64)
		if err != nil || k > int64(MaxTimeout/u.d) {
			d = MaxTimeout + 1
			break
		}
		d += time.Duration(k) * u.d
	}
	if d <= 0 || d > MaxTimeout {
		r.bad(n.at, "write a time from `1ms` to `365d`", "%s is out of bounds", what)
		return 0
	}
	return d
}

// value takes data whose texts may hold expressions.
func (r *reader) value(n *node) *Value {
	switch n.kind {
	case isString:
		return &Value{Text: r.marked(n, n.text)}
	case isList:
		v := &Value{List: []*Value{}}
		for _, e := range n.list {
			v.List = append(v.List, r.value(e))
		}
		return v
	case isMap:
		v := &Value{Map: []Named{}}
		for _, p := range n.pairs {
			v.Map = append(v.Map, Named{p.key, r.value(p.value)})
		}
		return v
	}
	return &Value{JSON: n.value}
}

// named takes values with names that expressions, or inputs, go by.
func (r *reader) named(n *node, what string) []Named {
	if n.kind != isMap {
		r.bad(n.at, "write names and values", "`%s` is %s", what, n.kind)
		return nil
	}
	var ns []Named
	for _, p := range n.pairs {
		if r.word(p.key, p.at, "the key") != "" {
			ns = append(ns, Named{p.key, r.value(p.value)})
		}
	}
	return ns
}

// schema takes a JSON Schema.
func (r *reader) schema(n *node, what string) json.RawMessage {
	if n.kind != isMap {
		r.bad(n.at, "write a JSON Schema, as `type: string`", "%s is %s", what, n.kind)
		return nil
	}
	b, err := marshal(n.json())
	if err != nil {
		r.bad(n.at, "shorten it", "%s: %s", what, err)
		return nil
	}
	if _, err := compileSchema(b); err != nil {
		r.bad(n.at, "see json-schema.org, draft 2020-12", "%s is no JSON Schema: %s", what, schemaError(err))
		return nil
	}
	return b
}

// nothing loads no schema from anywhere.
type nothing struct{}

func (nothing) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %s", url)
}

const schemaURL = "mem:///schema.json"

func compileSchema(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(nothing{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// schemaError is the first line that says something about a schema.
func schemaError(err error) string {
	s := strings.ReplaceAll(err.Error(), schemaURL, "")
	lines := strings.Split(s, "\n")
	last := strings.TrimLeft(lines[len(lines)-1], "- ")
	return strings.TrimPrefix(last, "at ")
}
