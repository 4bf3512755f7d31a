package app

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aserver"
	"parley/app/egress"
	"parley/orchestrator"
)

// pushStore keeps the registrations of webhooks in the store. What is secret in one is sealed by our own key.
type pushStore struct {
	db   orchestrator.Pushes
	seal cipher.AEAD
}

// pushBody is the part of a registration that the database does not look into.
type pushBody struct {
	Config       a2a.PushConfig
	Dialect      wire.Dialect
	ClientTaskID string `json:",omitempty"`
	Sealed       []byte `json:",omitempty"` // the pushSecrets of Config, which it is without
}

// pushSecrets are what shows a webhook that a post is genuine.
type pushSecrets struct{ Token, Credentials string }

// newPushStore returns a store whose secrets only the program's own key opens.
func newPushStore(db orchestrator.Pushes, k *keys) (*pushStore, error) {
	secret, err := k.derive("push")
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	return &pushStore{db: db, seal: seal}, err
}

func (s *pushStore) Put(ctx context.Context, r *a2aserver.PushRow, most int) error {
	b := pushBody{Config: r.Config, Dialect: r.Dialect, ClientTaskID: r.ClientTaskID}
	secrets := pushSecrets{Token: r.Config.Token}
	if a := r.Config.Authentication; a != nil {
		open := *a
		secrets.Credentials, open.Credentials = a.Credentials, ""
		b.Config.Authentication = &open
	}
	if secrets != (pushSecrets{}) {
		plain, err := json.Marshal(secrets)
		if err != nil {
			return err
		}
		b.Config.Token, b.Sealed = "", s.seal.Seal(nil, nil, plain, []byte(r.UID))
	}
	body, err := json.Marshal(b)
	if err != nil {
		return err
	}
	err = s.db.PutPush(ctx, &orchestrator.StoredPush{
		PushMove: pushMove(r.PushProgress), Scope: r.Scope, Principal: r.Principal, Task: r.Config.TaskID, ID: r.Config.ID,
		Body: body, Created: r.Created,
	}, most)
	if errors.Is(err, orchestrator.ErrTooMany) {
		return a2aserver.ErrPushConfigs
	}
	return err
}

// row reads a registration. One that cannot be read, as when the key to its secrets has been lost, is dead: it is shown,
// and whoever made it has to make it again.
func (s *pushStore) row(p *orchestrator.StoredPush) *a2aserver.PushRow {
	var b pushBody
	damaged := json.Unmarshal(p.Body, &b)
	b.Config.TaskID, b.Config.ID = p.Task, p.ID
	r := &a2aserver.PushRow{
		PushProgress: a2aserver.PushProgress{
			UID: p.UID, Seq: p.Seq, State: a2aserver.PushState(p.State), Attempts: p.Attempts, Next: p.Next, Status: p.Status, Error: p.Error,
		},
		Scope: p.Scope, Principal: p.Principal, Config: b.Config, Dialect: b.Dialect, ClientTaskID: b.ClientTaskID, Created: p.Created,
	}
	switch {
	case damaged != nil:
		r.State, r.Error = a2aserver.PushDead, "what was stored of it is damaged"
	case b.Sealed != nil:
		var secrets pushSecrets
		plain, err := s.seal.Open(nil, nil, b.Sealed, []byte(p.UID))
		if err == nil {
			err = json.Unmarshal(plain, &secrets)
		}
		if err == nil {
			r.Config.Token = secrets.Token
			if a := r.Config.Authentication; a != nil {
				a.Credentials = secrets.Credentials
			}
			break
		}
		r.State, r.Error = a2aserver.PushDead, "its credentials cannot be read any more: Parley's key is another now"
		r.Config.Authentication = &a2a.PushAuthentication{Scheme: "lost"} // which nothing is sent with
	}
	return r
}

func (s *pushStore) Rows(ctx context.Context, task string) ([]*a2aserver.PushRow, error) {
	all, err := s.db.Pushes(ctx, task)
	if err != nil {
		return nil, err
	}
	rows := make([]*a2aserver.PushRow, len(all))
	for i, p := range all {
		rows[i] = s.row(p)
	}
	return rows, nil
}

func (s *pushStore) Delete(ctx context.Context, task, id string) error {
	return s.db.DeletePush(ctx, task, id)
}

func (s *pushStore) Move(ctx context.Context, all []a2aserver.PushProgress) error {
	moves := make([]orchestrator.PushMove, len(all))
	for i, p := range all {
		moves[i] = pushMove(p)
	}
	return s.db.MovePushes(ctx, moves)
}

func pushMove(p a2aserver.PushProgress) orchestrator.PushMove {
	return orchestrator.PushMove{
		UID: p.UID, Seq: p.Seq, State: string(p.State), Attempts: p.Attempts, Next: p.Next, Status: p.Status, Error: p.Error,
	}
}

func (s *pushStore) Open(ctx context.Context) iter.Seq2[*a2aserver.PushRow, error] {
	return func(yield func(*a2aserver.PushRow, error) bool) {
		for p, err := range s.db.OpenPushes(ctx) {
			var r *a2aserver.PushRow
			if err == nil {
				r = s.row(p)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// pushWays says how webhooks are reached: those of others over https at public addresses, slowly; those on this machine
// only where that was granted.
type pushWays struct {
	egress   *egress.Egress
	loopback bool

	mu    sync.Mutex
	local []string // origins on this machine that have connections of their own
}

// What a webhook elsewhere gets, so that nobody can have us flood a third party; and what one on this machine gets.
const (
	pushConnections      = 2
	pushRate             = rate.Limit(5)
	pushLocalConnections = 16
	pushLocalOrigins     = 64 // whose connections are kept
)

// pushPeer begins the name under which an origin on this machine is known to egress. No agent can have such an id.
const pushPeer = "webhook "

// pushGrants adds the webhooks on this machine to what was granted to agents.
func pushGrants(of func(context.Context, string) []string) func(context.Context, string) []string {
	return func(ctx context.Context, agent string) []string {
		if origin, ok := strings.CutPrefix(agent, pushPeer); ok {
			return []string{origin}
		}
		return of(ctx, agent)
	}
}

var errLoopbackPush = errors.New("a webhook on the agent's own machine is not allowed here")

func (w *pushWays) target(u *url.URL) (a2aserver.PushTarget, error) {
	origin, err := egress.Origin(u.String())
	if err != nil {
		return a2aserver.PushTarget{}, err
	}
	if !loopback(u.Hostname()) {
		way := a2aserver.PushTarget{
			HTTP: w.egress.Client(egress.Policy{Public: true}), Origin: origin, Connections: pushConnections, Rate: pushRate,
		}
		return way, egress.CheckPublic(u.String())
	}
	if !w.loopback {
		return a2aserver.PushTarget{}, errLoopbackPush
	}
	w.mu.Lock()
	if !slices.Contains(w.local, origin) {
		if w.local = append(w.local, origin); len(w.local) > pushLocalOrigins {
			w.egress.Forget(pushPeer + w.local[0]) // what is on its way there is sent again
			w.local = slices.Delete(w.local, 0, 1)
		}
	}
	w.mu.Unlock()
	return a2aserver.PushTarget{
		HTTP: w.egress.Client(egress.Policy{Agent: pushPeer + origin}), Origin: origin, Connections: pushLocalConnections,
	}, nil
}

// newPush makes the sender of our own agent and of those behind the gateway. It sends nothing before it is resumed.
func (a *App) newPush() (*a2aserver.PushSender, error) {
	store, err := newPushStore(a.store, a.keys)
	if err != nil {
		return nil, err
	}
	ways := &pushWays{egress: a.egress, loopback: a.cfg.LocalPush}
	return a2aserver.NewPushSender(&a2aserver.PushOptions{
		Store: store, Target: ways.target, Tasks: a.pushTasks, Logger: a.log,
		Sign: func(claims map[string]any) (string, error) {
			claims["iss"] = a.a2a.base
			return a.keys.JWT(claims)
		},
		Tap: func(ctx context.Context, x *wire.Exchange) {
			a.record(orchestrator.WithOrigin(ctx, orchestrator.Origin{RunID: x.TaskID}), x)
		},
	}), nil
}

// pushEvery is how often the process that delivers webhooks looks for what others registered.
const pushEvery = 2 * time.Second

// resumePush takes up the webhooks of callers. Where several processes share the store, one of them delivers all: that is
// this one as long as it leads.
func (a *App) resumePush(ctx context.Context) error {
	leader, ok := a.store.Storage.(orchestrator.Leader)
	if !ok {
		return a.push.Resume(ctx)
	}
	go leader.Lead(a.background, "webhooks", func(ctx context.Context) {
		tick := time.NewTicker(pushEvery)
		defer tick.Stop()
		defer a.push.Pause()
		for {
			if err := a.push.Resume(ctx); err != nil && ctx.Err() == nil {
				a.log.Warn("the webhooks of callers could not be taken up", "err", err)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

// pushScope names the tasks of an agent behind the gateway, or of our own for "".
func pushScope(agent string) string {
	if agent == "" {
		return orchestrator.OwnAgent
	}
	return "agents/" + agent
}

// pushTasks are the tasks of a scope as their callers see them.
func (a *App) pushTasks(scope string) a2aserver.Tasks {
	if scope == orchestrator.OwnAgent {
		return a.a2a.tasks("")
	}
	if id, ok := strings.CutPrefix(scope, "agents/"); ok {
		return a.a2a.tasks(id)
	}
	return nil
}

// tasks are the tasks of an agent, "" = our own, as outside callers see them.
func (p *a2aPlane) tasks(agent string) a2aserver.Tasks {
	t := allowed{runTasks: runTasks{p.app.driver.Tasks(agent)}, readOnly: p.app.tokens.readOnly, revoked: p.app.tokens.revoked, pass: p.app.publisher.pass}
	if agent == "" {
		t.launch = p.app.launchOf
	}
	if p.files.reach > thisMachine {
		return outward{t, p.files, agent}
	}
	return t
}

// allowedPush wraps a Pusher with what a caller's token may do.
type allowedPush struct {
	a2aserver.Pusher
	readOnly func(principal string) bool
}

func (p allowedPush) Check(ctx context.Context, r *a2aserver.PushRegistration) error {
	if p.readOnly(r.Principal) {
		return errReadOnlyToken
	}
	return p.Pusher.Check(ctx, r)
}

func (p allowedPush) Set(ctx context.Context, r *a2aserver.PushRegistration) (*a2a.PushConfig, error) {
	if p.readOnly(r.Principal) {
		return nil, errReadOnlyToken
	}
	return p.Pusher.Set(ctx, r)
}

func (p allowedPush) Delete(ctx context.Context, principal string, r *a2a.PushDeleteRequest) error {
	if p.readOnly(principal) {
		return errReadOnlyToken
	}
	return p.Pusher.Delete(ctx, principal, r)
}

// newDemoPush makes the sender of the demo agents, which are for trying things out on this machine.
func newDemoPush(db orchestrator.Pushes, k *keys, tasks func(scope string) a2aserver.Tasks, log *slog.Logger) (*a2aserver.PushSender, *egress.Egress, error) {
	store, err := newPushStore(db, k)
	if err != nil {
		return nil, nil, err
	}
	out := egress.New(&egress.Options{Grants: pushGrants(func(context.Context, string) []string { return nil }), Logger: log})
	ways := &pushWays{egress: out, loopback: true}
	return a2aserver.NewPushSender(&a2aserver.PushOptions{Store: store, Target: ways.target, Tasks: tasks, Logger: log}), out, nil
}

// PushInfo is a webhook that is being told of a task, as the command line shows it.
type PushInfo struct {
	ID       string     `json:"id"` // of the registration, for replay
	Caller   string     `json:"caller"`
	Agent    string     `json:"agent"`
	Task     string     `json:"task"`
	URL      string     `json:"url"` // without its query, which may be a secret
	Speaks   string     `json:"speaks"`
	State    string     `json:"state"` // live, waiting, dead, gone
	Seq      int64      `json:"seq"`   // the last event that was delivered
	Attempts int        `json:"attempts,omitempty"`
	Next     *time.Time `json:"next,omitempty"` // attempt
	Error    string     `json:"error,omitempty"`
	Created  time.Time  `json:"created"`
}

func pushInfo(r *a2aserver.PushRow) PushInfo {
	p := PushInfo{
		ID: r.UID, Caller: r.Principal, Agent: strings.TrimPrefix(r.Scope, "agents/"), Task: r.Config.TaskID, Speaks: r.Dialect.String(),
		State: string(r.State), Seq: r.Seq, Attempts: r.Attempts, Error: r.Error, Created: r.Created,
	}
	if u, err := url.Parse(r.Config.URL); err == nil {
		p.URL = u.Scheme + "://" + u.Host + u.EscapedPath()
		if u.RawQuery != "" {
			p.URL += "?…"
		}
	}
	if r.State == a2aserver.PushLive {
		p.State = "live"
		if r.Attempts > 0 {
			p.State, p.Next = "waiting", &r.Next
		}
	}
	return p
}

// listPush lists the webhooks that are owed something, or will be.
func (a *App) listPush(ctx context.Context, _ struct{}) ([]PushInfo, error) {
	return a.pushInfos(ctx, func(*a2aserver.PushRow) bool { return true })
}

// listDeadPush lists those that get nothing more by themselves.
func (a *App) listDeadPush(ctx context.Context, _ struct{}) ([]PushInfo, error) {
	return a.pushInfos(ctx, func(r *a2aserver.PushRow) bool { return r.State != a2aserver.PushLive })
}

func (a *App) pushInfos(ctx context.Context, which func(*a2aserver.PushRow) bool) ([]PushInfo, error) {
	rows, err := a.push.Registrations(ctx)
	out := []PushInfo{}
	for _, r := range rows {
		if which(r) {
			out = append(out, pushInfo(r))
		}
	}
	return out, err
}

// replayPush goes on with one webhook, or with all that get nothing more by themselves, and says how many.
func (a *App) replayPush(ctx context.Context, n Named) (int, error) {
	ids := []string{n.ID}
	if n.ID == "" {
		ids = nil
		dead, err := a.listDeadPush(ctx, struct{}{})
		if err != nil {
			return 0, err
		}
		for _, p := range dead {
			ids = append(ids, p.ID)
		}
	}
	for i, id := range ids {
		err := a.push.Replay(ctx, id)
		if errors.Is(err, a2aserver.ErrNoRegistration) {
			err = &orchestrator.Fault{
				Kind: "not-found", Where: orchestrator.WhereUs, What: "There is no webhook " + id + " that is owed anything.",
				Do: "See: parley push list",
			}
		}
		if err != nil {
			return i, err
		}
	}
	return len(ids), nil
}
