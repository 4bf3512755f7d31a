package workflow

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/file"
)

// flaw is what is wrong with an expression, and where: in characters from its beginning.
type flaw struct {
	at       int
	what, do string
}

// fixes say what to do about what expr-lang finds, by what its sentence has in it; the first that fits counts.
var fixes = []struct{ sign, do string }{
	{"mismatched type", "make all of one kind: `string(x)`, `int(x)` and `float(x)` do that"},
	{`Operator("#")`, "`#` stands for an element only within `map`, `filter` and their like"},
	{"is undefined", elementsOfText},
	{"support indexing", elementsOfText},
	{"cannot slice", elementsOfText},
	{"array elements", "write which one, as `x[0]`, or `map(x, .name)` for that of each"},
	{"takes only array", "give it a list; `split(x, \"\\n\")` makes one of a text"},
	{"has no field", "only maps have members, as data do"},
	{"has no method", "write `f(x)` for a function f"},
	{"is not callable", "write `f(x)` for a function f of the list in docs/workflows.md"},
	{"predicate should return", "write a condition, as `# > 1`"},
	{"non-bool", "write a condition, as `inputs.x != \"\"`"},
	{"cannot use", "give it what it wants: `string(x)`, `int(x)` and `float(x)` make one kind of another"},
	{"arguments", "see the functions in docs/workflows.md"},
	{"unexpected token", "see what stands before it: something is missing, or one sign too many"},
	{"unexpected end", "write its end"},
	{"not terminated", "end the text with the quote that it begins with"},
	{"char escape", "write `\\\\` for a backslash"},
	{"unrecognized character", "take it out, or put it in quotes"},
	{"bad number", "write digits, as `1000` or `0.5`"},
}

const elementsOfText = "only lists and maps have elements; `split(x, \"\\n\")` makes a list of a text"

// flawOf reads an error of expr-lang.
func flawOf(err error) flaw {
	const otherwise = "see the expressions in docs/workflows.md"
	var f *file.Error
	if !errors.As(err, &f) {
		return flaw{0, err.Error(), otherwise}
	}
	switch what := f.Message; {
	case strings.Contains(what, "unexpected token EOF"):
		return flaw{f.From, "the expression breaks off", "write its end"}
	case strings.Contains(what, "maximum allowed nodes"):
		return flaw{f.From, fmt.Sprintf("the expression has more than %d terms", maxExprNodes), "divide it: a step without an agent can compute `outputs`"}
	}
	for _, fix := range fixes {
		if strings.Contains(f.Message, fix.sign) {
			return flaw{f.From, f.Message, fix.do}
		}
	}
	return flaw{f.From, f.Message, otherwise}
}
