package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// node is a piece of YAML that JSON can say, too.
type node struct {
	kind  nodeKind
	at    Pos
	text  string          // of a string
	value json.RawMessage // of a number, a boolean or null
	block bool            // a string written with | or >
	list  []*node
	pairs []pair
}

type pair struct {
	key   string
	at    Pos
	value *node
}

type nodeKind string

const (
	isNull   nodeKind = "nothing"
	isBool   nodeKind = "true or false"
	isNumber nodeKind = "a number"
	isString nodeKind = "text"
	isList   nodeKind = "a list"
	isMap    nodeKind = "a map"
)

// yaml reads the source; nil when it cannot be understood.
func (r *reader) yaml() *node {
	start := Pos{1, 1}
	switch {
	case len(r.src) > MaxSize:
		r.bad(start, "divide it, and join the parts with `use`", "the file has %d bytes; at most %d are allowed", len(r.src), MaxSize)
		return nil
	case !utf8.Valid(r.src):
		r.bad(start, "save it as UTF-8", "the file is not UTF-8")
		return nil
	}
	text := strings.TrimPrefix(string(r.src), "\ufeff") + "\n" // without which a sign at the end is lost
	for i, c := range text {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			line := 1 + strings.Count(text[:i], "\n")
			r.bad(Pos{line, 1 + utf8.RuneCountInString(text[strings.LastIndexByte(text[:i], '\n')+1:i])}, "take it out", "there is a control character (%U)", c)
			return nil
		}
	}
	r.lines = strings.Split(text, "\n")
	tokens := lexer.Tokenize(text)
	if !r.tame(tokens) {
		return nil
	}
	f, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at, what := start, err.Error()
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) {
			what = syntax.Message
			if syntax.Token != nil {
				at = place(syntax.Token)
			}
		}
		r.bad(at, "see the indentation, and put text with `: `, ` #` or a leading sign into quotes", "this is not YAML: %s", what)
		return nil
	}
	var docs []*ast.DocumentNode
	for _, d := range f.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType {
			docs = append(docs, d)
		}
	}
	switch {
	case len(docs) == 0:
		r.bad(start, "begin with `name:` and `steps:`", "the file is empty")
		return nil
	case len(docs) > 1:
		r.bad(place(docs[1].Body.GetToken()), "put it into a file of its own", "there is a second document")
		return nil
	}
	before := len(r.problems)
	n := r.node(docs[0].Body, start, 0)
	if n == nil || len(r.problems) > before && n.kind != isMap {
		return nil
	}
	return n
}

// tame refuses what would take the YAML parser long, and what can make much of little: it looks at the tokens alone.
func (r *reader) tame(tokens token.Tokens) bool {
	before := len(r.problems)
	if len(tokens) > maxTokens {
		r.bad(Pos{1, 1}, "divide it, and join the parts with `use`", "the file has %d pieces; at most %d are allowed", len(tokens), maxTokens)
		return false
	}
	flow, dashes, line, inLine := 0, 0, 0, 0
	keys := map[int]int{}           // by column: in the map that is open there
	var entries [maxNesting + 1]int // by depth: between the brackets that are open there
	var last *token.Token
	for _, t := range tokens {
		at := place(t)
		if at.Line != line {
			line, inLine, dashes = at.Line, 0, 0
		}
		inLine++
		switch t.Type {
		case token.AnchorType, token.AliasType:
			r.bad(at, "write it out, or use a step's `outputs`", "anchors and aliases are not allowed")
		case token.MergeKeyType:
			r.bad(at, "write it out", "merge keys are not allowed")
		case token.TagType:
			r.bad(at, "put the value into quotes; in a condition, write `not` for `!`", "tags are not allowed")
		case token.DirectiveType:
			r.bad(at, "take the line out", "directives are not allowed")
		case token.MappingKeyType:
			r.bad(at, "write `key: value`", "`?` keys are not allowed")
		case token.MappingStartType, token.SequenceStartType:
			flow++
			entries[min(flow, maxNesting)] = 0
		case token.CollectEntryType:
			entries[min(flow, maxNesting)]++
		case token.MappingEndType, token.SequenceEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType:
			dashes++
			for c := range keys {
				if c > at.Column {
					delete(keys, c)
				}
			}
		case token.MappingValueType:
			if last == nil {
				break
			}
			if flow > 0 {
				entries[min(flow, maxNesting)]++
				break
			}
			c := last.Position.Column
			keys[c]++
			for other := range keys {
				if other > c {
					delete(keys, other)
				}
			}
			if keys[c] > maxKeys {
				r.bad(at, "divide it", "a map has more than %d keys", maxKeys)
				return false
			}
		}
		last = t
		if flow > 0 && entries[min(flow, maxNesting)] > 2*maxKeys {
			r.bad(at, "divide it", "there is too much between brackets")
			return false
		}
		if flow > maxNesting || dashes > maxNesting {
			r.bad(at, "divide it", "it is nested more than %d deep", maxNesting)
			return false
		}
		if inLine > 2*maxKeys {
			r.bad(at, "break the line", "there is too much in one line")
			return false
		}
		if len(r.problems) > maxProblems {
			return false
		}
	}
	return len(r.problems) == before
}

func place(t *token.Token) Pos {
	if t == nil || t.Position == nil {
		return Pos{1, 1}
	}
	return Pos{max(1, t.Position.Line), max(1, t.Position.Column)}
}

// node takes over what the parser made. at is where it begins when it has no place of its own.
func (r *reader) node(y ast.Node, at Pos, depth int) *node {
	if y == nil {
		return &node{kind: isNull, at: at, value: json.RawMessage("null")}
	}
	if depth > maxNesting {
		r.bad(at, "divide it", "it is nested more than %d deep", maxNesting)
		return nil
	}
	switch y := y.(type) {
	case *ast.NullNode:
		if y.Token != nil && y.Token.Value != "" && y.Token.Type == token.NullType {
			at = place(y.Token)
		}
		return &node{kind: isNull, at: at, value: json.RawMessage("null")}
	case *ast.BoolNode:
		return scalar(isBool, y.Token, y.Value)
	case *ast.IntegerNode:
		return scalar(isNumber, y.Token, y.Value)
	case *ast.FloatNode:
		if math.IsInf(y.Value, 0) || math.IsNaN(y.Value) {
			r.bad(place(y.Token), "put it into quotes if it is text", "this number is too large")
			return nil
		}
		return scalar(isNumber, y.Token, y.Value)
	case *ast.InfinityNode, *ast.NanNode:
		r.bad(place(y.GetToken()), "put it into quotes if it is text", "%s is no number that JSON knows", y.GetToken().Value)
		return nil
	case *ast.StringNode:
		if y.Token.Type == token.StringType && exponent.MatchString(y.Value) { // which the parser leaves as text
			if f, err := strconv.ParseFloat(y.Value, 64); err == nil {
				return scalar(isNumber, y.Token, f)
			}
		}
		return &node{kind: isString, at: place(y.Token), text: y.Value}
	case *ast.LiteralNode:
		return &node{kind: isString, at: place(y.Start), text: y.Value.Value, block: true}
	case *ast.SequenceNode:
		n := &node{kind: isList, at: place(y.Start)}
		for _, v := range y.Values {
			if e := r.node(v, n.at, depth+1); e != nil {
				n.list = append(n.list, e)
			}
		}
		return n
	case *ast.MappingNode:
		return r.mapping(y.Values, at, depth)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{y}, at, depth)
	}
	r.bad(place(y.GetToken()), "write it plainly", "this kind of YAML (%s) is not allowed", strings.ToLower(y.Type().String()))
	return nil
}

var exponent = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+$`)

func scalar(kind nodeKind, t *token.Token, v any) *node {
	b, err := json.Marshal(v)
	if err != nil {
		panic("workflow: " + err.Error()) // numbers and booleans
	}
	return &node{kind: kind, at: place(t), value: b, text: t.Value}
}

func (r *reader) mapping(values []*ast.MappingValueNode, at Pos, depth int) *node {
	n := &node{kind: isMap, at: at}
	seen := map[string]Pos{}
	for i, v := range values {
		where := place(v.Key.GetToken())
		if i == 0 {
			n.at = where
		}
		var key string
		switch k := v.Key.(type) {
		case *ast.StringNode:
			key = k.Value
		case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.NullNode:
			key = v.Key.GetToken().Value
		default:
			r.bad(where, "write a word", "a key must be text")
			continue
		}
		if first, twice := seen[key]; twice {
			r.bad(where, fmt.Sprintf("take one of them out; the first is in line %d", first.Line), "the key `%s` is there twice", key)
			continue
		}
		seen[key] = where
		if value := r.node(v.Value, where, depth+1); value != nil {
			n.pairs = append(n.pairs, pair{key, where, value})
		}
	}
	return n
}

// json returns what the node says.
func (n *node) json() any {
	switch n.kind {
	case isString:
		return n.text
	case isList:
		l := make([]any, len(n.list))
		for i, e := range n.list {
			l[i] = e.json()
		}
		return l
	case isMap:
		m := make(map[string]any, len(n.pairs))
		for _, p := range n.pairs {
			m[p.key] = p.value.json()
		}
		return m
	}
	return n.value
}
