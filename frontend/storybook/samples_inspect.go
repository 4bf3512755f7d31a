package storybook

import (
	"time"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// inspectSamples are the parts of the inbox, of the tasks and of the wire.
func inspectSamples() []Sample {
	asked := now.Add(-26 * time.Minute)
	caller := view.Speaker{Name: "Kestrel CRM", Flag: view.FlagOf("Kestrel CRM", 4), Href: "/tasks?caller=k"}
	answered := view.AskState(ctx, orchestrator.AskAnswered)
	ask := view.AskDetail{
		ID: "a1", Title: "Which board is closest to the fleet?", Speaker: speaker, AgentID: "atlas", Chat: "Edge log store", ChatHref: "/c/c1", RunID: "r1",
		Step: 2, Attempt: 2, Open: true, CanMute: true, Said: "<p>Builds are ready for all three stores.</p>",
		Card: view.Ask{ID: "a1", Kind: orchestrator.AskInput, Speaker: speaker, Through: "Quill", Title: "Which board is closest to the fleet?", Named: "inbox-h", Prompt: "<p>Two boards are free in the lab.</p>", Opened: asked, Goes: "bench.harbor.example"},
	}
	closed := ask
	closed.Open, closed.Closed, closed.Muted, closed.Receipt = false, now, true, &view.Receipt{State: &answered, Answer: "Compute Module 4", Prompt: ask.Card.Prompt}
	row := view.TaskRow{
		ID: "r1", State: view.TaskState(ctx, a2a.TaskStateInputRequired), Title: "Run benchmarks", Agent: speaker, Chat: "Edge log store", ChatHref: "/c/c1",
		Caller: view.Speaker{Name: "You", Parley: true}, Started: asked, Updated: now, Open: true, Href: "/tasks/r1",
	}
	outside := row
	outside.ID, outside.State, outside.Title, outside.Open, outside.Inbound = "r2", view.TaskState(ctx, a2a.TaskStateFailed), "Check licences", false, true
	outside.Chat, outside.ChatHref, outside.Caller = "", "", caller
	task := view.TaskDetail{
		TaskRow: row, Context: "ctx-edge-log", RunID: "r1", Before: 3,
		Steps:   []view.TaskStep{{Speaker: speaker, State: "asking", Attempt: 2, Task: "c41e7c02", Href: "/tasks/at/atlas/c41e7c02", Wire: "/wire?task=c41e7c02"}, {Speaker: caller, State: "sending"}},
		History: []view.TaskMessage{{Speaker: row.Caller, HTML: "<p>Run benchmarks</p>", Files: []string{"fleet.csv"}}, {Speaker: speaker, HTML: "<p>I can start as soon as I know the board.</p>"}},
		Arts:    []view.TaskArtifact{{Name: "bench-plan.md", Detail: "1 part, 2 KB", Href: "/runs/r1/artifacts/a/0"}, {Name: "raw", Detail: "0 parts, 0 B"}},
		Pushes: []view.TaskPush{
			{ID: "p1", Who: "Kestrel CRM", URL: "https://crm.example/hook?…", State: view.State{Class: "is-wait", Icon: "s-wait", Word: "Waits for the next attempt"}, Detail: "the webhook answered 503 (attempt 2), next at 14:10", TestHref: "/tasks/r1/push/p1/test"},
			{ID: "p2", Ours: true, Who: "Atlas Research", URL: "https://parley.example/hooks/…", State: view.State{Class: "is-done", Icon: "s-done", Word: "Has reported"}, TestHref: "/tasks/r1/push/p2/test"},
		},
	}
	wire := view.WireRow{ID: 12, At: now, Method: "SendStreamingMessage", Speaker: speaker, Task: "c41e7c02-6d0b", Result: "200", Size: 1900, Took: 227 * time.Millisecond, Href: "/wire?id=12"}
	failed := wire
	failed.ID, failed.Inbound, failed.Speaker, failed.Result, failed.Failed, failed.Took = 13, true, caller, "timeout", true, 5*time.Second
	task.Wire = []view.WireRow{failed}
	far := view.TaskDetail{
		TaskRow: view.TaskRow{ID: "far", State: view.TaskState(ctx, a2a.TaskStateWorking), Title: "Task far at Atlas Research", Agent: speaker, Open: true, Started: asked, Updated: now},
		AtAgent: "atlas", CanWatch: true, Note: "As it stood when it was asked for. Subscribe to follow it.",
	}
	record := view.WireDetail{
		Row: wire, Pretty: "/wire?id=12", Raw: "/wire?id=12&show=raw", Headers: "/wire?id=12&show=headers", Close: "/wire", Verb: "POST", URL: "https://atlas.example/a2a",
		Dialect: "v1.0", TaskHref: "/tasks/at/atlas/c41e7c02", RunID: "r1", Chat: "Edge log store", ChatHref: "/c/c1", Streams: true, More: 2,
		Header:  []view.WireHeader{{Name: "A2a-Version", Value: "1.0"}, {Name: "Authorization", Masked: true}},
		Request: view.WireBody{Size: 48, Text: "{}", JSON: named(tree())},
		Frames:  []view.WireFrame{{Name: "TaskStatusUpdate working", At: now, Body: view.WireBody{Size: 212, Text: "{}", JSON: named(tree())}}},
		Curl:    "curl -sSN", CLI: "parley send", Replay: "/wire/12/replay", Edit: "{}",
	}
	raw, headers := record, record
	raw.Show, raw.Response, raw.Err = "raw", view.WireBody{Size: 262144, Text: "not JSON", Cut: true}, "the stream broke"
	headers.Show, headers.Replay = "headers", ""
	return []Sample{
		{"inbox-group", view.InboxGroup("g-c1", "Edge log store", "/c/c1")},
		{"inbox-row", view.InboxRow(view.InboxItem{ID: "a1", Kind: orchestrator.AskInput, Title: ask.Title, Speaker: speaker, At: asked, Href: "/inbox?ask=a1", Current: true})},
		{"inbox-row-sign-in", view.InboxRow(view.InboxItem{ID: "a2", Kind: orchestrator.AskSignIn, Title: "Sign in at id.vault.example", Speaker: speaker, At: asked, Href: "/inbox?ask=a2", Muted: true})},
		{"inbox-row-closed", view.InboxRow(view.InboxItem{ID: "a3", Title: "Which tag is the base?", Speaker: speaker, At: now, State: &answered, Answer: "v0.41.2", Href: "/inbox?ask=a3"})},
		{"inbox-ask", view.InboxAsk(ask, now)},
		{"inbox-ask-closed", view.InboxAsk(closed, now)},
		{"inbox-none", view.InboxNone("")},
		{"inbox-none-answered", view.InboxNone("answered")},
		{"inbox-none-muted", view.InboxNone("muted")},
		{"ask-hints", view.AskHints([]view.AskHint{{ID: "a1", Title: ask.Title, Body: "Atlas Research, in Edge log store"}, {ID: "a2", Title: "Sign in", Body: "Vault", Muted: true}})},
		{"task-head", view.TaskHead(task, now)},
		{"task-head-at", view.TaskHead(far, now)},
		{"task-talk", view.TaskTalk(task)},
		{"task-reports", view.TaskReports(task)},
		{"task-event", view.TaskEventLine(view.TaskEvent{ID: "e1", At: now, Icon: "s-ask", Kind: "is-ask", What: "Asked you", Text: "<p>Which board?</p>"})},
		{"task-line", view.TaskLine(row, now)},
		{"task-line-outside", view.TaskLine(outside, now)},
		{"task-none", view.TaskNone(true)},
		{"task-none-yet", view.TaskNone(false)},
		{"wire-line", view.WireLine(wire)},
		{"wire-line-failed", view.WireLine(failed)},
		{"wire-polls", view.WireMore(view.WirePolls{ID: "wp9", N: 12, Href: "/wire?polls=t1"})},
		{"wire-polls-open", view.WireMore(view.WirePolls{ID: "wp9", Href: "/wire"})},
		{"wire-none", view.WireNone(true)},
		{"wire-none-yet", view.WireNone(false)},
		{"wire-state", view.WireState(18<<20, 256<<20)},
		{"wire-record", view.WirePanel(record)},
		{"wire-record-raw", view.WirePanel(raw)},
		{"wire-record-headers", view.WirePanel(headers)},
	}
}

// named makes the members of a tree's objects shown by their names.
func named(n *view.JSONNode) *view.JSONNode {
	for _, k := range n.Kids {
		k.Named = n.Kind == "object"
		named(k)
	}
	return n
}
