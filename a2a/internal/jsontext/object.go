package jsontext

// Objects that are kept raw and carry a few members of our own.

// WithTrue returns the object raw (nil: an empty one) with a member that is true, in the place of one of that name.
func WithTrue(raw []byte, name string) []byte { return With(raw, name, []byte("true")) }

// With returns the object raw (nil: an empty one) with a member, in the place of one of that name.
func With(raw []byte, name string, value []byte) []byte {
	rest, _ := Cut(raw, name)
	if !IsObject(rest) {
		rest = nil
	}
	b := make([]byte, 0, len(rest)+len(name)+len(value)+8)
	if b = append(b, '{'); rest != nil {
		b = appendCompact(b[:0], rest)
		b = b[:len(b)-1]
	}
	b = append(AppendString(comma(b), name), ':')
	b = append(b, value...)
	return append(b, '}')
}

// IsObject reports whether raw is a JSON object.
func IsObject(raw []byte) bool { return isA(raw, '{') }

// IsArray reports whether raw is a JSON array.
func IsArray(raw []byte) bool { return isA(raw, '[') }

func isA(raw []byte, c byte) bool {
	i := skipSpace(raw, 0)
	return i < len(raw) && raw[i] == c && Check(raw, hardDepth) == nil
}

func comma(b []byte) []byte {
	if b[len(b)-1] == '{' {
		return b
	}
	return append(b, ',')
}

// Cut returns the object raw without the members of a name, and the value of the last of them; nil when nothing else
// is left. What is not an object is returned as it is.
func Cut(raw []byte, name string) (rest, value []byte) {
	if !IsObject(raw) {
		return raw, nil
	}
	b := append(make([]byte, 0, len(raw)), '{')
	r := NewReader(raw)
	for r.Object(); r.MemberOrNull(); {
		if string(r.Key()) == name {
			value = r.Span()
			continue
		}
		b = append(AppendString(comma(b), string(r.Key())), ':')
		b = appendCompact(b, r.Span())
	}
	if value == nil {
		return raw, nil
	}
	if len(b) == 1 {
		return nil, value
	}
	return append(b, '}'), value
}

// CutTrue is Cut for a member that counts only when it is true.
func CutTrue(raw []byte, name string) (rest []byte, ok bool) {
	rest, value := Cut(raw, name)
	if string(value) != "true" {
		return raw, false
	}
	return rest, true
}

// CutString is Cut for a member that counts only when it is a string.
func CutString(raw []byte, name string) (rest []byte, s string, ok bool) {
	rest, value := Cut(raw, name)
	if len(value) == 0 || value[0] != '"' {
		return raw, "", false
	}
	return rest, NewReader(value).String(), true
}

// Sole returns the value of the only member of the object raw if that has the name, else nil.
func Sole(raw []byte, name string) []byte {
	if rest, value := Cut(raw, name); rest == nil {
		return value
	}
	return nil
}
