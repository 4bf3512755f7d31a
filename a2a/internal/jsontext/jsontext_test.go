package jsontext

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestCheckDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte {
		return []byte(strings.Repeat(`[`, n-1) + `{"a":1}` + strings.Repeat(`]`, n-1))
	}
	for n, want := range map[int]Kind{63: 0, 64: 0, 65: Deep, 9_999: Deep, 10_001: Syntax} {
		err := Check(nested(n), 64)
		if got := kindOf(err); got != want {
			t.Errorf("depth %d: kind %d, want %d (%v)", n, got, want, err)
		}
	}
	if err := Check([]byte(strings.Repeat(`[`, 8<<20)), 64); kindOf(err) != Syntax {
		t.Errorf("an endless opening is not refused: %v", err)
	}
}

func kindOf(err error) Kind {
	if e, ok := err.(*Error); ok {
		return e.Kind
	}
	return 0
}

func TestPath(t *testing.T) {
	t.Parallel()
	text := []byte(` {"a":{"b,":[1, "x]" ,{"c": true}]},"d" :[[],[7]]}`)
	for at, want := range map[string]string{`{"a"`: "", `{"b,"`: "a", `[1`: "a.b,", `1,`: "a.b,[0]", `"x]"`: "a.b,[1]", `true`: "a.b,[2].c", `7`: "d[1][0]"} {
		if got := Path(text, bytes.Index(text, []byte(at))); got != want {
			t.Errorf("path of %s is %q, want %q", at, got, want)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	r := NewReader([]byte(`{"context_id":1,"contextId":2,"oauth2_metadata_url":3,"_a":4,"a_":5,"a\u005fb":6,"é_x":7}`))
	want := []string{"contextId", "contextId", "oauth2MetadataUrl", "A", "a", "aB", "éX"}
	i := 0
	for r.Object(); r.Member(); i++ {
		if got := string(r.Name()); got != want[i] {
			t.Errorf("name %d is %q, want %q", i, got, want[i])
		}
		r.Skip()
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	raw := []byte{0xfb, 0xff, 0xfe, 0x01}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		text, _ := json.Marshal(enc.EncodeToString(raw))
		text = bytes.ReplaceAll(text, []byte("/"), []byte(`\/`)) // as PHP writes it
		r := NewReader(text)
		if got := r.Bytes(); !bytes.Equal(got, raw) || r.Err() != nil {
			t.Errorf("%s read as %x, %v", text, got, r.Err())
		}
	}
	for _, bad := range []string{`"a"`, `"not base64!"`, `"=="x"`, `5`} {
		if Check([]byte(bad), 1) != nil {
			continue
		}
		r := NewReader([]byte(bad))
		if r.Bytes(); r.Err() == nil {
			t.Errorf("%s is taken for base64", bad)
		}
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	for _, text := range []string{
		`"2026-01-02T03:04:05.678Z"`, `"2026-01-02T03:04:05.678901234Z"`, `"2026-01-02T03:04:05.678"`, `"2026-01-02T03:04:05.678901"`,
		`"2026-01-02 03:04:05.678"`, `"2026-01-02T05:04:05.678+02:00"`, `1767323045.678`, `1767323045678`,
	} {
		if got := NewReader([]byte(text)).Time(); !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s read as %v", text, got)
		}
	}
	for _, text := range []string{`"yesterday"`, `""`, `true`, `{}`, `[1]`, `1e300`, `-5`, `"9999-12-31T23:59:59-05:00"`, `"0000-01-01T00:00:00Z"`} {
		r := NewReader([]byte(text))
		if got := r.Time(); !got.IsZero() || r.Err() != nil {
			t.Errorf("%s read as %v, %v", text, got, r.Err())
		}
	}
	if got := string(AppendTime(nil, want.Add(999*time.Microsecond).In(time.FixedZone("", 3600)))); got != `"2026-01-02T03:04:05.678Z"` {
		t.Errorf("written as %s", got)
	}
}

func TestInt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{`5`: 5, `"5"`: 5, `5.0`: 5, `5e0`: 5, `-1`: -1, `0`: 0, `2147483647`: 1<<31 - 1} {
		r := NewReader([]byte(text))
		if got := r.Int(); got != want || r.Err() != nil {
			t.Errorf("%s read as %d, %v", text, got, r.Err())
		}
	}
	for _, text := range []string{`5.5`, `"x"`, `""`, `2147483648`, `true`, `{}`, `1e99`} {
		r := NewReader([]byte(text))
		if r.Int(); r.Err() == nil {
			t.Errorf("%s is taken for a number", text)
		}
	}
}

func TestWithAndCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, with string }{
		{``, `{"k":1}`}, {`{}`, `{"k":1}`}, {`{ "a" : [ 1 ] }`, `{"a":[1],"k":1}`}, {`{"k":0,"a":"}"}`, `{"a":"}","k":1}`}, {`7`, `{"k":1}`},
	} {
		got := With([]byte(tt.raw), "k", []byte("1"))
		if string(got) != tt.with {
			t.Errorf("%s with k is %s, want %s", tt.raw, got, tt.with)
		}
		if _, value := Cut(got, "k"); string(value) != "1" {
			t.Errorf("the value of k in %s is %s", got, value)
		}
	}
	if rest, ok := CutTrue([]byte(`{"k":true}`), "k"); rest != nil || !ok {
		t.Errorf("cut leaves %s, %v", rest, ok)
	}
	if rest, ok := CutTrue([]byte(`{"k":1}`), "k"); string(rest) != `{"k":1}` || ok {
		t.Errorf("cut leaves %s, %v", rest, ok)
	}
}

// Whatever a program hands over as raw JSON, what is written is JSON on one line.
func TestAppendRaw(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{"": "null", "nope": "null", "{\n \"a b\" : [1 ,2]\r\n}\t": `{"a b":[1,2]}`, `"x\n"`: `"x\n"`} {
		if got := string(AppendRaw(nil, []byte(raw))); got != want {
			t.Errorf("%q is written as %s, want %s", raw, got, want)
		}
	}
	for raw, want := range map[string]string{"": "{", "[1]": "{", "{": "{", "{\n}": `{"m":{}`} {
		if got := string(AppendObject([]byte("{"), "m", []byte(raw))); got != want {
			t.Errorf("%q is written as %s, want %s", raw, got, want)
		}
	}
}

// Check must agree with encoding/json, and a Reader must see what encoding/json sees.
func FuzzAgainstEncodingJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0.5e+7,true,false,null,"x\u00e9\ud83d\ude00\ud800\n\/"],"b_c":{}}`, ` [ ] `, `"\ud800\u0041"`, `01`, `1.`, `1e`, `-`, `{"a":1,}`,
		`[1 2]`, `{"a" 1}`, `{"a":1}x`, "\"\x01\"", "\"\xff\"", `tru`, `nul`, `"\x"`, `"\u12"`, `""`, `{"":{"":[[]]}}`, ``, `"abc`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := Check(b, hardDepth)
		if want := json.Valid(b) && utf8.Valid(b); want != (err == nil) {
			t.Fatalf("valid: %v, Check: %v", want, err)
		}
		if err != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		r := NewReader(b)
		got := value(r)
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		w, _ := json.Marshal(want)
		g, _ := json.Marshal(got)
		if !bytes.Equal(w, g) {
			t.Fatalf("read as %s, want %s", g, w)
		}
		var compact bytes.Buffer
		json.Compact(&compact, b)
		if raw := NewReader(b).Raw(); !bytes.Equal(raw, compact.Bytes()) {
			t.Fatalf("compacted to %s, want %s", raw, compact.Bytes())
		}
		r = NewReader(b)
		if r.Skip(); skipSpace(b, r.i) != len(b) {
			t.Fatalf("skipped to %d of %d", r.i, len(b))
		}
	})
}

// value reads anything as encoding/json would.
func value(r *Reader) any {
	switch r.Peek() {
	case '{':
		m := map[string]any{}
		for r.Object(); r.MemberOrNull(); {
			k := string(r.Key())
			if r.Null() {
				m[k] = nil
			} else {
				m[k] = value(r)
			}
		}
		return m
	case '[':
		list := []any{}
		r.i++
		for {
			if r.space(); r.b[r.i] == ',' {
				r.i++
				continue
			}
			if r.b[r.i] == ']' {
				r.i++
				return list
			}
			list = append(list, value(r))
		}
	case '"':
		return r.String()
	case 't', 'f':
		return r.Bool()
	case 'n':
		r.Null()
		return nil
	}
	return json.Number(r.Span())
}

// What AppendString writes must read back as the same text, invalid bytes replaced.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\r\t\x00\x1f\x7f", "é世😀\u2028", "\xff\xc3", "a\xed\xa0\x80b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendString(nil, s)
		if bytes.ContainsAny(b, "\n\r") {
			t.Fatalf("%q has a line break", b)
		}
		if err := Check(b, 1); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		want := strings.ToValidUTF8(s, "\ufffd")
		var std string
		if err := json.Unmarshal(b, &std); err != nil {
			t.Fatal(err)
		}
		if got := NewReader(b).String(); got != want || std != want {
			t.Fatalf("read as %q, encoding/json says %q, want %q", got, std, want)
		}
	})
}

// TestNothing: where there is no value, every way to read one ends in an error.
func TestNothing(t *testing.T) {
	for name, read := range map[string]func(*Reader){
		"object": func(r *Reader) {
			for r.Object(); r.Member(); r.Skip() {
			}
		},
		"array": func(r *Reader) {
			for r.Array(); r.Element(); r.Skip() {
			}
		},
		"skip": (*Reader).Skip, "text": func(r *Reader) { r.Text() }, "strings": func(r *Reader) { r.Strings() }, "bool": func(r *Reader) { r.Bool() },
		"int": func(r *Reader) { r.Int() }, "bytes": func(r *Reader) { r.Bytes() }, "raw": func(r *Reader) { r.Raw() }, "raw object": func(r *Reader) { r.RawObject() },
		"span": func(r *Reader) { r.Span() }, "time": func(r *Reader) { r.Time() },
	} {
		for _, text := range []string{"", " \n"} {
			r := NewReader([]byte(text))
			if read(r); r.Err() == nil {
				t.Errorf("%s of %q", name, text)
			}
		}
	}
}
