//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/interop/peer"
)

// A round is one client and one agent.
type round struct {
	c peer.Client
	script
	version string // that they speak: 0.1, 0.2, 0.3, 1.0
	doubles bool   // the peer keeps numbers as doubles
	proto   bool   // they speak a2a.v1
	hooks   *hooks // where webhooks go; nil = none are asked for
	hop     bool   // there is a Parley in between: it has task ids of its own, and adds to the metadata
	refused func(context.Context) error
	// oldAgent is set where the agent behind a Parley speaks v0.1, in which a sign-in is something to answer.
	oldAgent bool
	only     []string // the names of the checks to make; nil = all that can be
}

// A script is what makes an agent play its roles. A role without a text is not played.
type script struct {
	Echo, Task, Stream, Ask, Auth, Slow, Fail  string
	Parts, Artifacts, Metadata, Refer, Extends string
	Extended                                   string   // set where there is an extended card
	Answers                                    []string // until Ask is content
	Chunks                                     int      // that Stream makes; 0 = at least five
}

// obey is the script of every agent that obeys the first word.
var obey = script{
	Echo: "echo hello", Task: "task hello", Stream: "stream", Ask: "ask", Auth: "auth", Slow: "slow", Fail: "nonsense",
	Parts: "parts", Artifacts: "artifacts", Metadata: "metadata", Refer: "refer", Extends: "extensions", Extended: "-",
	Answers: []string{"blue"}, Chunks: 20,
}

// A check is one thing that has to work between a client and an agent.
type check struct {
	name  string
	needs string // the text of a role; without it the check is left out
	f     func(*round, context.Context) error
}

const unknown = "0198a000-0000-7000-8000-000000000000"

func checks(r *round) []check {
	all := []check{
		{"card", "-", (*round).card},
		{"send", r.Task, (*round).send},
		{"send in a context", r.Task, (*round).sendInContext},
		{"text of all scripts", r.Task, (*round).scripts},
		{"message reply", r.Echo, (*round).echo},
		{"message reply, streaming", r.Echo, (*round).echoStreaming},
		{"send without waiting", r.Slow, (*round).noWait},
		{"stream", r.Stream, (*round).stream},
		{"get", r.Stream, (*round).get},
		{"history length", r.Ask, (*round).history},
		{"list", r.Task, (*round).list},
		{"cancel", r.Slow, (*round).cancel},
		{"subscribe", r.Stream, (*round).subscribe},
		{"input-required", r.Ask, (*round).ask},
		{"input-required, streaming", r.Ask, (*round).askStreaming},
		{"auth-required", r.Auth, (*round).auth},
		{"failed", r.Fail, (*round).fail},
		{"artifacts", r.Artifacts, (*round).artifacts},
		{"referenceTaskIds", r.Refer, (*round).refer},
		{"message metadata", r.Metadata, (*round).metadata},
		{"extensions", r.Extends, (*round).extensions},
		{"extended card", r.Extended, (*round).extended},
		{"error: get unknown", "-", (*round).getUnknown},
		{"error: cancel unknown", "-", (*round).cancelUnknown},
		{"error: cancel completed", r.Task, (*round).cancelCompleted},
		{"error: send to completed", r.Task, (*round).sendToCompleted},
		{"error: subscribe unknown", "-", (*round).subscribeUnknown},
		{"push: set, get", r.Ask, (*round).pushCRUD},
		{"push: list, delete", r.Ask, (*round).pushList},
		{"push: delivery", r.Ask, (*round).pushDelivery},
	}
	for _, p := range samples {
		all = append(all, check{p.name, r.Parts, func(r *round, ctx context.Context) error { return r.part(ctx, p.part) }})
	}
	if r.refused != nil {
		all = append(all, check{"wrong token", "-", func(r *round, ctx context.Context) error { return r.refused(ctx) }})
	}
	return slices.DeleteFunc(all, func(c check) bool { return c.needs == "" || r.only != nil && !slices.Contains(r.only, c.name) })
}

// run runs every check as a subtest and notes its outcome.
func (r *round) run(t *testing.T, cell cell) {
	for _, c := range checks(r) {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			cell.check = c.name
			note(t, cell, c.f(r, ctx))
		})
	}
}

func (r *round) old() bool { return r.version == "0.1" }

func (r *round) card(ctx context.Context) error {
	card, err := r.c.Card(ctx)
	if err == nil && (card.Name == "" || card.Skills == 0 || !card.Streaming) {
		err = fmt.Errorf("card %+v", card)
	}
	return err
}

func (r *round) send(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	return r.completed(e, "hello")
}

// completed wants a completed task whose answer holds text.
func (r *round) completed(e *peer.Event, text string) error {
	if e.Kind != "task" || e.State != "completed" || !strings.Contains(answer(e), text) || e.Task == "" || e.Context == "" && !r.old() {
		return fmt.Errorf("answered %s; want a completed task that says %q", show(e), text)
	}
	return nil
}

func (r *round) sendInContext(ctx context.Context) error {
	first, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	if first.Context == "" && r.old() {
		return peer.ErrNone
	}
	next, err := r.c.Send(ctx, &peer.Message{Text: r.Task, Context: first.Context})
	if err != nil {
		return err
	}
	if next.Context != first.Context || next.Task == first.Task {
		return fmt.Errorf("context %q became %q, task %q became %q", first.Context, next.Context, first.Task, next.Task)
	}
	return nil
}

func (r *round) scripts(ctx context.Context) error {
	const text = "hello 東京 여행 é 🚢 <b>&amp;</b> \" \\ \u2028"
	e, err := r.c.Send(ctx, &peer.Message{Text: strings.Replace(r.Task, "hello", text, 1)})
	if err != nil {
		return err
	}
	return r.completed(e, text)
}

func (r *round) echo(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Echo})
	if err != nil {
		return err
	}
	if r.old() { // has no such answer: a completed task that says it
		return r.completed(e, "hello")
	}
	if e.Kind != "message" || !strings.Contains(answer(e), "hello") || e.Context == "" {
		return fmt.Errorf("answered %s", show(e))
	}
	return nil
}

func (r *round) echoStreaming(ctx context.Context) error {
	f := newFold()
	if err := f.all(r.c.Stream(ctx, &peer.Message{Text: r.Echo})); err != nil {
		return err
	}
	if !strings.Contains(f.answer(), "hello") || !r.old() && (f.n != 1 || f.first != "message") || r.old() && f.state != "completed" {
		return fmt.Errorf("%s", f)
	}
	return nil
}

func (r *round) noWait(ctx context.Context) error {
	began := time.Now()
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Slow, NoWait: true})
	if err != nil {
		return err
	}
	if e.Kind != "task" || e.State != "submitted" && e.State != "working" || time.Since(began) > 10*time.Second {
		return fmt.Errorf("answered %s after %s", show(e), time.Since(began))
	}
	_, err = r.c.Cancel(ctx, e.Task)
	return err
}

// streamed has the agent stream to the end.
func (r *round) streamed(ctx context.Context) (*fold, error) {
	f := newFold()
	if err := f.all(r.c.Stream(ctx, &peer.Message{Text: r.Stream})); err != nil {
		return f, err
	}
	return f, nil
}

func (r *round) stream(ctx context.Context) error {
	f, err := r.streamed(ctx)
	if err != nil {
		return err
	}
	want := f.answer()
	if r.Chunks > 0 {
		want = ""
		for i := range r.Chunks {
			want += fmt.Sprintf("chunk %d 東;", i)
		}
	}
	if f.first != "task" && !r.old() || f.state != "completed" || f.chunks < max(r.Chunks, 5) || f.answer() != want || want == "" {
		return fmt.Errorf("%s: %q", f, f.answer())
	}
	return nil
}

func (r *round) get(ctx context.Context) error {
	f, err := r.streamed(ctx)
	if err != nil {
		return err
	}
	e, err := r.c.Get(ctx, f.task, nil)
	if err != nil {
		return err
	}
	if e.State != "completed" || answer(e) != f.answer() || e.Context != f.context && !r.old() {
		return fmt.Errorf("got %s; streamed %s", show(e), f)
	}
	return nil
}

// asked brings a task to input-required.
func (r *round) asked(ctx context.Context) (*peer.Event, error) {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Ask})
	if err == nil && (e.State != "input-required" || len(e.Said) == 0) {
		err = fmt.Errorf("answered %s", show(e))
	}
	return e, err
}

func (r *round) history(ctx context.Context) error {
	e, err := r.asked(ctx)
	if err != nil {
		return err
	}
	for i, answer := range r.Answers {
		if e, err = r.c.Send(ctx, &peer.Message{Text: answer, Task: e.Task, Context: e.Context}); err != nil {
			return fmt.Errorf("answer %d: %w", i+1, err)
		}
	}
	zero, one := 0, 1
	for _, length := range []*int{nil, &zero, &one} {
		got, err := r.c.Get(ctx, e.Task, length)
		if err != nil {
			return err
		}
		bad := false
		switch {
		case length == nil: // before v1.0 it is for the agent to say
			bad = r.version == "1.0" && got.History < 2
		case length == &one:
			bad = got.History != 1
		case r.old() || r.version == "1.0": // what 0 means in between, the versions do not say
			bad = got.History != 0
		}
		if bad {
			return fmt.Errorf("asked for %s messages, got %d", must(json.Marshal(length)), got.History)
		}
	}
	return nil
}

func (r *round) list(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	var seen []string
	for token := ""; ; {
		page, next, err := r.c.List(ctx, "", 2, token)
		if err != nil {
			return err
		}
		for _, id := range page {
			if slices.Contains(seen, id) {
				return fmt.Errorf("task %s is listed twice", id)
			}
		}
		if len(page) > 2 {
			return fmt.Errorf("%d tasks on a page of 2", len(page))
		}
		seen = append(seen, page...)
		if slices.Contains(seen, e.Task) { // the newest come first
			return nil
		}
		if token = next; token == "" {
			return fmt.Errorf("task %s is not among %d", e.Task, len(seen))
		}
	}
}

// cancel cancels a task that streams, and wants its stream to end so.
func (r *round) cancel(ctx context.Context) error {
	f := newFold()
	asked := false
	for e, err := range r.c.Stream(ctx, &peer.Message{Text: r.Slow}) {
		if err != nil {
			return err
		}
		if f.add(e); !asked && f.task != "" && f.state == "working" {
			asked = true
			if _, err := r.c.Cancel(ctx, f.task); err != nil {
				return err
			}
		}
	}
	if f.state != "canceled" {
		return fmt.Errorf("asked %t; %s", asked, f)
	}
	return nil
}

// subscribe leaves a stream in the middle and comes back.
func (r *round) subscribe(ctx context.Context) error {
	left := newFold()
	for e, err := range r.c.Stream(ctx, &peer.Message{Text: r.Stream}) {
		if err != nil {
			return err
		}
		if left.add(e); left.chunks == 2 {
			break
		}
	}
	again := newFold()
	if err := again.all(r.c.Subscribe(ctx, left.task)); err != nil {
		return err
	}
	e, err := r.c.Get(ctx, left.task, nil)
	if err != nil {
		return err
	}
	if again.task != left.task || again.state != "completed" || again.answer() == "" || !strings.HasSuffix(answer(e), again.answer()) {
		return fmt.Errorf("left %s; then %s: %q; it became %q", left, again, again.answer(), answer(e))
	}
	return nil
}

func (r *round) ask(ctx context.Context) error {
	e, err := r.asked(ctx)
	if err != nil {
		return err
	}
	id, talk := e.Task, e.Context
	for i, text := range r.Answers {
		if e, err = r.c.Send(ctx, &peer.Message{Text: text, Task: id, Context: talk}); err != nil {
			return fmt.Errorf("answer %d: %w", i+1, err)
		}
		if e.Task != id || e.Context != talk {
			return fmt.Errorf("task %s in %s became %s in %s", id, talk, e.Task, e.Context)
		}
	}
	if e.State != "completed" || len(e.Artifacts) == 0 {
		return fmt.Errorf("answered %s", show(e))
	}
	return nil
}

func (r *round) askStreaming(ctx context.Context) error {
	f := newFold()
	if err := f.all(r.c.Stream(ctx, &peer.Message{Text: r.Ask})); err != nil {
		return err
	}
	id, talk := f.task, f.context
	for i, text := range r.Answers {
		if f.state != "input-required" {
			return fmt.Errorf("before answer %d: %s", i+1, f)
		}
		f.state = ""
		if err := f.all(r.c.Stream(ctx, &peer.Message{Text: text, Task: id, Context: talk})); err != nil {
			return fmt.Errorf("answer %d: %w", i+1, err)
		}
		if f.task != id || f.context != talk {
			return fmt.Errorf("task %s in %s became %s in %s", id, talk, f.task, f.context)
		}
	}
	if f.state != "completed" {
		return fmt.Errorf("%s", f)
	}
	return nil
}

func (r *round) auth(ctx context.Context) error {
	want := "auth-required"
	if r.old() || r.oldAgent {
		want = "input-required"
	}
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Auth})
	if err != nil {
		return err
	}
	if e.State != want || len(e.Said) == 0 {
		return fmt.Errorf("answered %s", show(e))
	}
	if e, err = r.c.Send(ctx, &peer.Message{Text: "signed in", Task: e.Task, Context: e.Context}); err != nil {
		return err
	}
	return r.completed(e, "signed in")
}

func (r *round) fail(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Fail})
	if err == nil && (e.State != "failed" || !strings.Contains(peer.Text(e.Said), "I do not know")) {
		err = fmt.Errorf("answered %s", show(e))
	}
	return err
}

func (r *round) artifacts(ctx context.Context) error {
	f := newFold()
	if err := f.all(r.c.Stream(ctx, &peer.Message{Text: r.Artifacts})); err != nil {
		return err
	}
	e, err := r.c.Get(ctx, f.task, nil)
	if err != nil {
		return err
	}
	const want = "first: one two \nsecond: final\n"
	if streamed, got := named(f.artifacts), named(e.Artifacts); streamed != want || got != want {
		return fmt.Errorf("streamed %q, got %q; want %q", streamed, got, want)
	}
	return nil
}

func named(all []peer.Artifact) string {
	var b strings.Builder
	for _, a := range all {
		fmt.Fprintf(&b, "%s: %s\n", a.Name, peer.Text(a.Parts))
	}
	return b.String()
}

func (r *round) refer(ctx context.Context) error {
	if r.proto {
		return peer.ErrNone // a2a.v1 has no such field
	}
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	next, err := r.c.Send(ctx, &peer.Message{Text: r.Refer, Context: e.Context, References: []string{e.Task}})
	if err != nil {
		return err
	}
	if r.hop {
		e.Task = "-" // as the agent knows it
	}
	return r.completed(next, e.Task)
}

func (r *round) metadata(ctx context.Context) error {
	const meta = `{"urn:test:key":{"list":[1,null,"x"],"deep":{"y":true}}}`
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Metadata, Metadata: json.RawMessage(meta)})
	if err != nil {
		return err
	}
	for _, p := range flat(e) {
		if p.Data != nil && same(without(p.Data, r.hop), []byte(meta)) {
			return nil
		}
	}
	return fmt.Errorf("answered %s", show(e))
}

// without takes out what a Parley in between adds.
func without(data []byte, hop bool) []byte {
	var all map[string]any
	if !hop || json.Unmarshal(data, &all) != nil {
		return data
	}
	for k := range all {
		if strings.HasPrefix(k, "urn:parley:") {
			delete(all, k)
		}
	}
	return must(json.Marshal(all))
}

func (r *round) extensions(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Extends})
	if err != nil {
		return err
	}
	if e.State == "failed" && strings.Contains(peer.Text(e.Said), "I do not know") { // its SDK does not tell an agent
		return peer.ErrNone
	}
	return r.completed(e, peer.Extension)
}

func (r *round) extended(ctx context.Context) error {
	card, err := r.c.Extended(ctx)
	if err == nil && !strings.HasSuffix(card.Name, ", extended") {
		err = fmt.Errorf("card %+v", card)
	}
	return err
}

func (r *round) getUnknown(ctx context.Context) error {
	_, err := r.c.Get(ctx, unknown, nil)
	return wants(err, "task-not-found")
}

func (r *round) cancelUnknown(ctx context.Context) error {
	_, err := r.c.Cancel(ctx, unknown)
	return wants(err, "task-not-found")
}

func (r *round) subscribeUnknown(ctx context.Context) error {
	return wants(newFold().all(r.c.Subscribe(ctx, unknown)), "task-not-found")
}

func (r *round) cancelCompleted(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	_, err = r.c.Cancel(ctx, e.Task)
	return wants(err, "task-not-cancelable")
}

func (r *round) sendToCompleted(ctx context.Context) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Task})
	if err != nil {
		return err
	}
	_, err = r.c.Send(ctx, &peer.Message{Text: r.Task, Task: e.Task, Context: e.Context})
	return wants(err, "unsupported-operation", "invalid-params", "invalid-request")
}

// wants expects an error of one of the kinds.
func wants(err error, kinds ...string) error {
	if errors.Is(err, peer.ErrNone) {
		return err
	}
	if err == nil {
		return fmt.Errorf("no error; want %s", strings.Join(kinds, " or "))
	}
	var f *peer.Failure
	if !errors.As(err, &f) || !slices.Contains(kinds, f.Kind) {
		return fmt.Errorf("%w; want %s", err, strings.Join(kinds, " or "))
	}
	return nil
}

var bytesOfAllKinds = func() []byte {
	all := make([]byte, 3*256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}()

// samples are the parts that have to come back as they were sent.
var samples = []struct {
	name string
	part peer.Part
}{
	{"part: file bytes", peer.Part{Bytes: bytesOfAllKinds, Name: "all bytes.bin", MediaType: "application/octet-stream"}},
	{"part: bytes like base64", peer.Part{Bytes: []byte("aGVsbG8="), Name: "looks-like-base64.txt", MediaType: "text/plain"}},
	{"part: file URL", peer.Part{URL: "https://files.example/a%20b.png?x=1", Name: "b.png", MediaType: "image/png"}},
	{"part: data object", peer.Part{Data: json.RawMessage(`{"n":1.5,"deep":["a",null,true]}`)}},
	{"part: data array", peer.Part{Data: json.RawMessage(`[1,"b",{"c":[2]}]`)}},
	{"part: data scalar", peer.Part{Data: json.RawMessage(`"東京"`)}},
	{"part: data null", peer.Part{Data: json.RawMessage(`null`)}},
	{"part: big integer", peer.Part{Data: json.RawMessage(`{"n":9007199254740993}`)}},
	{"part: metadata", peer.Part{Text: "words", Metadata: json.RawMessage(`{"urn:test:part":{"a":[1,"b"]}}`)}},
}

func (r *round) part(ctx context.Context, want peer.Part) error {
	e, err := r.c.Send(ctx, &peer.Message{Text: r.Parts, Parts: []peer.Part{want}})
	if err != nil {
		return err
	}
	all := flat(e)
	if len(all) != 1 || e.State != "completed" {
		return fmt.Errorf("answered %s", show(e))
	}
	got := all[0]
	if r.version != "1.0" { // there data that is no object travels in one that is marked
		var in struct{ Value json.RawMessage }
		if strings.Contains(string(got.Metadata), `"data_part_compat":true`) && json.Unmarshal(got.Data, &in) == nil {
			got.Data = in.Value
		}
	}
	switch {
	case !bytes.Equal(got.Bytes, want.Bytes) || got.URL != want.URL || got.Text != want.Text:
		return fmt.Errorf("came back as %s", show(got))
	case got.Name != want.Name || got.MediaType != want.MediaType && want.MediaType != "":
		return fmt.Errorf("came back as %q, %q", got.Name, got.MediaType)
	case (got.Data == nil) != (want.Data == nil):
		return fmt.Errorf("came back as %s", show(got))
	case want.Metadata != nil && !same(got.Metadata, want.Metadata):
		return fmt.Errorf("its metadata came back as %s", got.Metadata)
	case want.Data == nil || same(got.Data, want.Data):
		return nil
	case r.doubles && nearly(got.Data, want.Data):
		return peer.ErrNone
	}
	return fmt.Errorf("came back as %s", got.Data)
}

// same tells whether two JSON texts mean the same, numbers to the last digit.
func same(a, b []byte) bool { return reflect.DeepEqual(value(a, true), value(b, true)) }

// nearly is same with numbers as doubles.
func nearly(a, b []byte) bool { return reflect.DeepEqual(value(a, false), value(b, false)) }

func value(b []byte, exact bool) any {
	d := json.NewDecoder(bytes.NewReader(b))
	if exact {
		d.UseNumber()
	}
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	return plain(v)
}

// plain writes whole numbers one way: an SDK may say 1.0 for 1.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(strings.TrimSuffix(v.String(), ".0"))
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

func show(v any) string { return string(must(json.Marshal(v))) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
