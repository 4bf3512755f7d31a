//go:build interop

package interop

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"parley/a2a"
	"parley/interop/peer"
)

// parleyChecks are what a person does with their agents, by the command line of a real `parley serve`.
var parleyChecks = []string{"parley send --file", "parley hears by webhook"}

// TestParley has Parley itself call their agents.
func TestParley(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	start(t, []string{
		filepath.Join(bin, "parley"), "serve", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0", "--grpc", "off", "--data", data,
	}, []string{"PARLEY_A2A_TOKEN=" + token})
	for _, p := range pairings() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			for i, f := range []func(*testing.T, string, pairing) error{sentFile, heardByWebhook} {
				t.Run(parleyChecks[i], func(t *testing.T) {
					note(t, cell{"ours", p.name, p.binding, parleyChecks[i]}, f(t, data, p))
				})
			}
		})
	}
}

// send runs `parley send` and returns the events that it printed.
func send(t *testing.T, data string, args ...string) ([]a2a.Event, error) {
	t.Helper()
	out, err := run(t, append([]string{filepath.Join(bin, "parley"), "--data", data, "send", "--json"}, args...), nil, "")
	if err != nil {
		return nil, err
	}
	var all []a2a.Event
	for line := range strings.Lines(out) {
		var l struct {
			Kind  string
			Event json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return nil, err
		}
		if l.Kind != "event" {
			continue
		}
		e, err := a2a.UnmarshalEvent(l.Event)
		if err != nil {
			return nil, fmt.Errorf("%w in %s", err, line)
		}
		all = append(all, e)
	}
	return all, nil
}

// sentFile sends a file and wants it back as it was.
func sentFile(t *testing.T, data string, p pairing) error {
	path := filepath.Join(t.TempDir(), "all bytes.bin")
	if err := os.WriteFile(path, bytesOfAllKinds, 0o600); err != nil {
		t.Fatal(err)
	}
	events, err := send(t, data, "--to", register(t, data, p.serve(t)), "--file", path, "parts")
	if err != nil {
		return err
	}
	f := newFold()
	for _, e := range events {
		f.add(fromEvent(e))
	}
	parts := flat(&peer.Event{Said: f.said, Artifacts: f.artifacts})
	if f.state != "completed" || len(parts) != 1 || string(parts[0].Bytes) != string(bytesOfAllKinds) {
		return fmt.Errorf("%s: %s", f, show(parts))
	}
	return nil // its name is another check: not every SDK keeps it
}

// heardByWebhook talks to an agent that does not stream. Parley registers a webhook with it; what comes there is taken, and
// the task is read.
func heardByWebhook(t *testing.T, data string, p pairing) error {
	id := register(t, data, p.serve(t, peer.Polled))
	events, err := send(t, data, "--to", id, "stream")
	if err != nil {
		return err
	}
	f := newFold()
	for _, e := range events {
		f.add(fromEvent(e))
	}
	want := ""
	for i := range 20 {
		want += fmt.Sprintf("chunk %d 東;", i)
	}
	if f.state != "completed" || f.answer() != want {
		return fmt.Errorf("%s: %q", f, f.answer())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		taken, refused, err := webhooks(ctx, data, id)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case refused > 0:
			return fmt.Errorf("%d reports were refused", refused)
		case taken > 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the task was read without a report to our webhook")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// webhooks counts what an agent reported, in the record of the wire.
func webhooks(ctx context.Context, data, agent string) (taken, refused int, err error) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(data, "parley.db")+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, `SELECT COALESCE(SUM(status BETWEEN 200 AND 299), 0), COALESCE(SUM(status >= 400), 0)
		FROM wire WHERE inbound AND peer = ? AND method = 'push'`, agent).Scan(&taken, &refused)
	return taken, refused, err
}
