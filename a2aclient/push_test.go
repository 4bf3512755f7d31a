package a2aclient_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// Push configurations are set, read, listed and deleted in the words of every dialect.
func TestCheck21PushConfigs(t *testing.T) {
	t.Parallel()
	auth := &a2a.PushAuthentication{Scheme: "Bearer", Credentials: "secret", MoreSchemes: []string{"Basic"}}
	for version, methods := range map[string]map[string]func(*turn){
		"1.0": {
			"CreateTaskPushNotificationConfig": func(t *turn) {
				t.says(`"taskId":"T"`, `"id":"p"`, `"authentication":{"scheme":"Bearer","credentials":"secret"}`)
				t.result(`{"taskId":"T","id":"p","url":"https://hook.example/","authentication":{"scheme":"Bearer"}}`)
			},
			"GetTaskPushNotificationConfig": func(t *turn) {
				t.says(`"taskId":"T"`, `"id":"p"`)
				t.result(`{"taskId":"T","id":"p","url":"https://hook.example/"}`)
			},
			"ListTaskPushNotificationConfigs": func(t *turn) {
				t.result(`{"configs":[{"taskId":"T","id":"p","url":"https://hook.example/"}],"nextPageToken":""}`)
			},
			"DeleteTaskPushNotificationConfig": func(t *turn) { t.says(`"taskId":"T"`, `"id":"p"`); t.result(`{}`) },
		},
		"0.3": {
			"tasks/pushNotificationConfig/set": func(t *turn) {
				t.says(`"taskId":"T"`, `"id":"p"`, `"schemes":["Bearer","Basic"]`, `"credentials":"secret"`)
				t.result(`{"taskId":"T","pushNotificationConfig":{"id":"p","url":"https://hook.example/"}}`)
			},
			"tasks/pushNotificationConfig/get": func(t *turn) {
				t.says(`"id":"T"`, `"pushNotificationConfigId":"p"`)
				t.result(`{"taskId":"T","pushNotificationConfig":{"id":"p","url":"https://hook.example/"}}`)
			},
			"tasks/pushNotificationConfig/list": func(t *turn) {
				t.result(`[{"taskId":"T","pushNotificationConfig":{"id":"p","url":"https://hook.example/"}}]`)
			},
			"tasks/pushNotificationConfig/delete": func(t *turn) {
				t.says(`"id":"T"`, `"pushNotificationConfigId":"p"`)
				t.body(200, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s}`, t.ID)) // Python leaves out an empty result
			},
		},
	} {
		a := newAgent(t, methods)
		c := a.client(version, nil)
		p, err := c.SetPush(ctx(t), &a2a.PushConfig{TaskID: "T", ID: "p", URL: "https://hook.example/", Authentication: auth})
		if err != nil || p.ID != "p" || p.TaskID != "T" || p.Authentication != nil && p.Authentication.Credentials != "" {
			t.Errorf("%s: set %+v, %v", version, p, err)
		}
		if p, err = c.GetPush(ctx(t), &a2a.PushGetRequest{TaskID: "T", ID: "p"}); err != nil || p.URL != "https://hook.example/" {
			t.Errorf("%s: got %+v, %v", version, p, err)
		}
		if page, err := c.ListPush(ctx(t), &a2a.PushListRequest{TaskID: "T"}); err != nil || len(page.Configs) != 1 || page.Configs[0].ID != "p" {
			t.Errorf("%s: listed %+v, %v", version, page, err)
		}
		if err := c.DeletePush(ctx(t), &a2a.PushDeleteRequest{TaskID: "T", ID: "p"}); err != nil {
			t.Errorf("%s: deleted %v", version, err)
		}
	}
	t.Run("v0.1", func(t *testing.T) {
		t.Parallel()
		has := true
		a := newAgent(t, map[string]func(*turn){
			"tasks/pushNotification/set": func(t *turn) {
				t.says(`"id":"T"`, `"pushNotificationConfig":{"url":"https://hook.example/"`)
				t.result(`{"id":"T","pushNotificationConfig":{"url":"https://hook.example/"}}`)
			},
			"tasks/pushNotification/get": func(t *turn) {
				if !has {
					t.fail(-32001, "Task not found")
					return
				}
				t.result(`{"id":"T","pushNotificationConfig":{"url":"https://hook.example/"}}`)
			},
		})
		c := a.client("0.1", &a2aclient.Options{Override: &a2aclient.Override{Dialect: dialect(wire.OLD)}})
		if p, err := c.SetPush(ctx(t), &a2a.PushConfig{TaskID: "T", ID: "p", URL: "https://hook.example/"}); err != nil || p.URL == "" || p.TaskID != "T" {
			t.Errorf("set %+v, %v", p, err)
		}
		if page, err := c.ListPush(ctx(t), &a2a.PushListRequest{TaskID: "T"}); err != nil || len(page.Configs) != 1 {
			t.Errorf("listed %+v, %v", page, err)
		}
		has = false
		if page, err := c.ListPush(ctx(t), &a2a.PushListRequest{TaskID: "T"}); err != nil || len(page.Configs) != 0 {
			t.Errorf("listed %+v, %v", page, err)
		}
		kindOf(t, c.DeletePush(ctx(t), &a2a.PushDeleteRequest{TaskID: "T", ID: "p"}), card.KindUnsupported)
	})
}

// pushing is the card of an agent that reports by push and does not stream.
func pushing() *a2a.AgentCard {
	return &a2a.AgentCard{Name: "Scripted", Capabilities: a2a.AgentCapabilities{PushNotifications: true}}
}

// webhook is Options.Hook that a test rings itself.
type webhook struct {
	bell  chan struct{}
	tasks []string
	ended atomic.Int32
	none  bool
}

func (h *webhook) hook(_ context.Context, task string) (*a2a.PushConfig, <-chan struct{}, func(), bool) {
	h.tasks = append(h.tasks, task)
	if h.none {
		return nil, nil, nil, false
	}
	return &a2a.PushConfig{ID: "w", URL: "https://hook.example/w", Token: "t"}, h.bell, func() { h.ended.Add(1) }, true
}

// A message takes the webhook along, and the task is looked at when that is called, long before a poll would be due.
func TestPushWakes(t *testing.T) {
	t.Parallel()
	for version, send := range map[string]string{"1.0": "SendMessage", "0.3": "message/send", "0.1": "tasks/send"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			h := &webhook{bell: make(chan struct{}, 1)}
			state := func(id, s string) string {
				if version == "1.0" {
					return fmt.Sprintf(`{"id":%q,"contextId":"C","status":{"state":"TASK_STATE_%s"}}`, id, strings.ToUpper(s))
				}
				return fmt.Sprintf(`{"kind":"task","id":%q,"contextId":"C","status":{"state":%q}}`, id, s)
			}
			var id atomic.Pointer[string]
			get := func(t *turn) {
				s := "working"
				if t.N > 0 {
					s = "completed"
				} else {
					h.bell <- struct{}{} // it moves as soon as it was looked at
				}
				t.result(state(*id.Load(), s))
			}
			a := newAgent(t, map[string]func(*turn){
				send: func(t *turn) {
					t.says(`"url":"https://hook.example/w"`, `"token":"t"`)
					name := "T"
					if version == "0.1" {
						name = t.old().ID
					}
					id.Store(&name)
					s := state(name, "submitted")
					if version == "1.0" {
						s = `{"task":` + s + `}`
					}
					t.result(s)
				},
				"GetTask": get, "tasks/get": get,
			})
			o := &a2aclient.Options{Hook: h.hook, PollMin: time.Millisecond, PollMax: time.Hour}
			if version == "0.1" {
				o.Override = &a2aclient.Override{Dialect: dialect(wire.OLD)}
			}
			got := collect(t, a.clientOf(pushing(), version, o).Stream(ctx(t), hello()))
			if got.err != nil || got.task.Status.State != a2a.TaskStateCompleted {
				t.Errorf("%v", got)
			}
			if len(h.tasks) != 1 || h.tasks[0] != "" || h.ended.Load() != 1 {
				t.Errorf("hooks for %q, %d ended", h.tasks, h.ended.Load())
			}
		})
	}
}

// A task that there is already is reported by a webhook of its own, and looked at once more in case it moved meanwhile.
func TestPushOfAKnownTask(t *testing.T) {
	t.Parallel()
	h := &webhook{bell: make(chan struct{}, 1)}
	var set atomic.Bool
	a := newAgent(t, map[string]func(*turn){
		"CreateTaskPushNotificationConfig": func(t *turn) {
			t.says(`"taskId":"T"`, `"url":"https://hook.example/w"`)
			set.Store(true)
			t.result(`{"taskId":"T","id":"w","url":"https://hook.example/w"}`)
		},
		"GetTask": func(t *turn) {
			switch {
			case !set.Load():
				t.result(bare("SUBMITTED"))
			case t.N == 1:
				h.bell <- struct{}{}
				t.result(bare("WORKING"))
			default:
				t.result(bare("COMPLETED"))
			}
		},
	})
	c := a.clientOf(pushing(), "1.0", &a2aclient.Options{Hook: h.hook, PollMin: time.Millisecond, PollMax: time.Hour})
	collect(t, c.Await(ctx(t), "T")).want(t, "task:submitted, working, completed")
	if len(h.tasks) != 1 || h.tasks[0] != "T" || h.ended.Load() != 1 {
		t.Errorf("hooks for %q, %d ended", h.tasks, h.ended.Load())
	}
}

// A card may promise pushes that the agent then refuses, and a webhook may end: the task is polled.
func TestPushIsOnlyAHint(t *testing.T) {
	t.Parallel()
	get := func(t *turn) {
		if t.N > 1 {
			t.result(bare("COMPLETED"))
			return
		}
		t.result(bare("WORKING"))
	}
	t.Run("refused with the message", func(t *testing.T) {
		t.Parallel()
		h := &webhook{bell: make(chan struct{})}
		a := newAgent(t, map[string]func(*turn){
			"SendMessage": func(t *turn) {
				if strings.Contains(string(t.Params), "hook.example") {
					t.fail(-32003, "Push Notification is not supported")
					return
				}
				t.result(task("SUBMITTED"))
			},
			"GetTask": get,
		})
		c := a.clientOf(pushing(), "1.0", &a2aclient.Options{Hook: h.hook})
		for range 2 {
			if got := collect(t, c.Stream(ctx(t), hello())); got.err != nil || got.task.Status.State != a2a.TaskStateCompleted {
				t.Errorf("%v", got)
			}
		}
		if a.count("SendMessage") != 3 || len(h.tasks) != 1 || h.ended.Load() != 1 {
			t.Errorf("called %s, hooks for %q, %d ended", a.called(), h.tasks, h.ended.Load())
		}
	})
	t.Run("refused for a task", func(t *testing.T) {
		t.Parallel()
		h := &webhook{bell: make(chan struct{})}
		a := newAgent(t, map[string]func(*turn){"GetTask": get})
		c := a.clientOf(pushing(), "1.0", &a2aclient.Options{Hook: h.hook})
		if got := collect(t, c.Await(ctx(t), "T")); got.err != nil || got.task.Status.State != a2a.TaskStateCompleted || h.ended.Load() != 1 {
			t.Errorf("%v, %d ended", got, h.ended.Load())
		}
	})
	t.Run("no address of ours", func(t *testing.T) {
		t.Parallel()
		h := &webhook{none: true}
		a := newAgent(t, map[string]func(*turn){"GetTask": get})
		c := a.clientOf(pushing(), "1.0", &a2aclient.Options{Hook: h.hook})
		if got := collect(t, c.Await(ctx(t), "T")); got.err != nil || a.count("CreateTaskPushNotificationConfig") != 0 {
			t.Errorf("%v after %s", got, a.called())
		}
	})
	t.Run("the webhook ends", func(t *testing.T) {
		t.Parallel()
		h := &webhook{bell: make(chan struct{})}
		close(h.bell)
		a := newAgent(t, map[string]func(*turn){
			"GetTask":                          get,
			"CreateTaskPushNotificationConfig": func(t *turn) { t.result(`{"taskId":"T","id":"w","url":"https://hook.example/w"}`) },
		})
		c := a.clientOf(pushing(), "1.0", &a2aclient.Options{Hook: h.hook, PollMax: 20 * time.Millisecond})
		if got := collect(t, c.Await(ctx(t), "T")); got.err != nil || got.task.Status.State != a2a.TaskStateCompleted || h.ended.Load() != 1 {
			t.Errorf("%v, %d ended", got, h.ended.Load())
		}
	})
	t.Run("an agent that streams needs none", func(t *testing.T) {
		t.Parallel()
		h := &webhook{}
		ac := pushing()
		ac.Capabilities.Streaming = true
		a := newAgent(t, map[string]func(*turn){"SendStreamingMessage": func(t *turn) { t.open(); t.frames(task("COMPLETED")) }})
		collect(t, a.clientOf(ac, "1.0", &a2aclient.Options{Hook: h.hook}).Stream(ctx(t), hello())).want(t, "task:completed")
		if len(h.tasks) != 0 {
			t.Errorf("hooks for %q", h.tasks)
		}
	})
}
