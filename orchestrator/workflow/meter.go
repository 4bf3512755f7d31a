package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// What expressions may do when a step's turn comes.
const (
	maxWork   = 32 << 20 // bytes looked at, in all expressions of a step
	maxValue  = 1 << 20  // bytes of a text or of data that an expression makes
	roundWork = 64       // what one element costs that a function like map or filter looks at
)

var (
	errWork  = errors.New("it computes too long")
	errValue = fmt.Errorf("what it makes has more than %d bytes", maxValue)
)

// meter counts what expressions look at. Whatever they work on passes through it first, so that time and memory are
// bounded by what is counted; it never looks at a clock, so that it stops at the same place every time.
type meter struct{ left int }

func newMeter() *meter { return &meter{left: maxWork} }

// spend counts the size of v, times weight.
func (m *meter) spend(v any, weight int) error {
	before := m.left
	m.walk(v)
	if m.left > 0 && weight > 1 {
		m.left -= (before - m.left) * (weight - 1)
	}
	if m.left <= 0 {
		return errWork
	}
	return nil
}

func (m *meter) walk(v any) {
	if m.left -= 8; m.left <= 0 {
		return
	}
	switch v := v.(type) {
	case string:
		m.left -= len(v)
	case []any:
		for _, e := range v {
			if m.walk(e); m.left <= 0 {
				return
			}
		}
	case map[string]any:
		for k, e := range v {
			m.left -= len(k)
			if m.walk(e); m.left <= 0 {
				return
			}
		}
	case []int:
		m.left -= 8 * len(v)
	case []string:
		for _, s := range v {
			m.left -= 8 + len(s)
		}
	}
}

// through is the name under which expressions reach the meter. Nobody can write it in one.
const through = "meter!"

// options make an expression pass through the meter.
func (m *meter) options() []expr.Option {
	return append(dialect(), expr.AllowUndefinedVariables(), expr.Patch(metering{}), expr.Function(through, func(args ...any) (any, error) {
		return args[0], m.spend(args[0], args[1].(int))
	}, new(func(any, int) any)))
}

// metering puts the meter in front of every value that something is done with.
type metering struct{}

func (metering) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.BinaryNode:
		weight := 1
		switch n.Operator {
		case "and", "&&", "or", "||", "??":
			return
		case "matches":
			weight, _ = pattern(n.Right)
			metered(&n.Left, weight)
			return
		}
		metered(&n.Left, weight)
		metered(&n.Right, weight)
	case *ast.BuiltinNode:
		for i := range n.Arguments {
			if _, predicate := n.Arguments[i].(*ast.PredicateNode); !predicate {
				metered(&n.Arguments[i], 1)
			}
		}
	case *ast.CallNode:
		for i := range n.Arguments {
			metered(&n.Arguments[i], 1)
		}
	case *ast.PredicateNode:
		metered(&n.Node, roundWork/8)
	case *ast.ArrayNode:
		for i := range n.Nodes {
			metered(&n.Nodes[i], 1)
		}
	case *ast.PairNode:
		metered(&n.Value, 1)
	case *ast.VariableDeclaratorNode:
		metered(&n.Value, 1)
	}
}

func metered(n *ast.Node, weight int) {
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: through}, Arguments: []ast.Node{*n, &ast.IntegerNode{Value: weight}}}
	call.SetLocation((*n).Location())
	call.Callee.SetLocation((*n).Location())
	call.Arguments[1].SetLocation((*n).Location())
	*n = call
}

// patternWork is how much work a pattern makes of each byte of text, next to what copying it would be.
func patternWork(p string) int {
	re, err := syntax.Parse(p, syntax.Perl)
	if err != nil {
		return maxWork
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return maxWork
	}
	return 4 * len(prog.Inst)
}

func replaceAll(args ...any) (any, error) {
	s, from, to := args[0].(string), args[1].(string), args[2].(string)
	if n := strings.Count(s, from); len(s)+n*(len(to)-len(from)) > maxValue {
		return nil, errValue
	}
	return strings.ReplaceAll(s, from, to), nil
}

func joinAll(args ...any) (any, error) {
	sep, size := args[1].(string), 0
	var words []string
	switch l := args[0].(type) {
	case []string:
		words = l
	case []any:
		for i, e := range l {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("element %d of the list is no text; write map(list, string(#))", i)
			}
			words = append(words, s)
		}
	default:
		return nil, errors.New("join wants a list of texts")
	}
	for _, w := range words {
		if size += len(w) + len(sep); size > maxValue {
			return nil, errValue
		}
	}
	return strings.Join(words, sep), nil
}

// toJSON is compact, its keys sorted.
func toJSON(args ...any) (any, error) {
	b, err := marshal(args[0])
	return string(b), err
}

func marshal(v any) (json.RawMessage, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, errors.New("it cannot be said in JSON")
	}
	if b.Len() > maxValue {
		return nil, errValue
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}

func sortedKeys(args ...any) (any, error) {
	m, ok := args[0].(map[string]any)
	if !ok {
		return nil, errors.New("only a map has keys")
	}
	keys := make([]any, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		keys = append(keys, k)
	}
	return keys, nil
}

func sortedValues(args ...any) (any, error) {
	m, ok := args[0].(map[string]any)
	if !ok {
		return nil, errors.New("only a map has values")
	}
	values := make([]any, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[k])
	}
	return values, nil
}
