package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

func openPushes(t *testing.T, db *DB) (uids []string, all []*Push) {
	t.Helper()
	for p, err := range db.OpenPushes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		uids, all = append(uids, p.UID), append(all, p)
	}
	return uids, all
}

// TestPush: webhooks are kept over a restart with how far they have come, a second one of the same id takes the place of
// the first, and there are never more than there may be.
func TestPush(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	db, err := Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func(uid, task, id string, most int) error {
		return db.PutPush(ctx, &Push{
			PushMove: PushMove{UID: uid, Seq: 3}, Scope: "agent", Principal: "p", Task: task, ID: id, Body: []byte(uid),
			Created: time.UnixMilli(1000),
		}, most)
	}
	for i := range 3 {
		if err := put(fmt.Sprint("u", i), "t", fmt.Sprint(i), 3); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("u3", "t", "3", 3); !errors.Is(err, ErrTooMany) {
		t.Errorf("the fourth of three: %v", err)
	}
	if err := put("u4", "t", "1", 3); err != nil {
		t.Errorf("in place of another: %v", err)
	}
	if err := put("u5", "other", "1", 3); err != nil {
		t.Errorf("of another task: %v", err)
	}
	next := time.UnixMilli(5000).UTC()
	if err := db.MovePushes(ctx, []PushMove{
		{UID: "u0", Seq: 9, State: PushDone},
		{UID: "u1", Seq: 9}, // has been replaced
		{UID: "u2", Seq: 7, Attempts: 2, Next: next, Status: 500, Error: "e"},
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	db = open(t, dir, nil)
	uids, all := openPushes(t, db)
	if want := []string{"u2", "u4", "u5"}; !slices.Equal(uids, want) {
		t.Fatalf("open: %v, want %v", uids, want)
	}
	want := Push{
		PushMove: PushMove{UID: "u2", Seq: 7, Attempts: 2, Next: next, Status: 500, Error: "e"},
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

// TestOpenPushesInPages: all are yielded, also where a page is just full.
func TestOpenPushesInPages(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir(), nil)
	for _, n := range []int{pushPage - 1, pushPage, pushPage + 1} {
		for have, _ := openPushes(t, db); len(have) < n; have = append(have, "") {
			uid := fmt.Sprintf("u%04d", len(have))
			if err := db.PutPush(t.Context(), &Push{PushMove: PushMove{UID: uid}, Task: uid, Body: []byte("b")}, 1); err != nil {
				t.Fatal(err)
			}
		}
		if uids, _ := openPushes(t, db); len(uids) != n || !slices.IsSorted(uids) {
			t.Errorf("%d of %d", len(uids), n)
		}
	}
}

// TestErasePush: the webhooks of a run go with it.
func TestErasePush(t *testing.T) {
	t.Parallel()
	db, ctx := open(t, t.TempDir(), nil), t.Context()
	if err := db.Write(ctx, &orchestrator.Batch{
		Conversations: []*orchestrator.Conversation{{ID: "c"}},
		Runs:          []*orchestrator.Run{{ID: "r", Scope: "agent", ConversationID: "c", State: a2a.TaskStateWorking}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"r", "other"} {
		if err := db.PutPush(ctx, &Push{PushMove: PushMove{UID: "of " + task}, Task: task, Body: []byte("b")}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Erase(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if uids, _ := openPushes(t, db); !slices.Equal(uids, []string{"of other"}) {
		t.Errorf("left: %v", uids)
	}
}
