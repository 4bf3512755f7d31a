package sqlite

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/orchestrator"
)

// files returns the files of the blob store.
func files(t *testing.T, db *DB) (all []string) {
	t.Helper()
	err := filepath.WalkDir(db.blobs.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func blobOf(n int, run, conversation string) *orchestrator.Batch {
	return &orchestrator.Batch{
		Conversations: []*orchestrator.Conversation{{ID: conversation, Title: conversation}},
		Events: []orchestrator.NewEvent{{
			RunID: run, ConversationID: conversation, Kind: orchestrator.EventFault, JSON: []byte(`"` + strings.Repeat("x", n-2) + `"`),
		}},
	}
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir(), nil)
	for i, want := range []int{0, 0, 1} {
		write(t, db, blobOf(orchestrator.BlobSize-1+i, "r", "c"))
		if got := files(t, db); len(got) != want {
			t.Errorf("%d files after a body of BlobSize%+d, want %d", len(got), i-1, want)
		}
	}
	write(t, db, blobOf(orchestrator.BlobSize+1, "q", "d"))
	got := files(t, db)
	if len(got) != 1 {
		t.Fatalf("the same body has %d files", len(got))
	}
	if info, err := os.Stat(got[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := db.Erase(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if got := files(t, db); len(got) != 1 {
		t.Error("a blob that is still named was removed")
	}
	// A batch that is not committed yet holds its blob.
	h, err := db.blobs.put([]byte(blobOf(orchestrator.BlobSize+1, "", "").Events[0].JSON))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Erase(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	if got := files(t, db); len(got) != 1 {
		t.Error("a blob that is held was removed")
	}
	db.blobs.release(h)

	// What a crash leaves behind goes with time.
	part := filepath.Join(db.blobs.dir, "part-1")
	if err := os.WriteFile(part, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, db, blobOf(orchestrator.BlobSize+2, "r", "c"))
	if _, err := db.Expire(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := files(t, db); len(got) != 3 {
		t.Errorf("young files were swept away: %v", got)
	}
	if _, err := db.Expire(t.Context(), time.Now().Add(2*orphanAge)); err != nil {
		t.Fatal(err)
	}
	if got := files(t, db); len(got) != 1 || count(t, db, "r") != 1 {
		t.Errorf("after the sweep: %v", got)
	}

	// A blob that is not what it was is an error, not an event.
	if err := os.WriteFile(files(t, db)[0], bytes.Repeat([]byte("y"), orchestrator.BlobSize+2), 0o600); err != nil {
		t.Fatal(err)
	}
	var failed error
	for _, failed = range db.ReadRun(t.Context(), "r", 0) {
	}
	if failed == nil || !strings.Contains(failed.Error(), "damaged") {
		t.Errorf("a changed blob was read: %v", failed)
	}
}

// TestEraseLeavesNothing: what was erased is in no file of the store.
func TestEraseLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, dir, nil)
	const canary = "xylophonecanary"
	b := blobOf(orchestrator.BlobSize+1, "r", "c")
	b.Events = append(b.Events, orchestrator.NewEvent{RunID: "r", ConversationID: "c", Kind: orchestrator.EventFault, JSON: []byte(`"` + canary + `"`)})
	b.Events[0].JSON = []byte(`"` + canary + strings.Repeat("x", orchestrator.BlobSize) + `"`)
	b.Conversations[0].LastText = canary
	b.Runs = []*orchestrator.Run{{ID: "r", ConversationID: "c", Engine: []byte(`"` + canary + `"`)}}
	b.Items = []*orchestrator.Item{{ConversationID: "c", RunID: "r", Text: canary}}
	write(t, db, b)
	db.RecordWire(&orchestrator.WireRecord{RunID: "r", Request: []byte(canary)})
	eventually(t, "the wire record", func() bool {
		all, err := db.WireRecords(t.Context(), orchestrator.WireQuery{})
		return err == nil && len(all) == 1
	})
	found := func() (in []string) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == ballastName {
				return err
			}
			b, err := os.ReadFile(path)
			if bytes.Contains(b, []byte(canary)) {
				in = append(in, d.Name())
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return in
	}
	if len(found()) == 0 {
		t.Fatal("the text is in no file before it is erased")
	}
	if err := db.Erase(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	// The index of search lets go of it while the writer rests.
	eventually(t, "the index is tidy", func() (tidy bool) {
		onWriter(t, db, func(*conn) error {
			tidy = db.writer.index == tidied
			return nil
		})
		return tidy
	})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if in := found(); len(in) > 0 {
		t.Errorf("the text is still in %v", in)
	}
}
