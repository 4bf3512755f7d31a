package orchestratortest

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// MemoryStore is a Store in memory, for tests of what stands above a store. It keeps the promises of order and of one
// commit at a time; it does not search, rank or expire as a real one does.
type MemoryStore struct {
	mu            sync.Mutex
	changed       chan struct{} // closed at each commit
	seq           int64
	item          int64
	events        []*orchestrator.Event
	byRun         map[string][]*orchestrator.Event
	agents        map[string]orchestrator.Agent
	conversations map[string]orchestrator.Conversation
	runs          map[string]orchestrator.Run
	steps         map[string][]orchestrator.Step
	contexts      map[[2]string]orchestrator.ChildContext
	asks          map[string]orchestrator.Ask
	items         []*orchestrator.Item
	receipts      map[[3]string]orchestrator.Receipt
	workflows     map[string]orchestrator.Workflow
	settings      map[string]string
	failed        map[string]bool
	fault         error // of every write, while set
}

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore {
	return &MemoryStore{
		changed: make(chan struct{}), byRun: map[string][]*orchestrator.Event{}, agents: map[string]orchestrator.Agent{},
		conversations: map[string]orchestrator.Conversation{}, runs: map[string]orchestrator.Run{},
		steps: map[string][]orchestrator.Step{}, contexts: map[[2]string]orchestrator.ChildContext{},
		asks: map[string]orchestrator.Ask{}, receipts: map[[3]string]orchestrator.Receipt{},
		workflows: map[string]orchestrator.Workflow{}, settings: map[string]string{}, failed: map[string]bool{},
	}
}

var _ orchestrator.Store = (*MemoryStore)(nil)

// Fail makes every write fail with err, until it is nil again.
func (m *MemoryStore) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = err
}

func (m *MemoryStore) Healthy() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fault
}

func (m *MemoryStore) Write(_ context.Context, b *orchestrator.Batch) error {
	_, err := m.commit(b, true)
	return err
}

func (m *MemoryStore) Enqueue(b *orchestrator.Batch, done func([]*a2a.Entry, error)) {
	entries, err := m.commit(b, false)
	if done != nil {
		done(entries, err)
	}
}

func (m *MemoryStore) commit(b *orchestrator.Batch, waited bool) ([]*a2a.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.fault
	for _, e := range b.Events {
		if m.failed[e.RunID] && !waited && err == nil {
			err = errAfterFailure
		}
	}
	if r := b.Receipt; r != nil && err == nil {
		key := [3]string{r.Scope, r.Principal, r.MessageID}
		if _, ok := m.receipts[key]; ok {
			return nil, orchestrator.ErrDuplicate
		}
		m.receipts[key] = *r
	}
	for _, e := range b.Events {
		m.failed[e.RunID] = err != nil
	}
	if err != nil {
		return nil, err
	}
	var entries []*a2a.Entry
	for _, n := range b.Events {
		m.seq++
		e := &orchestrator.Event{
			Entry: a2a.NewEntry(m.seq, n.At, bytes.Clone(n.JSON), n.Event),
			RunID: n.RunID, ConversationID: n.ConversationID, Kind: n.Kind,
		}
		m.events = append(m.events, e)
		m.byRun[n.RunID] = append(m.byRun[n.RunID], e)
		entries = append(entries, e.Entry)
	}
	m.put(b)
	close(m.changed)
	m.changed = make(chan struct{})
	return entries, nil
}

func (m *MemoryStore) put(b *orchestrator.Batch) {
	for _, a := range b.Agents {
		m.agents[a.ID] = *a
	}
	for _, c := range b.Conversations {
		row := *c
		if was, ok := m.conversations[c.ID]; ok {
			row.Name, row.Pinned = was.Name, was.Pinned
		}
		m.conversations[c.ID] = row
	}
	for _, k := range b.Marks {
		if row, ok := m.conversations[k.ConversationID]; ok {
			if k.Name != nil {
				row.Name = *k.Name
			}
			if k.Pinned != nil {
				row.Pinned = *k.Pinned
			}
			m.conversations[k.ConversationID] = row
		}
	}
	for _, r := range b.Runs {
		m.runs[r.ID] = *r
	}
	for _, s := range b.Steps {
		of := m.steps[s.RunID]
		if i := slices.IndexFunc(of, func(o orchestrator.Step) bool { return o.ID == s.ID }); i >= 0 {
			of[i] = *s
		} else {
			m.steps[s.RunID] = append(of, *s)
		}
	}
	for _, c := range b.Contexts {
		m.contexts[[2]string{c.Key, c.AgentID}] = *c
	}
	for _, a := range b.Asks {
		m.asks[a.ID] = *a
	}
	for _, it := range b.Items {
		m.item++
		it.ID = m.item
		c := *it
		m.items = append(m.items, &c)
	}
	for _, w := range b.Workflows {
		m.workflows[w.ID] = *w
	}
	maps.Copy(m.settings, b.Settings)
}

func (m *MemoryStore) read(ctx context.Context, after int64, follow bool, of func() []*orchestrator.Event) iter.Seq2[[]*orchestrator.Event, error] {
	return func(yield func([]*orchestrator.Event, error) bool) {
		for {
			m.mu.Lock()
			all, changed := of(), m.changed
			i, _ := slices.BinarySearchFunc(all, after+1, func(e *orchestrator.Event, seq int64) int { return cmp.Compare(e.Seq, seq) })
			ready := slices.Clone(all[i:])
			m.mu.Unlock()
			if len(ready) > 0 {
				after = ready[len(ready)-1].Seq
				if !yield(ready, nil) {
					return
				}
				continue
			}
			if !follow {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (m *MemoryStore) ReadRun(ctx context.Context, run string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return m.read(ctx, after, false, func() []*orchestrator.Event { return m.byRun[run] })
}

func (m *MemoryStore) ReadRuns(_ context.Context, runs []string) (map[string][]*orchestrator.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string][]*orchestrator.Event{}
	for _, run := range runs {
		if events := m.byRun[run]; len(events) > 0 {
			all[run] = slices.Clone(events)
		}
	}
	return all, nil
}

func (m *MemoryStore) FollowRun(ctx context.Context, run string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return m.read(ctx, after, true, func() []*orchestrator.Event { return m.byRun[run] })
}

func (m *MemoryStore) inConversation(id string) []*orchestrator.Event {
	var es []*orchestrator.Event
	for _, e := range m.events {
		if e.ConversationID == id {
			es = append(es, e)
		}
	}
	return es
}

func (m *MemoryStore) ReadConversation(ctx context.Context, id string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return m.read(ctx, after, false, func() []*orchestrator.Event { return m.inConversation(id) })
}

func (m *MemoryStore) FollowConversation(ctx context.Context, id string, after int64) iter.Seq2[[]*orchestrator.Event, error] {
	return m.read(ctx, after, true, func() []*orchestrator.Event { return m.inConversation(id) })
}

func (m *MemoryStore) Head(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seq, nil
}

func (m *MemoryStore) Changes(ctx context.Context) iter.Seq[orchestrator.Change] {
	return func(func(orchestrator.Change) bool) { <-ctx.Done() }
}

func row[K comparable, V any](m *MemoryStore, rows map[K]V, key K) (*V, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := rows[key]
	if !ok {
		return nil, orchestrator.ErrNotFound
	}
	return &v, nil
}

func (m *MemoryStore) Agent(_ context.Context, id string) (*orchestrator.Agent, error) {
	return row(m, m.agents, id)
}

func (m *MemoryStore) ListAgents(context.Context) ([]*orchestrator.Agent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*orchestrator.Agent
	for _, a := range m.agents {
		if a.Trust != orchestrator.TrustRemoved {
			out = append(out, &a)
		}
	}
	slices.SortFunc(out, func(a, b *orchestrator.Agent) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (m *MemoryStore) Grants(context.Context, string) ([]orchestrator.Grant, error) { return nil, nil }
func (m *MemoryStore) RevokeGrant(context.Context, orchestrator.Grant) error        { return nil }

func (m *MemoryStore) Token(context.Context, [32]byte) (*orchestrator.Token, error) {
	return nil, orchestrator.ErrNotFound
}
func (m *MemoryStore) ListTokens(context.Context) ([]*orchestrator.Token, error) { return nil, nil }

func (m *MemoryStore) Conversation(_ context.Context, id string) (*orchestrator.Conversation, error) {
	return row(m, m.conversations, id)
}

func (m *MemoryStore) ListConversations(context.Context, string, int) ([]*orchestrator.Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*orchestrator.Conversation
	for _, c := range m.conversations {
		out = append(out, &c)
	}
	slices.SortFunc(out, func(a, b *orchestrator.Conversation) int { return b.Updated.Compare(a.Updated) })
	return out, nil
}

func (m *MemoryStore) Items(_ context.Context, id string, before int64, n int) ([]*orchestrator.Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*orchestrator.Item
	for _, it := range m.items {
		if it.ConversationID == id && (before == 0 || it.ID < before) {
			out = append(out, it)
		}
	}
	return out[max(0, len(out)-n):], nil
}

func (m *MemoryStore) EachItem(ctx context.Context, id string) iter.Seq2[*orchestrator.Item, error] {
	return func(yield func(*orchestrator.Item, error) bool) {
		items, _ := m.Items(ctx, id, 0, 1<<30)
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
}

func (m *MemoryStore) Artifact(ctx context.Context, run, id string) (*a2a.Artifact, error) {
	var t a2a.Task
	for es, err := range m.ReadRun(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		for _, e := range es {
			if ev, err := e.Event(); e.Kind.A2A() && err == nil {
				t.Apply(ev)
			}
		}
	}
	for i := range t.Artifacts {
		if t.Artifacts[i].ID == id {
			return &t.Artifacts[i], nil
		}
	}
	return nil, orchestrator.ErrNotFound
}

func (m *MemoryStore) Search(context.Context, orchestrator.SearchQuery) ([]orchestrator.Hit, error) {
	return nil, nil
}

func (m *MemoryStore) Erase(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.conversations, id)
	for run, r := range m.runs {
		if r.ConversationID == id {
			delete(m.runs, run)
			delete(m.byRun, run)
		}
	}
	return nil
}

func (m *MemoryStore) Workflow(_ context.Context, id string) (*orchestrator.Workflow, error) {
	return row(m, m.workflows, id)
}

func (m *MemoryStore) ListWorkflows(context.Context) ([]*orchestrator.Workflow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*orchestrator.Workflow
	for _, w := range m.workflows {
		out = append(out, &w)
	}
	slices.SortFunc(out, func(a, b *orchestrator.Workflow) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (m *MemoryStore) RemoveWorkflow(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.workflows, id)
	return nil
}

// WorkflowRuns goes by the time of creation, which is the order of beginnings as far as tests of drivers go.
func (m *MemoryStore) WorkflowRuns(_ context.Context, id, after string, n int) ([]*orchestrator.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*orchestrator.Run
	for _, r := range m.runs {
		if r.Workflow == id && id != "" {
			m.place(&r)
			out = append(out, &r)
		}
	}
	slices.SortFunc(out, func(a, b *orchestrator.Run) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.ID, a.ID))
	})
	if i := slices.IndexFunc(out, func(r *orchestrator.Run) bool { return r.ID == after }); i >= 0 {
		out = out[i+1:]
	}
	return out[:min(n, len(out))], nil
}

func (m *MemoryStore) Run(_ context.Context, id string) (*orchestrator.Run, error) {
	r, err := row(m, m.runs, id)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.place(r)
	return r, nil
}

// place sets what the store knows of a run beside its row.
func (m *MemoryStore) place(r *orchestrator.Run) {
	if es := m.byRun[r.ID]; len(es) > 0 {
		r.LastSeq = es[len(es)-1].Seq
	}
}

func (m *MemoryStore) selectRuns(keep func(*orchestrator.Run) bool) []*orchestrator.Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*orchestrator.Run
	for _, r := range m.runs {
		if keep(&r) {
			m.place(&r)
			out = append(out, &r)
		}
	}
	slices.SortFunc(out, func(a, b *orchestrator.Run) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func newer(a, b *orchestrator.Run) int {
	return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(b.ID, a.ID))
}

func (m *MemoryStore) ListRuns(_ context.Context, scope, principal string, q *a2a.ListRequest, before *orchestrator.Run, limit int) ([]*orchestrator.Run, int, error) {
	all := m.selectRuns(func(r *orchestrator.Run) bool {
		return r.Scope == scope && r.Principal == principal && r.State != a2a.TaskStateUnspecified &&
			(q.ContextID == "" || q.ContextID == r.ContextID) && (q.Status == "" || q.Status == r.State) &&
			!r.Updated.Before(q.StatusTimestampAfter)
	})
	total := len(all)
	slices.SortFunc(all, newer)
	if before != nil {
		all = slices.DeleteFunc(all, func(r *orchestrator.Run) bool { return newer(before, r) >= 0 })
	}
	return all[:min(limit, len(all))], total, nil
}

func open(r *orchestrator.Run) bool {
	return r.State != a2a.TaskStateUnspecified && !r.State.Terminal()
}

func (m *MemoryStore) OpenRuns(_ context.Context, scope string) iter.Seq2[*orchestrator.Run, error] {
	return func(yield func(*orchestrator.Run, error) bool) {
		for _, r := range m.selectRuns(func(r *orchestrator.Run) bool {
			return open(r) && (r.Scope == scope || strings.HasSuffix(scope, "/") && strings.HasPrefix(r.Scope, scope))
		}) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (m *MemoryStore) RunsOf(_ context.Context, conversation string) ([]*orchestrator.Run, error) {
	return m.selectRuns(func(r *orchestrator.Run) bool { return open(r) && r.ConversationID == conversation }), nil
}

func (m *MemoryStore) Received(_ context.Context, scope, principal, message string) (*orchestrator.Receipt, error) {
	return row(m, m.receipts, [3]string{scope, principal, message})
}

func (m *MemoryStore) Steps(_ context.Context, run string) ([]*orchestrator.Step, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*orchestrator.Step
	for _, s := range m.steps[run] {
		out = append(out, &s)
	}
	return out, nil
}

func (m *MemoryStore) Context(_ context.Context, key, agent string) (*orchestrator.ChildContext, error) {
	return row(m, m.contexts, [2]string{key, agent})
}

func (m *MemoryStore) Ask(_ context.Context, id string) (*orchestrator.Ask, error) {
	return row(m, m.asks, id)
}

func (m *MemoryStore) OpenAsks(_ context.Context, run string) ([]*orchestrator.Ask, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*orchestrator.Ask
	for _, a := range m.asks {
		if a.State == orchestrator.AskOpen && (a.RunID == run || run == "" && a.Principal == orchestrator.LocalPrincipal) {
			out = append(out, &a)
		}
	}
	slices.SortFunc(out, func(a, b *orchestrator.Ask) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

func (m *MemoryStore) Setting(_ context.Context, name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings[name], nil
}

func (m *MemoryStore) Expire(context.Context, time.Time) (int, error) { return 0, nil }

var errAfterFailure = &a2a.Error{Kind: a2a.KindUnavailable, Message: "an earlier event of this run was not stored"}
