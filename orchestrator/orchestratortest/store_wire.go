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
	want.ID = got.ID
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
