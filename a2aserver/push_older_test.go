package a2aserver_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aserver"
)

// toldTask is what of a bare task these tests look at.
type toldTask struct {
	Kind, ID, TaskID, ContextID, SessionID string
	Status                                 struct{ State string }
	Artifacts                              []struct {
		ArtifactID string
		Index      *int
		Parts      []struct{ Kind, Type, Text string }
	}
}

func tasksOf(t *testing.T, posts []told) (states string, all []toldTask) {
	t.Helper()
	for _, p := range posts {
		var v toldTask
		if err := json.Unmarshal(p.body, &v); err != nil {
			t.Fatalf("%s: %v", p.body, err)
		}
		all = append(all, v)
		states += v.Status.State + " "
	}
	return strings.TrimSpace(states), all
}

// pieces works in steps: two artifacts, in pieces, and a word between.
func pieces(_ context.Context, _ *a2aserver.Turn, yield func(a2a.Event) bool) error {
	part := func(id, text string, more bool) *a2a.ArtifactUpdate {
		return &a2a.ArtifactUpdate{Append: more, Artifact: a2a.Artifact{ID: id, Parts: []a2a.Part{a2a.TextPart(text)}}}
	}
	for _, e := range []a2a.Event{
		status(a2a.TaskStateWorking), part("z", "one", false), part("a", "two", false), part("z", "three", true),
		says(a2a.TaskStateWorking, "nearly"), part("a", "four", true),
	} {
		if !yield(e) {
			return nil
		}
	}
	return nil
}

// TestCheck19OlderDelivery: a webhook of an older client gets the bare task as it stands at each change of its state, in
// its dialect: v0.3 with kind, v0.1 with the client's own id, its numbers of artifacts and a taskId; also after a crash,
// when the task is read again.
func TestCheck19OlderDelivery(t *testing.T) {
	t.Parallel()
	for _, d := range []wire.Dialect{wire.MID, wire.PROTO, wire.OLD} {
		t.Run(map[wire.Dialect]string{wire.MID: "v0.3", wire.PROTO: "v0.3 REST", wire.OLD: "v0.1"}[d], func(t *testing.T) {
			t.Parallel()
			var p *pusher
			h := newHook(t, nil)
			p = newPusher(t, execFunc(pieces), nil)
			r := to(h.URL)
			r.Dialect, r.Config.Token = d, "tok"
			if d == wire.OLD {
				r.ClientTaskID = "theirs"
			}
			task := p.begin("go", r)
			p.events(task)
			eventually(t, "the registration to be done", func() bool { return p.row(task).State == a2aserver.PushDone })
			posts := h.all()
			states, all := tasksOf(t, posts)
			want(t, "states", states, "submitted working working completed")
			last := all[len(all)-1]
			id := task
			switch d {
			case wire.OLD:
				id = "theirs"
				want(t, "taskId", last.TaskID, id)
				want(t, "Authorization", posts[0].header.Get("Authorization"), "Bearer tok")
			default:
				want(t, "kind", last.Kind, "task")
				want(t, "Authorization", posts[0].header.Get("Authorization"), "")
			}
			want(t, "id", last.ID, id)
			want(t, "token", posts[0].header.Get("X-A2A-Notification-Token"), "tok")
			want(t, "the token's other name", posts[0].header.Get("A2A-Notification-Token"), "")
			texts := func(task toldTask) (out []string) {
				for i, a := range task.Artifacts {
					s := ""
					for _, p := range a.Parts {
						s += p.Text
					}
					out = append(out, s)
					if d == wire.OLD {
						want(t, "index", *a.Index, i)
					}
				}
				return out
			}
			if got := texts(all[2]); !slices.Equal(got, []string{"onethree", "two"}) {
				t.Errorf("artifacts at the third post: %q", got)
			}
			if got := texts(last); !slices.Equal(got, []string{"onethree", "twofour"}) {
				t.Errorf("artifacts at the last post: %q", got)
			}
		})
	}
}

// TestCheck19OlderMessage: where the answer is a message there is no task; a webhook of v0.1 gets one that has ended.
func TestCheck19OlderMessage(t *testing.T) {
	t.Parallel()
	for d, want := range map[wire.Dialect]string{
		wire.NEW: `"message":`, wire.MID: `"kind":"message"`, wire.OLD: `"taskId":"theirs"`,
	} {
		h := newHook(t, nil)
		p := newPusher(t, execFunc(obey), nil)
		r := to(h.URL)
		if r.Dialect = d; d == wire.OLD {
			r.ClientTaskID = "theirs"
		}
		p.begin("echo hello", r)
		if body := string(h.await(1)[0].body); !strings.Contains(body, want) || !strings.Contains(body, "hello") {
			t.Errorf("%v: %s", d, body)
		}
	}
}

// TestCheck19OlderCrash: what is sent again after a crash is the same, under the same id.
func TestCheck19OlderCrash(t *testing.T) {
	t.Parallel()
	h := newHook(t, nil)
	p := newPusher(t, execFunc(pieces), nil)
	for _, d := range []wire.Dialect{wire.MID, wire.OLD} {
		r := to(h.URL)
		r.Dialect = d
		task := p.begin("go", r)
		p.events(task)
	}
	for i := range 6 {
		h.await(i + 1)
		p.Crash()
		p.start()
	}
	eventually(t, "everything", func() bool { return len(h.accepted()) == 8 && p.Following() == 0 })
	byID := map[string]string{}
	for _, post := range h.all() {
		if was, ok := byID[post.id]; ok && was != string(post.body) {
			t.Errorf("under %s came\n%s\nand\n%s", post.id, was, post.body)
		}
		byID[post.id] = string(post.body)
	}
}
