package workflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
)

// Bounds of expressions.
const (
	maxExpr      = 8 << 10 // bytes
	maxExprNodes = 1000
	maxPattern   = 200 // bytes of what `matches` looks for
)

// functions are those of expr-lang that expressions may call. Left out are those that read a clock, that can make much
// of little, or whose result has no order of its own.
var functions = []string{
	"all", "none", "any", "one", "filter", "map", "find", "findIndex", "findLast", "findLastIndex", "count", "sum", "sortBy", "reduce",
	"len", "type", "abs", "ceil", "floor", "round", "int", "float", "string", "trim", "trimPrefix", "trimSuffix", "upper", "lower",
	"split", "indexOf", "lastIndexOf", "hasPrefix", "hasSuffix", "max", "min", "mean", "median", "fromJSON", "toBase64", "fromBase64",
	"first", "last", "get", "take", "fromPairs", "reverse", "concat", "flatten", "sort",
}

// ours are functions of the same names as expr-lang's that keep to the bounds, and to an order.
var ours = map[string]struct {
	call func(...any) (any, error)
	as   any
}{
	"replace": {replaceAll, new(func(string, string, string) string)},
	"join":    {joinAll, new(func(any, string) string)},
	"toJSON":  {toJSON, new(func(any) string)},
	"keys":    {sortedKeys, new(func(any) []any)},
	"values":  {sortedValues, new(func(any) []any)},
}

// scope is what an expression may see.
type scope struct {
	inputs []Input
	steps  func(id string) (may, known bool)
	ids    []string // of all steps
	hint   func(step string) string
	item   bool
}

var (
	stepFields = []string{"text", "data", "artifacts", "state"}
	runFields  = []string{"id", "name", "began"}
	roots      = []string{"inputs", "steps", "item", "run"}
)

// dialect is what every expression is read with.
func dialect() []expr.Option {
	o := []expr.Option{expr.DisableAllBuiltins(), expr.Optimize(false), expr.MaxNodes(maxExprNodes)}
	for _, f := range functions {
		o = append(o, expr.EnableBuiltin(f))
	}
	for name, f := range ours {
		if f.call != nil {
			o = append(o, expr.Function(name, f.call, f.as))
		}
	}
	return o
}

// examine says what is wrong with an expression.
func examine(src string, s *scope) []flaw {
	if len(src) > maxExpr {
		return []flaw{{0, fmt.Sprintf("the expression has %d bytes; at most %d are allowed", len(src), maxExpr), "divide it: a step without an agent can compute `outputs`"}}
	}
	if src == "" {
		return []flaw{{0, "the expression is empty", "write what is to stand there, as `inputs.topic`"}}
	}
	c := conf.CreateNew()
	for _, o := range dialect() {
		o(c)
	}
	for name := range c.Disabled {
		delete(c.Builtins, name)
	}
	tree, err := parser.ParseWithConfig(src, c)
	if err != nil {
		return []flaw{flawOf(err)}
	}
	x := examination{scope: s, used: map[string]bool{}, based: map[ast.Node]bool{}, calls: map[ast.Node]bool{}, lets: map[string]bool{}}
	ast.Walk(&tree.Node, &gather{&x})
	ast.Walk(&tree.Node, &x)
	if len(x.flaws) > 0 {
		return x.flaws
	}
	if _, err := expr.Compile(src, append(dialect(), expr.Env(s.types(x.used)))...); err != nil {
		return []flaw{flawOf(err)}
	}
	return nil
}

// types describes what the expression sees, as far as it is known before a run.
func (s *scope) types(used map[string]bool) types.Map {
	inputs := types.Map{}
	for i := range s.inputs {
		in := &s.inputs[i]
		inputs[in.Name] = types.Any
		var t struct {
			Type any `json:"type"`
		}
		if json.Unmarshal(in.Schema, &t) == nil && t.Type == "string" && !in.Optional {
			inputs[in.Name] = types.String
		}
	}
	steps := types.Map{}
	for id := range used {
		steps[id] = types.Map{"text": types.String, "data": types.Any, "artifacts": types.Array(types.Any), "state": types.String}
	}
	env := types.Map{"inputs": inputs, "steps": steps, "run": types.Map{"id": types.String, "name": types.String, "began": types.String}}
	if s.item {
		env["item"] = types.Any
	}
	return env
}

// gather collects what examination must know beforehand.
type gather struct{ *examination }

func (g *gather) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.VariableDeclaratorNode:
		g.lets[n.Name] = true
	case *ast.MemberNode:
		if _, named := n.Property.(*ast.StringNode); named {
			g.based[n.Node] = true
		}
	case *ast.CallNode:
		g.calls[n.Callee] = true
	}
}

// examination looks at what an expression refers to.
type examination struct {
	*scope
	used  map[string]bool
	based map[ast.Node]bool // nodes of which a named member is taken
	calls map[ast.Node]bool // nodes that are called
	lets  map[string]bool
	flaws []flaw
}

func (x *examination) bad(n ast.Node, do, format string, args ...any) {
	x.flaws = append(x.flaws, flaw{n.Location().From, fmt.Sprintf(format, args...), do})
}

func (x *examination) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.IdentifierNode:
		x.identifier(n)
	case *ast.MemberNode:
		x.member(n)
	case *ast.CallNode:
		x.call(n)
	case *ast.BytesNode:
		x.bad(n, "write a text", "bytes are not allowed")
	case *ast.BinaryNode:
		if n.Operator == "matches" {
			if _, err := pattern(n.Right); err != nil {
				x.bad(n.Right, "write a plain text in quotes", "%s", err)
			}
		}
	}
}

func (x *examination) identifier(n *ast.IdentifierNode) {
	switch {
	case x.calls[n], x.lets[n.Value]:
	case n.Value == "item" && !x.item:
		x.bad(n, "give the step a `for-each`", "`item` is known in a step with `for-each` only")
	case n.Value == "steps" && !x.based[n]:
		x.bad(n, "write `steps.<id>.text`", "a step must be named")
	case slices.Contains(roots, n.Value):
	default:
		x.bad(n, didYouMean(n.Value, roots), "there is no `%s` here", n.Value)
	}
}

func (x *examination) call(n *ast.CallNode) {
	id, ok := n.Callee.(*ast.IdentifierNode)
	switch {
	case !ok:
		x.bad(n, "write `f(x)` for a function f", "values have no methods")
	case ours[id.Value].call != nil:
	case slices.Contains(builtin.Names, id.Value):
		x.bad(id, "give the value as an input, or let an agent compute it", "`%s` is not allowed: it reads a clock, or may take long", id.Value)
	default:
		known := append(slices.Sorted(maps.Keys(ours)), functions...)
		x.bad(id, cmp.Or(didYouMean(id.Value, known), "see the list in docs/workflows.md"), "there is no function `%s`", id.Value)
	}
}

func (x *examination) member(n *ast.MemberNode) {
	name, ok := n.Property.(*ast.StringNode)
	if !ok {
		return
	}
	switch of := n.Node.(type) {
	case *ast.IdentifierNode:
		switch {
		case of.Value == "inputs":
			var names []string
			for i := range x.inputs {
				names = append(names, x.inputs[i].Name)
			}
			if !slices.Contains(names, name.Value) {
				x.bad(n.Property, cmp.Or(didYouMean(name.Value, names), "add it to `inputs`"), "there is no input `%s`", name.Value)
			}
		case of.Value == "run" && !slices.Contains(runFields, name.Value):
			x.bad(n.Property, didYouMean(name.Value, runFields), "a run has no `%s`", name.Value)
		case of.Value == "steps":
			x.step(n, name.Value)
		}
	case *ast.MemberNode:
		root, _ := of.Node.(*ast.IdentifierNode)
		if _, named := of.Property.(*ast.StringNode); named && root != nil && root.Value == "steps" && !slices.Contains(stepFields, name.Value) {
			x.bad(n.Property, didYouMean(name.Value, stepFields), "a step has no `%s`", name.Value)
		}
	}
}

func (x *examination) step(n *ast.MemberNode, id string) {
	switch may, known := x.steps(id); {
	case !known:
		x.bad(n.Property, didYouMean(id, x.ids), "there is no step `%s`", id)
	case !may:
		x.bad(n.Property, x.hint(id), "the step `%s` does not come before", id)
	default:
		x.used[id] = true
	}
}

// pattern compiles what `matches` looks for, which must be known beforehand, and says how much work a byte is.
func pattern(n ast.Node) (work int, err error) {
	s, ok := n.(*ast.StringNode)
	switch {
	case !ok:
		return 0, errors.New("what `matches` looks for must be written out")
	case len(s.Value) > maxPattern:
		return 0, fmt.Errorf("the pattern has %d bytes; at most %d are allowed", len(s.Value), maxPattern)
	}
	if _, err := regexp.Compile(s.Value); err != nil {
		return 0, fmt.Errorf("this pattern cannot be used: %w", err)
	}
	return patternWork(s.Value), nil
}
