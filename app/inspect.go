package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aserver"
	"parley/app/egress"
	"parley/orchestrator"
)

// inspector is what a person may do who looks at tasks and at the wire.
type inspector struct{ *App }

var _ orchestrator.Inspector = inspector{}

func (i inspector) CancelTask(ctx context.Context, id string) error {
	row, err := i.store.Run(ctx, id)
	if err != nil {
		return err
	}
	if row.Principal == orchestrator.LocalPrincipal {
		return i.driver.Stop(ctx, id)
	}
	agent := ""
	if row.Scope != orchestrator.OwnAgent {
		agent = strings.TrimPrefix(row.Scope, "agents/")
	}
	_, err = i.driver.Tasks(agent).Cancel(ctx, row.Principal, &a2a.CancelRequest{ID: id})
	return err
}

// asked is how many tasks an agent is asked for.
const asked = 50

func (i inspector) TasksAt(ctx context.Context, agent string) ([]a2a.Task, error) {
	g, err := i.remote(ctx, agent)
	if err != nil {
		return nil, err
	}
	page, err := i.caller.List(asLocal(ctx), g, &a2a.ListRequest{PageSize: asked})
	if err != nil {
		return nil, err
	}
	return page.Tasks, nil
}

func (i inspector) TaskAt(ctx context.Context, agent, task string) (*a2a.Task, error) {
	g, err := i.remote(ctx, agent)
	if err != nil {
		return nil, err
	}
	return i.caller.Get(asLocal(ctx), g, &a2a.GetRequest{ID: task})
}

func (i inspector) CancelAt(ctx context.Context, agent, task string) (*a2a.Task, error) {
	g, err := i.remote(ctx, agent)
	if err != nil {
		return nil, err
	}
	return i.caller.Cancel(asLocal(ctx), g, &a2a.CancelRequest{ID: task})
}

func (i inspector) AwaitAt(ctx context.Context, agent, task string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		g, err := i.remote(ctx, agent)
		if err != nil {
			yield(nil, err)
			return
		}
		i.caller.Await(asLocal(ctx), g, task)(yield)
	}
}

func (i inspector) Pushes(ctx context.Context, run string) ([]*orchestrator.Push, error) {
	rows, err := i.push.Of(ctx, run)
	if err != nil {
		return nil, err
	}
	var out []*orchestrator.Push
	for _, r := range rows {
		info := pushInfo(r)
		p := &orchestrator.Push{
			ID: r.UID, Who: r.Principal, Task: r.Config.TaskID, URL: info.URL, State: info.State, Seq: r.Seq,
			Attempts: r.Attempts, Status: r.Status, Error: r.Error, Created: r.Created,
		}
		if info.Next != nil {
			p.Next = *info.Next
		}
		out = append(out, p)
	}
	for _, k := range i.hooks.forRun(run) {
		state := "waiting"
		if k.called.Load() {
			state = "live"
		}
		u := k.url
		if at := strings.LastIndexByte(u, '/'); at > 0 { // what follows is the secret of it
			u = u[:at+1] + "…"
		}
		out = append(out, &orchestrator.Push{ID: k.ID, Ours: true, Who: k.Peer, Task: k.TaskID, URL: u, State: state, Created: k.made})
	}
	return out, nil
}

// forRun returns the webhooks that the agents of a run report to, oldest first.
func (h *hooks) forRun(run string) []*ourHook {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var all []*ourHook
	for _, k := range h.byID {
		if k.run == run {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *ourHook) int { return a.made.Compare(b.made) })
	return all
}

func (i inspector) TestPush(ctx context.Context, run, id string) (int, error) {
	for _, k := range i.hooks.forRun(run) {
		if k.ID == id {
			return i.testHook(ctx, k)
		}
	}
	status, err := i.App.push.Test(ctx, run, id)
	switch {
	case errors.Is(err, a2aserver.ErrNoRegistration):
		return 0, orchestrator.ErrNotFound
	case err != nil:
		return status, &orchestrator.Fault{
			Kind: "push", Where: orchestrator.WhereNetwork, What: "The webhook did not take the test delivery.", Raw: err.Error(),
			Do: "Whoever registered it has to see to it. Parley goes on trying to deliver what it is owed.",
		}
	}
	return status, nil
}

// testHook reports to a webhook of ours as its agent would: at the address that the agent was given. A report is a hint
// and no more, so that this one only has the task looked at.
func (i inspector) testHook(ctx context.Context, k *ourHook) (int, error) {
	ways := &pushWays{egress: i.egress, loopback: true}
	u, err := url.Parse(k.url)
	if err != nil {
		return 0, err
	}
	unreached := func(raw string) error {
		return &orchestrator.Fault{
			Kind: "push", Where: orchestrator.WhereNetwork, What: "The address that the agent was given does not lead here.", Raw: raw,
			Do: "See whether the public address is right and whatever stands in front of Parley lets it through.",
		}
	}
	way, err := ways.target(u)
	if err != nil {
		return 0, unreached(err.Error())
	}
	ctx, done := context.WithTimeout(ctx, 15*time.Second)
	defer done()
	hint, err := json.Marshal(map[string]string{"eventType": "test", "taskId": cmp.Or(k.TaskID, "test")})
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url, bytes.NewReader(hint))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Notification-Token", k.token)
	r.Header.Set("Webhook-Id", "test-"+uuid.NewString())
	resp, err := way.HTTP.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address, which is a secret
		}
		return 0, unreached(err.Error())
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, unreached(resp.Status)
	}
	return resp.StatusCode, nil
}

// Bounds of a replay.
const (
	replayTime  = 30 * time.Second // that a stream is read for
	replayBytes = 256 << 10
)

func (i inspector) Replay(ctx context.Context, r *orchestrator.WireRecord, body []byte) (*orchestrator.WireRecord, error) {
	if err := replayable(r, body); err != nil {
		return nil, err
	}
	g, err := i.remote(ctx, r.Peer)
	if err != nil {
		return nil, err
	}
	origin, err := egress.Origin(r.URL)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(i.grants.of(ctx, g.ID), origin) {
		return nil, &orchestrator.Fault{
			Kind: "not-granted", Where: orchestrator.WhereUs, What: "This agent may not be reached at " + origin + " any more. Nothing was sent.",
			Do: "Connect the agent at that address first, if you trust it.",
		}
	}
	body = renamed(r.Request, body)
	since := time.Now()
	if strings.Contains(r.URL, ".A2AService/") { // a message of gRPC is told to the agent by its client
		if err := i.replayCall(ctx, g, r, body); err != nil {
			return nil, err
		}
		return i.recorded(ctx, g.ID, since)
	}
	method := http.MethodPost
	if verb, _, ok := strings.Cut(r.Method, " "); ok { // HTTP+JSON: the verb and the route
		method = verb
	} else if len(body) == 0 {
		method = http.MethodGet
	}
	ctx, done := context.WithTimeout(asLocal(ctx), replayTime)
	defer done()
	req, err := http.NewRequestWithContext(ctx, method, r.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"A2a-Version", "A2a-Extensions", "X-A2a-Extensions", "Accept", "Content-Type"} {
		if v := r.Header[name]; len(v) > 0 {
			req.Header[name] = v
		}
	}
	if len(body) > 0 && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := i.egress.Client(egress.Policy{
		Agent: g.ID, Credentials: func(ctx context.Context) ([]egress.Bound, error) { return i.caller.creds.of(ctx, g.ID) },
	})
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	x := &orchestrator.WireRecord{
		At: since, Peer: g.ID, TaskID: r.TaskID, Method: r.Method, Dialect: r.Dialect, URL: r.URL, Header: req.Header, Request: body,
	}
	resp, err := client.Do(req)
	if err == nil {
		x.Status = resp.StatusCode
		x.Response, err = io.ReadAll(io.LimitReader(resp.Body, replayBytes))
		resp.Body.Close()
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("the stream went on; Parley read it for 30 seconds")
		}
	}
	x.Took = time.Since(since)
	if err != nil {
		x.Err = err.Error()
	}
	i.store.RecordWire(x)
	return i.recorded(ctx, g.ID, since)
}

// replayable refuses what cannot be sent again.
func replayable(r *orchestrator.WireRecord, body []byte) error {
	f := &orchestrator.Fault{Kind: "no-replay", Where: orchestrator.WhereUs}
	switch {
	case r.Inbound || r.Method == orchestrator.WirePushMethod:
		f.What, f.Do = "Only what Parley sent to an agent can be sent again.", "Choose a request that goes out."
	case bytes.Contains(body, []byte("[masked]")):
		f.What, f.Do = "A secret in this request was masked when it was recorded.", "Write what belongs in place of [masked], then send it."
	case len(body) > 0 && !json.Valid(body):
		f.What, f.Do = "This is not JSON.", "Change it and send it again."
	case strings.HasPrefix(r.Method, "DELETE ") || strings.Contains(r.Method, "/delete") || strings.HasPrefix(r.Method, "Delete"):
		f.What, f.Do = "A request that deletes is not sent again.", "Use the page of its task."
	default:
		return nil
	}
	return f
}

// renamed gives the message of a request a new id, where it still has the recorded one: an agent takes no message twice.
func renamed(recorded, body []byte) []byte {
	id := messageID(recorded)
	if id == "" || messageID(body) != id {
		return body
	}
	old, err := json.Marshal(id)
	if err != nil {
		return body
	}
	return bytes.ReplaceAll(body, old, []byte(`"`+uuid.NewString()+`"`))
}

// messageID is the id of the message in a request, of JSON-RPC or not.
func messageID(body []byte) string {
	type message struct {
		ID string `json:"messageId"`
	}
	var b struct {
		Message message `json:"message"`
		Params  struct {
			Message message `json:"message"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &b) != nil {
		return ""
	}
	if b.Params.Message.ID != "" {
		return b.Params.Message.ID
	}
	return b.Message.ID
}

// replayCall sends what was recorded of a gRPC call once more.
func (i inspector) replayCall(ctx context.Context, g *orchestrator.Agent, r *orchestrator.WireRecord, body []byte) error {
	if r.Method != "SendMessage" && r.Method != "SendStreamingMessage" {
		return &orchestrator.Fault{
			Kind: "no-replay", Where: orchestrator.WhereUs, What: "Over gRPC only messages can be sent again.", Do: "Use the page of the task.",
		}
	}
	call, err := wire.DecodeREST(http.MethodPost, "/message:send", nil, body)
	if err != nil {
		return err
	}
	say := call.Send
	if say == nil {
		return &orchestrator.Fault{Kind: "no-replay", Where: orchestrator.WhereUs, What: "This is no message.", Do: "Change it and send it again."}
	}
	ctx, done := context.WithTimeout(asLocal(ctx), replayTime)
	defer done()
	for _, err := range i.caller.Send(ctx, g, say) {
		if err != nil && ctx.Err() == nil {
			return nil // it is on the record, as what it is
		}
	}
	return nil
}

// recorded waits for the record of a call to an agent that was begun at a time.
func (i inspector) recorded(ctx context.Context, agent string, since time.Time) (*orchestrator.WireRecord, error) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer done()
	for {
		all, err := i.store.WireRecords(ctx, orchestrator.WireQuery{Peer: agent, Way: orchestrator.WireOut, Limit: 5})
		if err != nil {
			return nil, err
		}
		for _, r := range slices.Backward(all) {
			if !r.At.Before(since.Truncate(time.Millisecond)) {
				return r, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, &orchestrator.Fault{
				Kind: "not-recorded", Where: orchestrator.WhereUs, What: "It was sent, and what came of it is not on the record: there was too much to record.",
				Do: "Look at the newest records.",
			}
		case <-time.After(50 * time.Millisecond):
		}
	}
}
