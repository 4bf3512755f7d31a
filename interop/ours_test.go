//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOurClient has our command line call their agents, beside a running server.
func TestOurClient(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	parley := filepath.Join(bin, "parley")
	start(t, []string{parley, "serve", "--ui", "127.0.0.1:0", "--a2a", "127.0.0.1:0", "--data", data}, nil)
	for _, server := range peers() {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			url := start(t, server.serve, nil).ready["a2a"]
			c := &ours{data: data}
			step := func(name string, f func(t *testing.T)) {
				note("our client", server.name, name, t.Run(name, f))
			}

			step("add", func(t *testing.T) {
				out, err := run(t, c.args("agents", "add", "--yes", "--json", url), nil, "")
				if err != nil {
					t.Fatal(err)
				}
				var added []struct{ ID, Name, Speaks string }
				if err := json.Unmarshal([]byte(out), &added); err != nil || len(added) != 1 {
					t.Fatalf("%v in %s", err, out)
				}
				if c.agent = added[0].ID; !strings.Contains(added[0].Speaks, server.version) {
					t.Errorf("it speaks %q; want %s", added[0].Speaks, server.version)
				}
			})
			if c.agent == "" {
				t.FailNow()
			}
			step("message", func(t *testing.T) { c.says(t, "echo hello 東京", "hello 東京", "") })
			step("task", func(t *testing.T) { c.says(t, "task done well", "done well", "") })
			step("stream", func(t *testing.T) {
				var want strings.Builder
				for i := range 20 {
					want.WriteString("chunk " + itoa(i) + " 東;")
				}
				c.says(t, "stream", want.String(), "")
			})
			step("input-required", func(t *testing.T) { c.says(t, "ask", "You said blue", "blue\n") })
			step("files", func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "bytes.bin")
				all := make([]byte, 768)
				for i := range all {
					all[i] = byte(i)
				}
				if err := os.WriteFile(file, all, 0o600); err != nil {
					t.Fatal(err)
				}
				back := c.send(t, "", "files", "--file", file).files
				if len(back) != 1 || !slices.Equal(back[0], all) {
					t.Errorf("%d files came back, not the one that was sent", len(back))
				}
			})
			step("cancel", func(t *testing.T) { c.cancels(t) })
		})
	}
}

func itoa(i int) string { b, _ := json.Marshal(i); return string(b) }

// ours is our command line, with one agent.
type ours struct{ data, agent string }

func (c *ours) args(a ...string) []string {
	return append([]string{filepath.Join(bin, "parley"), "--data", c.data}, a...)
}

// heard is what `send --json` printed, folded.
type heard struct {
	text  string
	state string
	files [][]byte
}

// line is one line of `send --json`.
type line struct {
	Kind  string          `json:"kind"`
	Run   string          `json:"run"`
	State string          `json:"state"`
	Event json.RawMessage `json:"event"`
}

// event is a StreamResponse of v1.0, as far as it matters here.
type event struct {
	Message        *parts
	Task           *struct{ Artifacts []parts }
	ArtifactUpdate *struct{ Artifact parts }
}

type parts struct {
	Parts []struct {
		Text string
		Raw  []byte
	}
}

func (h *heard) add(l *line) error {
	if l.Kind == "end" {
		h.state = l.State
	}
	if len(l.Event) == 0 {
		return nil
	}
	var e event
	if err := json.Unmarshal(l.Event, &e); err != nil {
		return err
	}
	var all []parts
	switch {
	case e.Message != nil:
		all = []parts{*e.Message}
	case e.Task != nil:
		all = e.Task.Artifacts
	case e.ArtifactUpdate != nil:
		all = []parts{e.ArtifactUpdate.Artifact}
	}
	for _, a := range all {
		for _, p := range a.Parts {
			h.text += p.Text
			if p.Raw != nil {
				h.files = append(h.files, p.Raw)
			}
		}
	}
	return nil
}

func (c *ours) send(t *testing.T, stdin, text string, flags ...string) *heard {
	t.Helper()
	out, err := run(t, c.args(append([]string{"send", "--json", "--to", c.agent, text}, flags...)...), nil, stdin)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h := &heard{}
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		var l line
		if err := dec.Decode(&l); err != nil {
			t.Fatal(err)
		}
		if err := h.add(&l); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// says sends text and wants an answer.
func (c *ours) says(t *testing.T, text, want, stdin string) {
	t.Helper()
	h := c.send(t, stdin, text)
	if h.text != want || h.state != "TASK_STATE_COMPLETED" {
		t.Errorf("answer %q in state %q; want %q, completed", h.text, h.state, want)
	}
}

// cancels sends what takes long, cancels the run, and wants it to end canceled.
func (c *ours) cancels(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := c.args("send", "--json", "--to", c.agent, "slow")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // a canceled task is a failure to it
	asked := false
	h := &heard{}
	for dec := json.NewDecoder(out); ; {
		var l line
		if err := dec.Decode(&l); err != nil {
			break
		}
		if err := h.add(&l); err != nil {
			t.Fatal(err)
		}
		if !asked && l.Run != "" {
			asked = true
			if _, err := run(t, c.args("task", "cancel", l.Run), nil, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !asked || h.state != "TASK_STATE_CANCELED" {
		t.Errorf("asked to cancel: %t; ended in state %q", asked, h.state)
	}
}
