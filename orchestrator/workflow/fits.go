package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"parley/orchestrator"
)

// Fits checks a JSON value against a JSON Schema. The error says in words of one line what does not fit, and where.
func Fits(schema, value json.RawMessage) error {
	s, err := compileSchema(schema)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err
	}
	var invalid *jsonschema.ValidationError
	if err := orchestrator.Validate(s, v); !errors.As(err, &invalid) {
		return err
	}
	var leaves []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			what := misfit(e.ErrorKind)
			if len(e.InstanceLocation) > 0 {
				what = strings.Join(e.InstanceLocation, "/") + ": " + what
			}
			leaves = append(leaves, what)
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(invalid)
	return errors.New(strings.Join(leaves, ", "))
}

// misfit says to a person what a value should have been.
func misfit(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return "must have at least " + counted(k.Want, "character")
	case *kind.MaxLength:
		return "must have at most " + counted(k.Want, "character")
	case *kind.Minimum:
		return "must be at least " + amount(k.Want)
	case *kind.Maximum:
		return "must be at most " + amount(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + amount(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + amount(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + amount(k.Want)
	case *kind.MinItems:
		return "must have at least " + counted(k.Want, "element")
	case *kind.MaxItems:
		return "must have at most " + counted(k.Want, "element")
	case *kind.UniqueItems:
		return fmt.Sprintf("has the same twice, as elements %d and %d", k.Duplicates[0]+1, k.Duplicates[1]+1)
	case *kind.Enum:
		return "must be " + choices(k.Want)
	case *kind.Const:
		return "must be " + choices([]any{k.Want})
	case *kind.Format:
		return "is no valid " + k.Want
	case *kind.Pattern:
		return "does not have the form " + k.Want
	case *kind.Type:
		want := make([]string, len(k.Want))
		for i, t := range k.Want {
			want[i] = typeName(t)
		}
		return "must be " + strings.Join(want, " or ") + ", not " + typeName(k.Got)
	case *kind.Required:
		if len(k.Missing) > 1 {
			return ticked(k.Missing) + " are needed"
		}
		return ticked(k.Missing) + " is needed"
	case *kind.AdditionalProperties:
		return "there is no place for " + ticked(k.Properties)
	}
	return k.LocalizedString(message.NewPrinter(language.English))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func amount(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// shownChoices is how many values a sentence names before it says that there are more.
const shownChoices = 12

func choices(values []any) string {
	more := ""
	if len(values) > shownChoices {
		values, more = values[:shownChoices], ", …"
	}
	names := make([]string, len(values))
	for i, v := range values {
		b, err := json.Marshal(v)
		if names[i] = string(b); err != nil {
			names[i] = fmt.Sprint(v)
		}
	}
	return strings.Join(names, ", ") + more
}

func typeName(t string) string {
	switch t {
	case "string":
		return "text"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	case "boolean":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return t
}

func ticked(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
