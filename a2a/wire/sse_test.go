package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type frame struct{ Name, ID, Data string }

func frames(r io.Reader) (list []frame, err error) {
	for e, fault := range ReadSSE(r) {
		if fault != nil {
			return list, fault
		}
		list = append(list, frame{e.Name, e.ID, string(e.Data)})
	}
	return list, nil
}

func TestReadSSE(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stream string
		want         []frame
	}{
		{"plain", "data: a\n\ndata: b\n\n", []frame{{Data: "a"}, {Data: "b"}}},
		{"no space", "data:a\n\n", []frame{{Data: "a"}}},
		{"one space only", "data:  a\n\n", []frame{{Data: " a"}}},
		{"several lines", "data: a\ndata\ndata: b\n\n", []frame{{Data: "a\n\nb"}}},
		{"carriage returns", "data: a\r\rdata: b\r\r", []frame{{Data: "a"}, {Data: "b"}}},
		{"both", "event: e\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []frame{{Name: "e", Data: "a"}, {Data: "b"}}},
		{"mark", "\ufeffdata: a\n\n", []frame{{Data: "a"}}},
		{"comments", ": ping\n\n:\ndata: a\n: b\n\n", []frame{{Data: "a"}}},
		{"ids stay", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\nid: x\x00\ndata: d\n\n", []frame{{ID: "1", Data: "a"}, {ID: "1", Data: "b"}, {Data: "c"}, {Data: "d"}}},
		{"an id alone", "id: 5\n\ndata: a\n\n", []frame{{ID: "5", Data: "a"}}},
		{"names do not stay", "event: a\n\ndata: b\n\n", []frame{{Data: "b"}}},
		{"unknown fields", "retry: 5\nwhat: x\nnothing\ndata: a\n\n", []frame{{Data: "a"}}},
		{"empty data", "data\n\ndata:\n\n", []frame{{}, {}}},
		{"no empty line at the end", "data: a\n", []frame{{Data: "a"}}},
		{"cut off", "data: a\n\ndata: {\"x\":", []frame{{Data: "a"}}},
		{"cut off in the second line", "data: a\ndata: b", nil},
		{"nothing", "", nil},
	} {
		for how, reader := range map[string]io.Reader{
			"": strings.NewReader(tt.stream), ", byte by byte": iotest.OneByteReader(strings.NewReader(tt.stream)), ", data with the end": iotest.DataErrReader(strings.NewReader(tt.stream)),
		} {
			got, err := frames(reader)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%s%s: %v\n%s", tt.name, how, err, diff)
			}
		}
	}
}

// What arrived before a connection broke is delivered, then the error.
func TestReadSSEBroken(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	got, err := frames(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]frame{{Data: "a"}}, got); diff != "" {
		t.Error(diff)
	}
}

// A reader that stops early is not read on.
func TestReadSSEStops(t *testing.T) {
	t.Parallel()
	for range ReadSSE(strings.NewReader("data: a\n\ndata: b\n\n")) {
		break
	}
}
