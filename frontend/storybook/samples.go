package storybook

import (
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

func side() view.Side {
	return view.Side{
		Chat: "c1", Asking: 1,
		Chats: []view.ChatGroup{
			{Name: "Pinned", Chats: []view.ChatLink{{ID: "c1", Title: "Edge log store", State: orchestrator.ConversationAsking}}},
			{Name: "Today", Chats: []view.ChatLink{
				{ID: "c2", Title: "Why does the nightly import stall?", State: orchestrator.ConversationWorking},
				{ID: "c3", Title: "Rename the metrics package"},
			}},
			{Name: "Yesterday", Chats: []view.ChatLink{{ID: "c4", Title: "Compare SSE and gRPC for agents", State: orchestrator.ConversationFailed}}},
		},
		Agents: []view.AgentLink{atlas, quill},
	}
}

var (
	atlas = view.AgentLink{ID: "atlas", Name: "Atlas Research", Flag: view.FlagOf("Atlas Research", 8)}
	quill = view.AgentLink{ID: "quill", Name: "Quill", Flag: view.FlagOf("Quill", 10)}

	speaker = view.Speaker{Name: atlas.Name, Flag: atlas.Flag, Href: "/agents/atlas"}
)

// ctx is in English.
var ctx = context.Background()

func state(s a2a.TaskState) *view.State {
	st := view.TaskState(ctx, s)
	return &st
}

// Samples returns every component in the states worth looking at.
func Samples() []Sample {
	asked := now.Add(-time.Minute)
	return append(slices.Concat(inspectSamples(), keeperSamples(), runSamples()), []Sample{
		{"side", view.SideList(side())},
		{"side-empty", view.SideList(view.Side{})},
		{"demo-offer", view.DemoOffer()},
		{"chat-with", view.ChatWith(view.Tile{Agent: atlas, Text: "Finds sources.", Examples: []view.Example{{To: "atlas", Text: "Compare three stores", Href: "/?to=atlas"}}}, false)},
		{"chat-with-connected", view.ChatWith(view.Tile{Agent: quill, Text: "Keeps notes."}, true)},
		{"said", view.Said(view.Mine{ID: "i1", Text: "Compare three embedded stores.\nOn a real board, please.", At: now, Files: []view.FileTag{{Name: "fleet-profile.csv", Size: "4 KB", Href: "/runs/r1/files/0"}}})},
		{"message", message(view.Block{Kind: view.BlockProse, HTML: "<p>Pebble is <strong>14 times faster</strong> at the same durability.</p>"})},
		{"message-more", view.Article(view.Message{ID: "i3", Speaker: speaker, More: true, At: now, Blocks: []view.Block{{Kind: view.BlockProse, HTML: "<p>It goes on.</p>"}}}, now)},
		{"code", message(view.Block{Kind: view.BlockCode, Lang: "main.go", Detail: "1 KB", HTML: `<span class="k">func</span> <span class="f">main</span>()`, Href: "/runs/r1/artifacts/a/0"})},
		{"json", message(view.Block{Kind: view.BlockJSON, Name: "trip.json", Detail: "JSON, 48 bytes", JSON: tree(), Text: "{}", Href: "/runs/r1/artifacts/a/0"})},
		{"table", message(view.Block{Kind: view.BlockTable, Name: "stores.csv", Detail: "CSV, 2 rows, 90 bytes", Table: &view.Table{
			Head: []string{"Store", "Appends/s"}, Rows: [][]string{{"Pebble", "41,200"}, {"bbolt", "2,900"}}, Numeric: []bool{false, true}, Cut: 3,
		}, Href: "/runs/r1/artifacts/a/0"})},
		{"file", message(view.Block{Kind: view.BlockFile, Name: "report.docx", Detail: "DOCX, 41 KB", Href: "/runs/r1/artifacts/a/0"})},
		{"link", message(view.Block{Kind: view.BlockLink, Name: "chart.png", Detail: "image/png, at files.atlas.example, not fetched", Host: "files.atlas.example", Href: "/runs/r1/artifacts/a/1"})},
		{"pdf", message(view.Block{Kind: view.BlockPDF, Name: "report.pdf", Detail: "PDF, 210 KB", Href: "/runs/r1/artifacts/a/0"})},
		{"gap", message(view.Block{Kind: view.BlockGap, Text: "The connection was lost here. What the agent said meanwhile could not be had again."})},
		{"receipt", message(view.Block{Kind: view.BlockReceipt, Ask: &view.Receipt{State: &view.State{Class: "is-done", Icon: "s-done", Word: "You answered"}, Answer: "Compute Module 4", Prompt: "<p>Which board is closest to the fleet?</p>"}})},
		{"said-no", message(view.Block{Kind: view.BlockState, State: &view.State{Class: "is-stop", Icon: "s-stop", Word: "You said no"}, Took: "after 1:02", Text: "Step publish was declined.", Retry: "/runs/r1/retry"})},
		{"stopped", message(view.Block{Kind: view.BlockState, State: state(a2a.TaskStateCanceled), Took: "after 0:42", Retry: "/runs/r1/retry"})},
		{"queue", view.QueueList([]view.Waiting{{Text: "And then compare the licences", To: "Quill", Href: "/c/c1/queue/m1"}, {Text: "Make a table of it", Href: "/c/c1/queue/m2"}})},
		{"toast", view.ToastBox(&view.Toast{Text: "“Edge log store” is deleted.", Undo: "/c/c1/undelete"})},
		{"pinned", view.PinButton("c1", true)},
		{"options", view.Options([]view.OptionGroup{
			{Name: "Agents", Options: []view.Option{{Name: []orchestrator.Span{{Text: "Atlas "}, {Text: "Res", Mark: true}, {Text: "earch"}}, Flag: &atlas.Flag, Detail: "New chat with this agent", Href: "/?to=atlas", To: "atlas", Insert: "@Atlas Research "}}},
			{Name: "Actions", Options: []view.Option{{Name: []orchestrator.Span{{Text: "Keyboard shortcuts"}}, Icon: "i-key", Press: "keys-open", Kbd: "?"}}},
		})},
		{"options-none", view.Options(nil)},
		{"palette", view.PaletteBox("sample-palette", view.Options([]view.OptionGroup{{Name: "Chats", Options: []view.Option{{Name: []orchestrator.Span{{Text: "Edge log store"}}, Icon: "i-parley", Detail: "Today", Href: "/c/c1"}}}}))},
		{"palette-none", view.PaletteBox("sample-palette-none", view.Options(nil))},
		{"html", message(view.Block{Kind: view.BlockHTML, Name: "report.html", Detail: "HTML, 12 KB", Href: "/runs/r1/artifacts/a/0"})},
		{"fault", view.FaultCard(view.FaultOf(ctx, &orchestrator.Fault{
			Kind: "refused", Where: orchestrator.WhereNetwork, What: "scan.harbor.example refused the connection.", Do: "See whether the agent is running, then try again.", Raw: "dial tcp 192.0.2.7:443: connect: connection refused", Retry: true,
		}, "/runs/r1/retry"))},
		{"running", view.Running(view.OpenRun{ID: "r1", Speaker: speaker, State: view.TaskState(ctx, a2a.TaskStateWorking), Since: now.Add(-42 * time.Second), Body: "<div class=\"prose\"><p>We need an append-only log</p></div>", Note: "<p>Reading the second source</p>"}, now)},
		{"ask-reply", view.AskCard(view.Ask{ID: "a1", Kind: orchestrator.AskInput, Speaker: speaker, Title: "Which board is closest to the fleet?", Prompt: "<p>Two boards are free in the lab.</p>", Opened: asked, Goes: "bench.harbor.example"}, now)},
		{"ask-form", view.AskCard(view.Ask{ID: "a2", Kind: orchestrator.AskInput, Speaker: speaker, Title: "Where should I look?", Form: form(), Opened: asked}, now)},
		{"ask-json", view.AskCard(view.Ask{ID: "a3", Kind: orchestrator.AskInput, Speaker: speaker, Title: "What should it hold?", Form: &view.Form{IsRaw: true, Raw: "{", Schema: "{}"}, Err: "This is not JSON yet.", Opened: asked}, now)},
		{"ask-choice", view.AskCard(view.Ask{ID: "a4", Kind: orchestrator.AskChoice, Speaker: view.Speaker{Name: "Parley", Parley: true}, Title: "Who should do this?", Choices: []orchestrator.Choice{{ID: "atlas", Label: "Atlas Research", Detail: "Finds and cites sources"}, {ID: "quill", Label: "Quill"}}, Opened: asked}, now)},
		{"ask-sign-in", view.AskCard(view.Ask{ID: "a5", Kind: orchestrator.AskSignIn, Speaker: speaker, Title: "Sign in so that Atlas Research can go on", Links: []view.AskLink{{Label: "Open sign-in page", Host: "id.atlas.example", Href: "/asks/a5/links/0"}}, Opened: asked}, now)},
		{"ask-resend", view.AskCard(view.Ask{ID: "a6", Kind: orchestrator.AskResend, Speaker: speaker, Title: "It may have arrived. Send again?", Prompt: "<p>The connection broke before the agent answered.</p>", Opened: asked}, now)},
		{"pulse", view.PulseRow(view.Pulse{RunID: "r1", State: view.TaskState(ctx, a2a.TaskStateWorking), Agent: atlas.Name, Since: now.Add(-3 * time.Minute), Last: now.Add(-2 * time.Second)}, now)},
		{"pulse-steps", view.PulseRow(view.Pulse{RunID: "r5", State: view.TaskState(ctx, a2a.TaskStateWorking), Agent: "Parley", Since: now.Add(-42 * time.Second), Last: now.Add(-time.Second), Steps: []string{"Gather facts", "Gather pictures"}, Panel: "/c/c1?run=r5#run-panel"}, now)},
		{"pulse-ask", view.PulseRow(view.Pulse{RunID: "r2", State: view.TaskState(ctx, a2a.TaskStateInputRequired), Agent: atlas.Name, AskID: "a1", Last: now}, now)},
		{"pulse-stopping", view.PulseRow(view.Pulse{RunID: "r3", State: view.Stopping(ctx), Agent: atlas.Name, Since: now.Add(-time.Second), Last: now, Stopping: true}, now)},
		{"pulse-refused", view.PulseRow(view.Pulse{RunID: "r4", State: view.TaskState(ctx, a2a.TaskStateWorking), Agent: atlas.Name, Since: now, Last: now, Refused: "The task cannot be canceled."}, now)},
		{"composer", view.ComposerBox(view.Composer{Conversation: "c1", To: "atlas", Agents: []view.Addressee{{AgentLink: atlas, Takes: "text/plain"}, {AgentLink: quill}}, MessageID: "m1", MaxFile: 4 << 20})},
	}...)
}

func message(b view.Block) templ.Component {
	return view.Article(view.Message{ID: "i2", Speaker: speaker, At: now, RunID: "r1", Copy: "the text", Blocks: []view.Block{b}}, now)
}

func form() *view.Form {
	return &view.Form{Fields: []view.Field{
		{Name: "d/from", ID: "f1", Label: "From", Kind: view.FieldText, Required: true, Err: "This is needed."},
		{Name: "d/when", ID: "f2", Label: "Leave on", Kind: view.FieldDate, Required: true, Value: "2026-12-01"},
		{Name: "d/seats", ID: "f3", Label: "Seats", Kind: view.FieldNumber, Step: "1", Min: "1", Max: "14", Help: "Between 1 and 14"},
		{Name: "d/class", ID: "f4", Label: "Class", Kind: view.FieldOne, Options: []string{"economy", "business"}, Value: "economy", Required: true},
		{Name: "d/extras", ID: "f5", Label: "Extras", Kind: view.FieldMany, Options: []string{"meal", "bag", "seat"}, Values: []string{"bag"}},
		{Name: "d/flexible", ID: "f6", Label: "Dates may move", Kind: view.FieldBool, Value: "true"},
		{Name: "d/note", ID: "f7", Label: "Anything else", Kind: view.FieldLong},
		{Name: "d/hotel", ID: "f8", Label: "Hotel", Kind: view.FieldGroup, Fields: []view.Field{{Name: "d/hotel/stars", ID: "f9", Label: "Stars", Kind: view.FieldNumber, Step: "1"}}},
	}}
}

func tree() *view.JSONNode {
	return &view.JSONNode{Kind: "object", Text: "2 members", Open: true, Kids: []*view.JSONNode{
		{Key: "to", Keyed: true, Kind: "string", Text: "Bergen <b>"},
		{Key: "legs", Keyed: true, Kind: "array", Text: "2 items", Cut: 1, Kids: []*view.JSONNode{{Key: "0", Keyed: true, Kind: "number", Text: "12.50"}}},
	}}
}
