package frontend

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"parley/frontend/view"
	"parley/orchestrator"
)

const (
	wireShown  = 100 // records of a page
	wireFrames = 200 // events of a stream that are shown
	wireExport = 500 // records that are exported
	wireKept   = 256 << 10
	wirePages  = 5 // are read for one page, where most of them are polls
)

var errNoWire = &fail{http.StatusNotFound, &orchestrator.Fault{
	Kind: "no-wire", Where: orchestrator.WhereUs, What: "Nothing is recorded of the wire here.", Do: "Look at the task instead.",
}}

// wireQuery is what an address asks for. What a run with a plan had on the wire, its calls had.
func (s *Site) wireQuery(ctx context.Context, q url.Values) orchestrator.WireQuery {
	w := orchestrator.WireQuery{
		RunID: q.Get("run"), TaskID: q.Get("task"), Peer: q.Get("agent"), Method: q.Get("method"), Text: strings.TrimSpace(q.Get("text")),
		Limit: wireShown,
	}
	switch way := q.Get("way"); way {
	case "failed":
		w.Failed = true
	case "in", "out", "push":
		w.Way = orchestrator.WireWay(way)
	}
	w.Before, _ = strconv.ParseInt(q.Get("before"), 10, 64)
	if w.RunID != "" {
		w.Calls = s.callsOf(ctx, w.RunID, 0)
	}
	return w
}

// callsOf returns the runs that carry out the steps of a run with a plan, those of plans within it too.
func (s *Site) callsOf(ctx context.Context, run string, depth int) []string {
	if s.opts.Planner == nil || depth == planDepth {
		return nil
	}
	p, err := s.opts.Planner.Plan(ctx, run)
	if err != nil {
		return nil // it has none
	}
	var calls []string
	for i := range p.Nodes {
		for _, c := range p.Nodes[i].Calls {
			if calls = append(calls, c.RunID); c.Planned {
				calls = append(calls, s.callsOf(ctx, c.RunID, depth+1)...)
			}
		}
	}
	return calls
}

// wireAddress is the address of a list with some of its parameters changed; "" takes one away.
func wireAddress(q url.Values, changes ...string) string {
	out := url.Values{}
	for _, name := range []string{"way", "agent", "method", "text", "task", "run", "before", "polls", "id", "show"} {
		if v := q.Get(name); v != "" {
			out.Set(name, v)
		}
	}
	for i := 0; i+1 < len(changes); i += 2 {
		out.Del(changes[i])
		if changes[i+1] != "" {
			out.Set(changes[i], changes[i+1])
		}
	}
	if len(out) == 0 {
		return "/wire"
	}
	return "/wire?" + out.Encode()
}

// wireBoard draws the list of exchanges.
func (s *Site) wireBoard(ctx context.Context, _ string, q url.Values) (*board, error) {
	if s.wire == nil {
		return &board{sections: []section{{id: "wire-rows", rows: []row{newRow(ctx, "wire-none", view.WireNone(false))}}}}, nil
	}
	wq := s.wireQuery(ctx, q)
	wq.Bare = true
	head, stored, most, err := s.wire.WireHead(ctx)
	if err != nil {
		return nil, err
	}
	records, full, err := s.wireRecords(ctx, wq)
	if err != nil {
		return nil, err
	}
	b := &board{
		fixed:    []row{newRow(ctx, "wire-state", view.WireState(stored, most))},
		sections: []section{{id: "wire-rows"}}, polled: head,
		poll: func(ctx context.Context) int64 {
			head, _, _, err := s.wire.WireHead(ctx)
			if err != nil {
				return 0
			}
			return head
		},
	}
	names := s.callers(ctx)
	rows := &b.sections[0].rows
	if full {
		b.next = strconv.FormatInt(records[len(records)-1].ID, 10)
	}
	// They are recorded when they are over. A person reads them by when they began.
	slices.SortStableFunc(records, func(a, b *orchestrator.WireRecord) int { return b.At.Compare(a.At) })
	for _, g := range polled(records, wq, q.Get("polls")) {
		for _, r := range g.shown {
			v := s.wireRow(ctx, r, names)
			v.Href = wireAddress(q, "id", strconv.FormatInt(r.ID, 10), "show", "")
			*rows = append(*rows, newRow(ctx, "w"+strconv.FormatInt(r.ID, 10), view.WireLine(v)))
		}
		if g.task == "" {
			continue
		}
		more := view.WirePolls{ID: "wp" + strconv.FormatInt(g.oldest, 10), N: g.more, Href: wireAddress(q, "polls", g.task, "id", "", "show", "")}
		if g.more == 0 {
			more.Href = wireAddress(q, "polls", "", "id", "", "show", "")
		}
		*rows = append(*rows, newRow(ctx, more.ID, view.WireMore(more)))
	}
	if len(*rows) == 0 {
		asked := wireAddress(q, "id", "", "show", "", "polls", "") != "/wire"
		*rows = append(*rows, newRow(ctx, "wire-none", view.WireNone(asked)))
	}
	return b, nil
}

// wireRecords reads a page of records, and more of them where most are polls that are shown as one; full says that there may
// be older ones.
func (s *Site) wireRecords(ctx context.Context, wq orchestrator.WireQuery) (all []*orchestrator.WireRecord, full bool, err error) {
	for range wirePages {
		records, err := s.wire.WireRecords(ctx, wq)
		if err != nil {
			return nil, false, err
		}
		all = append(all, records...)
		if full = len(records) == wireShown; !full {
			break
		}
		lines := 0
		for _, g := range polled(all, wq, "") {
			lines += len(g.shown)
		}
		if 2*lines >= wireShown {
			break
		}
		wq.Before = all[len(all)-1].ID
	}
	return all, full, nil
}

// polls are records that are shown together: one by itself, or the polls of a task that waits, of which one is shown.
type polls struct {
	shown  []*orchestrator.WireRecord
	task   string // whose they are; "" = one record
	more   int    // that are not shown
	oldest int64
}

// polled puts our own questions how a task stands together, as long as nothing else of the task is between them. Where
// somebody looks for certain records nothing is, and those of the task open are all shown.
func polled(records []*orchestrator.WireRecord, wq orchestrator.WireQuery, open string) []*polls {
	var out []*polls
	last := map[string]*polls{} // the group of a task, while only polls of it followed
	for _, r := range records {
		key := r.Peer + "\n" + r.TaskID
		if !isPoll(r) || wq.TaskID != "" || wq.Method != "" || wq.Text != "" || wq.Failed {
			delete(last, key)
			out = append(out, &polls{shown: []*orchestrator.WireRecord{r}})
			continue
		}
		g := last[key]
		if g == nil {
			g = &polls{shown: []*orchestrator.WireRecord{r}}
			last[key] = g
			out = append(out, g)
			continue
		}
		g.task, g.oldest = r.TaskID, r.ID
		if r.TaskID == open {
			g.shown = append(g.shown, r)
		} else {
			g.more++
		}
	}
	return out
}

// isPoll reports whether we asked an agent how a task stands, and were told.
func isPoll(r *orchestrator.WireRecord) bool {
	if r.Inbound || r.TaskID == "" || r.Err != "" || r.Status < 200 || r.Status >= 300 {
		return false
	}
	switch r.Method {
	case "GetTask", "tasks/get", "GET /tasks/{id}":
		return true
	}
	return false
}

// callers are the names of those who call us, by their principal.
func (s *Site) callers(ctx context.Context) map[string]string {
	names := map[string]string{orchestrator.LocalPrincipal: view.T(ctx, "You")}
	if tokens, err := s.store.ListTokens(ctx); err == nil {
		for _, t := range tokens {
			names[t.ID] = cmp.Or(t.Name, t.ID)
		}
	}
	return names
}

// withAgent reports whether an exchange is with an agent; otherwise it is with somebody who calls us.
func withAgent(r *orchestrator.WireRecord) bool {
	return r.Inbound == (r.Method == orchestrator.WirePushMethod)
}

func (s *Site) wireRow(ctx context.Context, r *orchestrator.WireRecord, callers map[string]string) view.WireRow {
	v := view.WireRow{
		ID: r.ID, At: r.At.In(s.now().Location()), Inbound: r.Inbound, Method: r.Method, Task: r.TaskID, Took: r.Took,
		Size: int64(r.Sizes[0] + r.Sizes[1]), Failed: r.Status == 0 || r.Status >= 400 || r.Err != "",
	}
	if withAgent(r) {
		v.Speaker = s.speaker(ctx, r.Peer)
	} else {
		v.Speaker = caller(r.Peer, callers)
	}
	switch {
	case r.Method == orchestrator.WirePushMethod:
		v.Method = "POST webhook"
	case r.Method == "":
		v.Method = pathOf(r.URL)
	}
	if r.Err == orchestrator.WireRefused {
		v.Failed, v.Result = false, view.T(ctx, "refused, as expected")
		return v
	}
	switch {
	case r.Err != "" && r.Status > 0 && r.Status < 400:
		v.Result = view.T(ctx, "error")
	case r.Status != 0:
		v.Result = strconv.Itoa(r.Status)
	case strings.Contains(r.Err, "deadline") || strings.Contains(r.Err, "timeout"):
		v.Result = view.T(ctx, "timeout")
	default:
		v.Result = view.T(ctx, "no answer")
	}
	return v
}

// caller is how somebody who calls us is shown.
func caller(principal string, names map[string]string) view.Speaker {
	name := cmp.Or(names[principal], principal)
	if principal == orchestrator.LocalPrincipal {
		return view.Speaker{Name: name, Parley: true}
	}
	return view.Speaker{Name: name, Flag: view.FlagOf(name, hueOf(principal)), Href: "/tasks?caller=" + url.QueryEscape(principal)}
}

func pathOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Path != "" {
		return u.Path
	}
	return address
}

// wirePage is the page of the inspector.
func (s *Site) wirePage(w http.ResponseWriter, r *http.Request) error {
	ctx, q := r.Context(), r.URL.Query()
	var shown *view.WireDetail
	if id, err := strconv.ParseInt(q.Get("id"), 10, 64); err == nil && s.wire != nil {
		rec, err := s.wire.WireRecord(ctx, id)
		switch {
		case errors.Is(err, orchestrator.ErrNotFound):
		case err != nil:
			return err
		default:
			d, err := s.wireDetail(ctx, rec, q)
			if err != nil {
				return err
			}
			shown = &d
		}
	}
	if scripted(r) { // only what stands beside the list
		if shown == nil {
			return orchestrator.ErrNotFound
		}
		return s.write(w, r, http.StatusOK, view.WirePanel(*shown))
	}
	return s.writeWire(w, r, http.StatusOK, q, shown)
}

func (s *Site) writeWire(w http.ResponseWriter, r *http.Request, status int, q url.Values, shown *view.WireDetail) error {
	ctx := r.Context()
	b, err := s.wireBoard(ctx, "", q)
	if err != nil {
		return err
	}
	v := view.Wire{Reading: s.wire == nil, Rows: b.find("wire-rows"), State: b.find("wire-state"), Shown: shown, Filter: s.wireFilter(ctx, q)}
	if q.Get("before") == "" {
		v.Board = wireAddress(q, "id", "", "show", "")
	} else {
		v.Newest = wireAddress(q, "before", "", "id", "", "show", "")
	}
	if b.next != "" {
		v.Older = wireAddress(q, "before", b.next, "id", "", "show", "")
	}
	_, v.Export, _ = strings.Cut(wireAddress(q, "id", "", "show", ""), "?")
	return s.write(w, r, status, view.WirePage(s.page(r, view.T(ctx, "Wire"), view.Side{Section: "wire"}), v))
}

func (s *Site) wireFilter(ctx context.Context, q url.Values) view.WireFilter {
	f := view.WireFilter{
		Way: q.Get("way"), Agent: q.Get("agent"), Method: q.Get("method"), Text: q.Get("text"), Task: q.Get("task"), Run: q.Get("run"),
	}
	for _, w := range [][2]string{
		{"", view.T(ctx, "All")}, {"out", view.T(ctx, "Out")}, {"in", view.T(ctx, "In")}, {"push", view.T(ctx, "Webhooks")}, {"failed", view.T(ctx, "Errors")},
	} {
		f.Ways = append(f.Ways, view.WireWay{Name: w[1], Href: wireAddress(q, "way", w[0], "before", "", "id", "", "show", ""), Current: f.Way == w[0]})
	}
	if s.wire == nil {
		return f
	}
	peers, methods, err := s.wire.WireNames(ctx)
	if err != nil {
		return f
	}
	callers := s.callers(ctx)
	with := func(list []string, one string) []string {
		if one != "" && !slices.Contains(list, one) {
			return append(list, one)
		}
		return list
	}
	f.Methods = with(methods, f.Method)
	for _, p := range with(peers, f.Agent) {
		name := callers[p]
		if name == "" {
			name = s.people.link(ctx, p).Name
		}
		f.Agents = append(f.Agents, view.AgentLink{ID: p, Name: name})
	}
	clear := func(name, shown string) {
		f.Clear = append(f.Clear, view.WireChip{Name: shown, Href: wireAddress(q, name, "", "before", "", "id", "", "show", "")})
	}
	if f.Task != "" {
		clear("task", view.T(ctx, "task %s", clip(f.Task, 8)))
	}
	if f.Run != "" {
		clear("run", view.T(ctx, "run %s", clip(f.Run, 8)))
	}
	return f
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
