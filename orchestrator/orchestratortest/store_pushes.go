package orchestratortest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// pushesOf skips the test where the store keeps no webhooks.
func pushesOf(t *testing.T, s orchestrator.Store) orchestrator.Pushes {
	t.Helper()
	p, ok := s.(orchestrator.Pushes)
	if !ok {
		t.Skip("this store keeps no webhooks")
	}
	return p
}

func storeOpenPushes(t *testing.T, db orchestrator.Pushes) (uids []string, all []*orchestrator.StoredPush) {
	t.Helper()
	for p, err := range db.OpenPushes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		uids, all = append(uids, p.UID), append(all, p)
	}
	return uids, all
}

// storePushes: webhooks are kept over a restart with how far they have come, a second one of the same id takes the place of
// the first, and there are never more than there may be.
func storePushes(t *testing.T, open OpenStore) {
	place, ctx := t.TempDir(), t.Context()
	s := openStore(t, open, place)
	db := pushesOf(t, s)
	put := func(uid, task, id string, most int) error {
		return db.PutPush(ctx, &orchestrator.StoredPush{
			PushMove: orchestrator.PushMove{UID: uid, Seq: 3}, Scope: "agent", Principal: "p", Task: task, ID: id, Body: []byte(uid),
			Created: time.UnixMilli(1000),
		}, most)
	}
	for i := range 3 {
		if err := put(fmt.Sprint("u", i), "t", fmt.Sprint(i), 3); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("u3", "t", "3", 3); !errors.Is(err, orchestrator.ErrTooMany) {
		t.Errorf("the fourth of three: %v", err)
	}
	if err := put("u4", "t", "1", 3); err != nil {
		t.Errorf("in place of another: %v", err)
	}
	if err := put("u5", "other", "1", 3); err != nil {
		t.Errorf("of another task: %v", err)
	}
	next := time.UnixMilli(5000).UTC()
	if err := db.MovePushes(ctx, []orchestrator.PushMove{
		{UID: "u0", Seq: 9, State: orchestrator.PushDone},
		{UID: "u1", Seq: 9}, // has been replaced
		{UID: "u2", Seq: 7, Attempts: 2, Next: next, Status: 500, Error: "e"},
	}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)

	s = openStore(t, open, place)
	db = pushesOf(t, s)
	uids, all := storeOpenPushes(t, pushesOf(t, s))
	if want := []string{"u2", "u4", "u5"}; !slices.Equal(uids, want) {
		t.Fatalf("open: %v, want %v", uids, want)
	}
	want := orchestrator.StoredPush{
		PushMove: orchestrator.PushMove{UID: "u2", Seq: 7, Attempts: 2, Next: next, Status: 500, Error: "e"},
		Scope:    "agent", Principal: "p", Task: "t", ID: "2", Body: []byte("u2"), Created: time.UnixMilli(1000).UTC(),
	}
	if got := all[0]; fmt.Sprint(*got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", *got, want)
	}
	if err := db.DeletePush(ctx, "t", "2"); err != nil {
		t.Fatal(err)
	}
	if err := db.DeletePush(ctx, "t", "2"); err != nil {
		t.Errorf("the second time: %v", err)
	}
	if rows, err := db.Pushes(ctx, "t"); err != nil || len(rows) != 2 {
		t.Errorf("%d rows of the task, %v", len(rows), err)
	}
}

// storePushPages: all are yielded, also where a page is just full.
func storePushPages(t *testing.T, open OpenStore) {
	s := newStore(t, open)
	db := pushesOf(t, s)
	for _, n := range []int{255, 256, 257} {
		for have, _ := storeOpenPushes(t, pushesOf(t, s)); len(have) < n; have = append(have, "") {
			uid := fmt.Sprintf("u%04d", len(have))
			if err := db.PutPush(t.Context(), &orchestrator.StoredPush{PushMove: orchestrator.PushMove{UID: uid}, Task: uid, Body: []byte("b")}, 1); err != nil {
				t.Fatal(err)
			}
		}
		if uids, _ := storeOpenPushes(t, pushesOf(t, s)); len(uids) != n || !slices.IsSorted(uids) {
			t.Errorf("%d of %d", len(uids), n)
		}
	}
}

// storeErasePush: the webhooks of a run go with it.
func storeErasePush(t *testing.T, open OpenStore) {
	s, ctx := newStore(t, open), t.Context()
	db := pushesOf(t, s)
	if err := s.Write(ctx, &orchestrator.Batch{
		Conversations: []*orchestrator.Conversation{{ID: "c"}},
		Runs:          []*orchestrator.Run{{ID: "r", Scope: "agent", ConversationID: "c", State: a2a.TaskStateWorking}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"r", "other"} {
		if err := db.PutPush(ctx, &orchestrator.StoredPush{PushMove: orchestrator.PushMove{UID: "of " + task}, Task: task, Body: []byte("b")}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Erase(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if uids, _ := storeOpenPushes(t, pushesOf(t, s)); !slices.Equal(uids, []string{"of other"}) {
		t.Errorf("left: %v", uids)
	}
}
