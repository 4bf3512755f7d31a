package app

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"parley/app/egress"
	"parley/app/vault"
	"parley/orchestrator"
	"parley/orchestrator/planner"
	"parley/orchestrator/planner/completions"
	"parley/orchestrator/workflow"
)

// model is the model that plans, as a person set it up. Requests to it go through egress under a name of their own, with
// leave for the origin of its URL alone; its key is in the vault, bound to that origin.
type model struct {
	store  *store
	vault  *vault.Vault
	egress *egress.Egress
	log    *slog.Logger

	planner planner.Switch // what the driver asks

	setting sync.Mutex // held while something is changed

	mu     sync.RWMutex
	now    modelSetup
	asking *planner.Model // nil when it is off
	trials map[string]int // origins that are being tried out
}

// modelSetup is what the settings say.
type modelSetup struct {
	url, name string
	on        bool
}

// The names of the model's origin to egress, and of its key in the vault. No agent can have either.
const (
	modelPeer = "model "
	modelKey  = "model key "
)

// modelHeaderTime is how long an endpoint may take to begin an answer: it may have to load the model first.
const modelHeaderTime = 5 * time.Minute

var _ orchestrator.Models = (*model)(nil)

func newModel(s *store, v *vault.Vault, log *slog.Logger) *model {
	return &model{store: s, vault: v, log: log, trials: map[string]int{}}
}

// grants adds the model's origin to what of says of agents.
func (m *model) grants(of func(context.Context, string) []string) func(context.Context, string) []string {
	return func(ctx context.Context, agent string) []string {
		origin, ok := strings.CutPrefix(agent, modelPeer)
		if !ok {
			return of(ctx, agent)
		}
		m.mu.RLock()
		defer m.mu.RUnlock()
		if m.trials[origin] > 0 || m.now.on && origin == originOf(m.now.url) {
			return []string{origin}
		}
		return nil
	}
}

// open begins with what is stored.
func (m *model) open(ctx context.Context, e *egress.Egress) error {
	m.egress = e
	s, err := m.stored(ctx)
	if err == nil {
		m.use(s)
	}
	return err
}

func (m *model) stored(ctx context.Context) (s modelSetup, err error) {
	on := ""
	for name, to := range map[string]*string{orchestrator.ModelURL: &s.url, orchestrator.ModelName: &s.name, orchestrator.ModelOn: &on} {
		if *to, err = m.store.Setting(ctx, name); err != nil {
			return s, err
		}
	}
	s.on = on == "true" && s.url != "" && s.name != ""
	return s, nil
}

// use lets a setup count from the next decision on.
func (m *model) use(s modelSetup) {
	var asking *planner.Model
	if s.on {
		c, err := m.client(s.url, nil)
		if err != nil { // it was checked when it was stored
			m.log.Error("the model cannot be asked", "url", s.url, "err", err)
			s.on = false
		} else {
			asking = planner.NewModel(c, s.name, &planner.ModelOptions{Logger: m.log, Fits: workflow.Fits})
		}
	}
	m.mu.Lock()
	old := m.now
	m.now, m.asking = s, asking
	m.mu.Unlock()
	if asking == nil {
		m.planner.Set(nil)
	} else {
		m.planner.Set(asking)
	}
	if was := originOf(old.url); was != "" && (!s.on || was != originOf(s.url)) {
		m.egress.Forget(modelPeer + was)
	}
}

// client returns a client of the API at an address. It shows key, or what the vault holds for the origin when that is nil.
func (m *model) client(address string, key *orchestrator.Secret) (*completions.Client, error) {
	origin := originOf(address)
	h := m.egress.Client(egress.Policy{
		Agent: modelPeer + origin, HeaderTime: modelHeaderTime,
		Credentials: func(ctx context.Context) ([]egress.Bound, error) {
			var s vault.Secret
			switch {
			case key != nil:
				s = vault.NewSecret(key.Reveal())
			default:
				var err error
				if s, err = m.vault.Get(ctx, orchestrator.OwnAgent, modelKey+origin); err != nil {
					return nil, nil //nolint:nilerr // there is none: many endpoints want none
				}
			}
			if s.Reveal() == "" {
				return nil, nil
			}
			return []egress.Bound{{Origin: origin, Kind: egress.Bearer, Secret: s.Reveal}}, nil
		},
	})
	return completions.New(address, h, &completions.Options{Logger: m.log})
}

// Model is orchestrator.Models'.
func (m *model) Model(ctx context.Context) (*orchestrator.Model, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := &orchestrator.Model{URL: m.now.url, Name: m.now.name, On: m.now.on, Kept: m.vault.Kind().String()}
	if out.URL != "" {
		_, err := m.vault.Get(ctx, orchestrator.OwnAgent, modelKey+originOf(out.URL))
		out.Key = err == nil
	}
	if m.asking != nil {
		out.Fault = m.asking.Fault()
	}
	return out, nil
}

// SetModel is orchestrator.Models'.
func (m *model) SetModel(ctx context.Context, c *orchestrator.ModelChange) (*orchestrator.Model, error) {
	m.setting.Lock()
	defer m.setting.Unlock()
	old, err := m.stored(ctx)
	if err != nil {
		return nil, err
	}
	next, err := changed(old, c)
	if err != nil {
		return nil, err
	}
	if next.on && (next.url == "" || next.name == "") {
		return nil, modelFault("Say where the model is, and which it is, before it is turned on.", "Give its URL and its name.")
	}
	if err := m.keep(ctx, originOf(old.url), next.url, c.Key); err != nil {
		return nil, err
	}
	on := ""
	if next.on {
		on = "true"
	}
	if err := m.store.Write(ctx, &orchestrator.Batch{Settings: map[string]string{
		orchestrator.ModelURL: next.url, orchestrator.ModelName: next.name, orchestrator.ModelOn: on,
	}}); err != nil {
		return nil, err
	}
	m.use(next)
	return m.Model(ctx)
}

// keep stores the key for the origin of an address, and forgets the one for another.
func (m *model) keep(ctx context.Context, was, address string, key *orchestrator.Secret) error {
	origin := originOf(address)
	forget := func(origin string) error {
		var none *vault.Error
		err := m.vault.Delete(ctx, orchestrator.OwnAgent, modelKey+origin)
		if errors.As(err, &none) && none.Kind == vault.NotFound {
			return nil
		}
		return err
	}
	if was != "" && was != origin {
		if err := forget(was); err != nil {
			return err
		}
	}
	switch {
	case key == nil:
		return nil
	case key.Reveal() == "":
		return forget(origin)
	}
	if err := checkModelKey(address, *key); err != nil {
		return err
	}
	return m.vault.Put(ctx, orchestrator.OwnAgent, modelKey+origin, vault.NewSecret(key.Reveal()))
}

// checkModelKey refuses a key that cannot be sent, or that others on its way could read.
func checkModelKey(address string, key orchestrator.Secret) error {
	origin := originOf(address)
	if origin == "" {
		return modelFault("A key is for one address, and there is none.", "Give the URL with it.")
	}
	if err := (egress.Bound{Origin: origin, Kind: egress.Bearer, Secret: key.Reveal}).Check(); err != nil {
		return modelFault("This is no key: "+strings.TrimPrefix(err.Error(), egress.ErrCredential.Error()+": ")+".", "Check what was typed.")
	}
	if u, err := url.Parse(origin); err != nil || u.Scheme == "http" && reachOf(u.Hostname()) == everywhere {
		return modelFault("A key would be readable on its way to "+origin+".", "Use https.")
	}
	return nil
}

// TestModel is orchestrator.Models'.
func (m *model) TestModel(ctx context.Context, c *orchestrator.ModelChange) (*orchestrator.ModelTest, error) {
	if c == nil {
		c = &orchestrator.ModelChange{}
	}
	old, err := m.stored(ctx)
	if err != nil {
		return nil, err
	}
	s, err := changed(old, c)
	if err != nil {
		return nil, err
	}
	if s.url == "" {
		return nil, modelFault("There is no model to test.", "Give its URL first.")
	}
	if c.Key != nil && c.Key.Reveal() != "" {
		if err := checkModelKey(s.url, *c.Key); err != nil {
			return nil, err
		}
	}
	origin := originOf(s.url)
	m.try(origin, 1)
	defer m.try(origin, -1)
	client, err := m.client(s.url, c.Key)
	if err != nil {
		return nil, modelFault(err.Error(), "Correct the URL.")
	}
	return planner.Probe(ctx, client, s.name), nil
}

// try gives leave for an origin while it is tried out, and takes it back.
func (m *model) try(origin string, n int) {
	m.mu.Lock()
	m.trials[origin] += n
	if m.trials[origin] <= 0 {
		delete(m.trials, origin)
	}
	left := m.trials[origin] == 0 && (!m.now.on || origin != originOf(m.now.url))
	m.mu.Unlock()
	if left {
		m.egress.Forget(modelPeer + origin)
	}
}

// changed is a setup with a change, its URL put right.
func changed(s modelSetup, c *orchestrator.ModelChange) (modelSetup, error) {
	if c.URL != nil {
		address, err := modelURL(*c.URL)
		if err != nil {
			return s, err
		}
		s.url = address
	}
	if c.Name != nil {
		s.name = strings.TrimSpace(*c.Name)
		if len(s.name) > 200 || strings.ContainsFunc(s.name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return s, modelFault("This is no name of a model.", "Check what was typed.")
		}
	}
	if c.On != nil {
		s.on = *c.On
	}
	return s, nil
}

// modelURL reads the URL of an API as people have it: without a scheme, without the version, or with the path of a call.
func modelURL(typed string) (string, error) {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return "", nil
	}
	if !strings.Contains(typed, "://") {
		host, _, _ := strings.Cut(typed, "/")
		if u, err := url.Parse("//" + host); err == nil && reachOf(u.Hostname()) < everywhere {
			typed = "http://" + typed
		} else {
			typed = "https://" + typed
		}
	}
	origin, err := egress.Origin(typed)
	u, e := url.Parse(typed)
	if err != nil || e != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", modelFault("This is no URL of an API.", "Give one such as http://127.0.0.1:11434/v1 or https://api.openai.com/v1.")
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	path = strings.TrimRight(strings.TrimSuffix(path, "/chat/completions"), "/")
	if path == "" {
		path = "/v1"
	}
	return origin + path, nil
}

// originOf is the origin of an address; "" of none.
func originOf(address string) string {
	if address == "" {
		return ""
	}
	origin, err := egress.Origin(address)
	if err != nil {
		return ""
	}
	return origin
}

func modelFault(what, do string) error {
	return &orchestrator.Fault{Kind: "model", Where: orchestrator.WhereUs, What: what, Do: do}
}

// ModelChange is orchestrator.ModelChange on its way through the socket, which only the owner can read.
type ModelChange struct {
	URL  *string `json:"url,omitempty"`
	Name *string `json:"name,omitempty"`
	On   *bool   `json:"on,omitempty"`
	Key  *string `json:"key,omitempty"` // "" forgets it
}

func (c *ModelChange) domain() *orchestrator.ModelChange {
	d := &orchestrator.ModelChange{URL: c.URL, Name: c.Name, On: c.On}
	if c.Key != nil {
		key := orchestrator.Secret(*c.Key)
		d.Key = &key
	}
	return d
}

// verbs are those of the control socket.
func (m *model) verbs() map[string]verb {
	return map[string]verb{
		"model.show": once(func(ctx context.Context, _ struct{}) (*orchestrator.Model, error) { return m.Model(ctx) }),
		"model.set": once(func(ctx context.Context, c ModelChange) (*orchestrator.Model, error) {
			return m.SetModel(ctx, c.domain())
		}),
		"model.test": once(func(ctx context.Context, c ModelChange) (*orchestrator.ModelTest, error) {
			return m.TestModel(ctx, c.domain())
		}),
	}
}
