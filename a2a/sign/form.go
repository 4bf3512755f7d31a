package sign

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/gowebpki/jcs"

	"parley/a2a"
)

// Form names a text of a card that signatures are made over.
type Form string

const (
	// FormSpec is v1.0 section 8.4.1: the members of v1.0, without optional ones at their default, in the form of RFC 8785.
	FormSpec Form = "v1.0"

	// FormClean is what @a2a-js/sdk 1.x signs of a card's JSON: the same without anything empty, wherever it is.
	FormClean Form = "v1.0 without empty values"

	// FormCleanOpen is what @a2a-js/sdk 1.x (to 1.3.0 at least) signs of a card in its own objects, as its server does:
	// what the security schemes are is lost on the way.
	FormCleanOpen Form = "v1.0 without empty values and security schemes"

	// FormCleanASCII is what the Python a2a-sdk 1.x signs: the same with everything but ASCII escaped.
	FormCleanASCII Form = "v1.0 without empty values, in ASCII"

	// FormMID is the members of v0.3 in the form of RFC 8785.
	FormMID Form = "v0.3"

	// FormMIDClean and FormMIDCleanASCII are the same without what is empty or at its default; the latter is what the
	// Python a2a-sdk 0.3 signs.
	FormMIDClean      Form = "v0.3 without empty values"
	FormMIDCleanASCII Form = "v0.3 without empty values, in ASCII"

	// FormRaw is all the card has but its signatures, in the form of RFC 8785.
	FormRaw Form = "all members"

	// FormRawClean and FormRawCleanASCII are the same without anything empty.
	FormRawClean      Form = "all members without empty values"
	FormRawCleanASCII Form = "all members without empty values, in ASCII"
)

// formsOf returns the forms in which a card may have been signed: what covers most, first. Where a reader of v1.0 finds
// addresses, a signature over what v0.3 has proves nothing to it.
func formsOf(t *tree) []Form {
	out := []Form{FormRaw, FormSpec, FormRawClean, FormRawCleanASCII, FormClean, FormCleanASCII, FormCleanOpen}
	if t.root["supportedInterfaces"] == nil {
		out = append(out, FormMID, FormMIDClean, FormMIDCleanASCII)
	}
	return out
}

// formsFor returns the forms that readers of a card check.
func formsFor(t *tree) (out []Form) {
	if _, ok := t.root["supportedInterfaces"]; ok {
		out = append(out, FormClean, FormCleanASCII, FormCleanOpen, FormSpec)
	}
	if _, ok := t.root["url"]; ok {
		out = append(out, FormMID, FormMIDCleanASCII)
	}
	if out == nil {
		out = []Form{FormRaw}
	}
	return out
}

// tree is a card, taken apart.
type tree struct {
	root       map[string]any // without its signatures; numbers as json.Number; members of the protocol in camelCase
	signatures []a2a.AgentCardSignature
}

// read takes a card apart. It refuses what two readers may understand in two ways: a member that is there twice, also in
// another spelling, or characters that are none.
func read(card []byte) (*tree, error) {
	if len(card) > a2a.Limits.Card {
		return nil, errorf(KindCard, "The card is larger than %d bytes.", a2a.Limits.Card)
	}
	if _, err := jcs.Transform(card); err != nil {
		return nil, errorf(KindCard, "The card is not unambiguous JSON: %v.", err)
	}
	d := json.NewDecoder(bytes.NewReader(card))
	d.UseNumber()
	var all map[string]any
	if err := d.Decode(&all); err != nil || all == nil {
		return nil, errorf(KindCard, "The card is not a JSON object.")
	}
	for _, s := range []shape{newCard, midCard} {
		if name := doubled(all, s); name != "" {
			return nil, errorf(KindCard, "The card has %.60q twice, in two spellings.", name)
		}
	}
	t := &tree{root: make(map[string]any, len(all))}
	for name, v := range all {
		if name == "signatures" {
			t.signatures = signatures(v)
			continue
		}
		c := camel(name)
		_, v1 := newCard[c]
		if _, v03 := midCard[c]; v1 || v03 {
			name = c
		}
		t.root[name] = v
	}
	return t, nil
}

// signatures reads what a card has under that name, without what is none.
func signatures(v any) (out []a2a.AgentCardSignature) {
	list, _ := v.([]any)
	for _, e := range list {
		o, _ := e.(map[string]any)
		protected, _ := o["protected"].(string)
		signature, _ := o["signature"].(string)
		if protected != "" && signature != "" {
			out = append(out, a2a.AgentCardSignature{Protected: protected, Signature: signature})
		}
	}
	return out
}

// doubled returns the name of a member that an object of the protocol has in two spellings.
func doubled(v any, s shape) string {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			c := camel(name)
			m, ok := s[c]
			if !ok {
				continue
			}
			if _, twice := v[c]; twice && c != name {
				return c
			}
			if dict, ok := inner.(map[string]any); ok && m.dict {
				for _, e := range dict {
					if found := doubled(e, m.of); found != "" {
						return found
					}
				}
			} else if found := doubled(inner, m.of); found != "" {
				return found
			}
		}
	case []any:
		for _, e := range v {
			if found := doubled(e, s); found != "" {
				return found
			}
		}
	}
	return ""
}

// camel is a name as JSON has it when it may be in the spelling of protobuf.
func camel(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// cut returns the part of a card that a form covers.
func (f Form) cut(t *tree) map[string]any {
	switch f {
	case FormSpec, FormClean, FormCleanASCII:
		return cut(t.root, newCard, true)
	case FormCleanOpen:
		open := cut(t.root, newCard, true)
		delete(open, "securitySchemes")
		return open
	case FormMID:
		return cut(t.root, midCard, false)
	case FormMIDClean, FormMIDCleanASCII:
		return cut(t.root, midCard, true)
	}
	return t.root
}

// leavesOut names the members of a card that a form does not cover.
func (f Form) leavesOut(t *tree) (out []string) {
	var s shape
	switch f {
	case FormRaw, FormRawClean, FormRawCleanASCII:
		return nil
	case FormMID, FormMIDClean, FormMIDCleanASCII:
		s = midCard
	default:
		s = newCard
	}
	for _, name := range slices.Sorted(maps.Keys(t.root)) {
		if _, ok := s[name]; t.root[name] != nil && (!ok || f == FormCleanOpen && name == "securitySchemes") {
			out = append(out, name)
		}
	}
	return out
}

// text returns what is signed.
func (f Form) text(t *tree) ([]byte, error) {
	var v any = f.cut(t)
	switch f {
	case FormSpec, FormMID, FormRaw:
		return canonical(v)
	case FormClean, FormCleanOpen, FormMIDClean, FormRawClean:
		return canonical(object(clean(v)))
	case FormCleanASCII:
		return appendPython(nil, object(clean(v)), false), nil
	}
	return appendPython(nil, object(clean(v)), true), nil
}

// object is v, or an empty object when nothing was left.
func object(v any) any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

// canonical writes v in the form of RFC 8785.
func canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jcs.Transform(b)
}

// clean returns v without empty texts, lists, objects and null, at any depth; nil when nothing is left.
func clean(v any) any {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil
		}
	case map[string]any:
		out := map[string]any{}
		for name, inner := range v {
			if inner = clean(inner); inner != nil {
				out[name] = inner
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, inner := range v {
			if inner = clean(inner); inner != nil {
				out = append(out, inner)
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return v
}

// appendPython writes v as json.dumps(v, separators=(',', ':'), sort_keys=True) does: in ASCII, names in the order of
// their code points. literal keeps whole numbers whole, as they were written; otherwise they went through a protobuf
// Struct, which knows fractions only.
func appendPython(b []byte, v any, literal bool) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return appendASCII(b, v)
	case json.Number:
		return append(b, pythonNumber(v.String(), literal)...)
	case []any:
		b = append(b, '[')
		for i, inner := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendPython(b, inner, literal)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) { // the order of UTF-8 is that of code points
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendASCII(b, name), ':')
			b = appendPython(b, v[name], literal)
		}
		return append(b, '}')
	}
	return b
}

func appendASCII(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	escape := func(c uint16) {
		b = append(b, '\\', 'u', hex[c>>12], hex[c>>8&15], hex[c>>4&15], hex[c&15])
	}
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c >= ' ' && c <= '~':
			b = append(b, byte(c))
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\b':
			b = append(b, '\\', 'b')
		case c == '\f':
			b = append(b, '\\', 'f')
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			escape(uint16(high))
			escape(uint16(low))
		default:
			escape(uint16(c))
		}
	}
	return append(b, '"')
}

// pythonNumber writes a JSON number as Python prints it.
func pythonNumber(s string, literal bool) string {
	if literal && !strings.ContainsAny(s, ".eE") {
		if n, ok := new(big.Int).SetString(s, 10); ok {
			return n.String()
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	if size := math.Abs(f); size >= 1e16 || size < 1e-4 && f != 0 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	if f == math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
