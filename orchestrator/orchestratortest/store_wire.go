package orchestratortest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/a2a"
	"parley/orchestrator"
)

// storeWireRecords runs where the store is a WireLog too.
func storeWireRecords(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	log, ok := s.(orchestrator.WireLog)
	if !ok {
		t.Skip("this store keeps no wire records")
	}
	records := func(q orchestrator.WireQuery) []*orchestrator.WireRecord {
		t.Helper()
		all, err := log.WireRecords(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	storeWrite(t, s, &orchestrator.Batch{
		Conversations: []*orchestrator.Conversation{{ID: "c"}},
		Runs:          []*orchestrator.Run{{ID: "r", Scope: "agent", ConversationID: "c", State: a2a.TaskStateCompleted}},
		Steps:         []*orchestrator.Step{{ID: "s", RunID: "r", ChildTask: "child"}},
	})
	first := &orchestrator.WireRecord{
		At: storeTime(1), Inbound: true, Peer: "p", RunID: "r", TaskID: "t", Method: "message/send", Dialect: "v0.3",
		URL: "https://example.test/a?x=1", Status: 200, Took: 1500 * time.Microsecond, Header: map[string][]string{"Accept": {"a", "b"}},
		Request: []byte(`{"id":1}`), Response: []byte("not JSON"), Events: [2]int64{3, 4}, Err: "none",
	}
	log.RecordWire(first)
	storeEventually(t, "a record", func() bool { return len(records(orchestrator.WireQuery{})) == 1 })
	got := records(orchestrator.WireQuery{})[0]
	want := *first
	want.ID, want.Sizes = got.ID, [2]int{len(first.Request), len(first.Response)}
	if d := cmp.Diff(&want, got); d != "" || got.ID == 0 {
		t.Errorf("record (-want +got):\n%s", d)
	}

	const secret = "s3cr3t-canary"
	log.RecordWire(&orchestrator.WireRecord{
		At: storeTime(2), Peer: "a", TaskID: "child",
		URL: "https://user:" + secret + "@example.test/?api_key=" + secret + "&q=1",
		Header: map[string][]string{
			"authorization": {"Bearer " + secret}, "Cookie": {"a=" + secret}, "X-Api-Key": {secret}, "X-A2A-Notification-Token": {secret},
			"Content-Type": {"application/json"},
		},
		Request: []byte(`{"a":{"token":"` + secret + `","Password":"` + secret + `","client_secret":["` + secret + `"],"tokens":7,` +
			`"credentials":{"x":"` + secret + `"}},"apiKey":"` + secret + `","n":1.50,"b":["kept"]}`),
		Response: []byte(`{"access_token":"` + secret + `","broken`),
	})
	storeEventually(t, "a second record", func() bool { return len(records(orchestrator.WireQuery{})) == 2 })
	masked := records(orchestrator.WireQuery{TaskID: "child"})
	if len(masked) != 1 {
		t.Fatalf("%d records of the task", len(masked))
	}
	all, err := json.Marshal(masked[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{all, masked[0].Request, masked[0].Response} {
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("a secret was stored: %s", b)
		}
	}
	for _, kept := range []string{`"n":1.50`, `"b":["kept"]`} {
		if !bytes.Contains(masked[0].Request, []byte(kept)) {
			t.Errorf("%s is not in %s", kept, masked[0].Request)
		}
	}
	if got := masked[0].Header["Content-Type"]; len(got) != 1 || got[0] != "application/json" {
		t.Errorf("a plain header became %v", got)
	}

	for i := range 120 {
		log.RecordWire(&orchestrator.WireRecord{At: storeTime(10 + i), Peer: fmt.Sprint("peer", i%2), RunID: "other"})
	}
	storeEventually(t, "the rest", func() bool { return len(records(orchestrator.WireQuery{RunID: "other", Limit: 200})) == 120 })
	for want, q := range map[int]orchestrator.WireQuery{
		1: {RunID: "r"}, 121: {RunID: "r", Calls: []string{"unknown", "other"}, Limit: 200}, 61: {RunID: "r", Calls: []string{"other"}, Before: 62 + got.ID, Limit: 200},
		0: {RunID: "unknown", Calls: []string{"s"}},
	} {
		if n := len(records(q)); n != want {
			t.Errorf("%d records of %s and %q, want %d", n, q.RunID, q.Calls, want)
		}
	}
	page := records(orchestrator.WireQuery{Peer: "peer1"})
	if len(page) != 50 {
		t.Fatalf("%d records without a limit, want 50", len(page))
	}
	next := records(orchestrator.WireQuery{Peer: "peer1", Before: page[49].ID})
	if len(next) != 10 || next[0].ID >= page[49].ID || next[0].Peer != "peer1" {
		t.Errorf("the next page has %d records", len(next))
	}

	if err := s.Erase(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if left := records(orchestrator.WireQuery{Limit: 200}); len(left) != 120 {
		t.Errorf("%d records after the erase, want 120", len(left))
	}
	if _, err := s.Expire(t.Context(), storeTime(69).AddDate(0, 0, 7)); err != nil {
		t.Fatal(err)
	}
	if left := records(orchestrator.WireQuery{Limit: 200}); len(left) != 61 {
		t.Errorf("%d records after seven days, want 61", len(left))
	}
}

// storeWireQueries holds what the inspector asks for.
func storeWireQueries(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	log, ok := s.(orchestrator.WireLog)
	if !ok {
		t.Skip("this store keeps no wire records")
	}
	if id, stored, most, err := log.WireHead(t.Context()); id != 0 || stored != 0 || most <= 0 || err != nil {
		t.Errorf("the head of nothing is %d, %d of %d bytes, %v", id, stored, most, err)
	}
	for i, r := range []orchestrator.WireRecord{
		{Peer: "atlas", Method: "SendMessage", Status: 200, Request: []byte(`{"a":"100%_x"}`), Response: []byte(`{"b":"Bergen"}`)},
		{Peer: "atlas", Method: "GetTask", Status: 500, Err: "it broke", Header: map[string][]string{"X-Chosen": {"s3cr3t-canary"}}},
		{Peer: "tok", Method: "SendMessage", Status: 200, Inbound: true, URL: "/rpc"},
		{Peer: "tok", Method: orchestrator.WirePushMethod, Status: 204},
		{Peer: "atlas", Method: orchestrator.WirePushMethod, Status: 404, Inbound: true, Err: orchestrator.WireRefused}, // no failure
		{Peer: "atlas", Method: "SendMessage", Status: 0},
	} {
		r.At = storeTime(i)
		log.RecordWire(&r)
	}
	var first int64
	records := func(q orchestrator.WireQuery) string {
		t.Helper()
		all, err := log.WireRecords(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, r := range all {
			out += fmt.Sprint(r.ID - first)
		}
		return out
	}
	storeEventually(t, "six records", func() bool { return len(records(orchestrator.WireQuery{})) >= 6 })
	all, err := log.WireRecords(t.Context(), orchestrator.WireQuery{})
	if err != nil || len(all) != 6 {
		t.Fatal(len(all), err)
	}
	first = all[5].ID
	for _, tt := range []struct {
		want string
		q    orchestrator.WireQuery
	}{
		{"543210", orchestrator.WireQuery{}},
		{"520", orchestrator.WireQuery{Method: "SendMessage"}},
		{"5310", orchestrator.WireQuery{Way: orchestrator.WireOut}},
		{"42", orchestrator.WireQuery{Way: orchestrator.WireIn}},
		{"43", orchestrator.WireQuery{Way: orchestrator.WirePush}},
		{"51", orchestrator.WireQuery{Failed: true}},
		{"0", orchestrator.WireQuery{Text: "bergen"}},
		{"0", orchestrator.WireQuery{Text: "100%_x"}},
		{"", orchestrator.WireQuery{Text: "100%%x"}},
		{"1", orchestrator.WireQuery{Text: "broke"}},
		{"2", orchestrator.WireQuery{Text: "/rpc", Peer: "tok"}},
		{"10", orchestrator.WireQuery{Peer: "atlas", Before: first + 4}},
	} {
		if got := records(tt.q); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.q, got, tt.want)
		}
	}
	bare, err := log.WireRecords(t.Context(), orchestrator.WireQuery{Bare: true, Text: "bergen"})
	if err != nil || len(bare) != 1 || bare[0].Request != nil || bare[0].Response != nil || bare[0].Sizes != [2]int{14, 14} {
		t.Errorf("bare: %+v, %v", bare, err)
	}
	one, err := log.WireRecord(t.Context(), first+1)
	if err != nil || one.Err != "it broke" {
		t.Errorf("one record: %+v, %v", one, err)
	} else if v := one.Header["X-Chosen"]; len(v) != 1 || v[0] == "s3cr3t-canary" {
		t.Errorf("a header of a name that a person chose was stored as %q", v)
	}
	_, err = log.WireRecord(t.Context(), first+100)
	storeNotFound(t, "WireRecord", err)
	if id, stored, most, err := log.WireHead(t.Context()); id != first+5 || stored <= 0 || stored > most || err != nil {
		t.Errorf("the head is %d, %d of %d bytes, %v", id, stored, most, err)
	}
	peers, methods, err := log.WireNames(t.Context())
	if fmt.Sprint(peers, methods) != "[atlas tok] [GetTask SendMessage push]" || err != nil {
		t.Errorf("names: %v %v, %v", peers, methods, err)
	}
}
