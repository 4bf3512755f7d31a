//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"parley/interop/peer"
)

var bytesOfAllKinds = func() []byte {
	all := make([]byte, 3*256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}()

// samples are the parts that have to come back as they were sent.
var samples = []struct {
	name string
	part peer.Part
}{
	{"part: file bytes", peer.Part{Bytes: bytesOfAllKinds, Name: "all bytes.bin", MediaType: "application/octet-stream"}},
	{"part: bytes like base64", peer.Part{Bytes: []byte("aGVsbG8="), Name: "looks-like-base64.txt", MediaType: "text/plain"}},
	{"part: file URL", peer.Part{URL: "https://files.example/a%20b.png?x=1", Name: "b.png", MediaType: "image/png"}},
	{"part: data object", peer.Part{Data: json.RawMessage(`{"n":1.5,"deep":["a",null,true]}`)}},
	{"part: data array", peer.Part{Data: json.RawMessage(`[1,"b",{"c":[2]}]`)}},
	{"part: data scalar", peer.Part{Data: json.RawMessage(`"東京"`)}},
	{"part: data null", peer.Part{Data: json.RawMessage(`null`)}},
	{"part: big integer", peer.Part{Data: json.RawMessage(`{"n":9007199254740993}`)}},
	{"part: metadata", peer.Part{Text: "words", Metadata: json.RawMessage(`{"urn:test:part":{"a":[1,"b"]}}`)}},
}

func (r *round) part(ctx context.Context, want peer.Part) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Parts, Parts: []peer.Part{want}})
	if err != nil {
		return err
	}
	all := flat(e)
	if len(all) != 1 || e.State != "completed" {
		return fmt.Errorf("answered %s", show(e))
	}
	got := all[0]
	if r.version != "1.0" { // there data that is no object travels in one that is marked
		var in struct{ Value json.RawMessage }
		if strings.Contains(string(got.Metadata), `"data_part_compat":true`) && json.Unmarshal(got.Data, &in) == nil {
			got.Data = in.Value
		}
	}
	switch {
	case !bytes.Equal(got.Bytes, want.Bytes) || got.URL != want.URL || got.Text != want.Text:
		return fmt.Errorf("came back as %s", show(got))
	case got.Name != want.Name || got.MediaType != want.MediaType && want.MediaType != "":
		return fmt.Errorf("came back as %q, %q", got.Name, got.MediaType)
	case (got.Data == nil) != (want.Data == nil):
		return fmt.Errorf("came back as %s", show(got))
	case want.Metadata != nil && !same(got.Metadata, want.Metadata):
		return fmt.Errorf("its metadata came back as %s", got.Metadata)
	case want.Data == nil || same(got.Data, want.Data):
		return nil
	case r.doubles && nearly(got.Data, want.Data):
		return peer.ErrNone
	}
	return fmt.Errorf("came back as %s", got.Data)
}

// same tells whether two JSON texts mean the same, numbers to the last digit.
func same(a, b []byte) bool { return reflect.DeepEqual(value(a, true), value(b, true)) }

// nearly is same with numbers as doubles.
func nearly(a, b []byte) bool { return reflect.DeepEqual(value(a, false), value(b, false)) }

func value(b []byte, exact bool) any {
	d := json.NewDecoder(bytes.NewReader(b))
	if exact {
		d.UseNumber()
	}
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	return plain(v)
}

// plain writes whole numbers one way: an SDK may say 1.0 for 1.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(strings.TrimSuffix(v.String(), ".0"))
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

func show(v any) string { return string(must(json.Marshal(v))) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
