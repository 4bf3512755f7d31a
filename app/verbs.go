package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// verbs is what the control socket can be asked to do.
func (a *App) verbs() map[string]verb {
	all := map[string]verb{
		"status":            once(func(ctx context.Context, _ struct{}) (Status, error) { return a.status(ctx) }),
		"doctor":            once(func(ctx context.Context, _ struct{}) ([]Check, error) { return a.doctor(ctx), nil }),
		"open":              once(a.openLink),
		"agents.preview":    once(a.previewAgents),
		"agents.add":        once(a.addAgent),
		"agents.list":       once(a.listAgents),
		"agents.show":       once(a.showAgent),
		"agents.speak":      once(a.speak),
		"agents.remove":     once(func(ctx context.Context, n Named) (struct{}, error) { return struct{}{}, a.registry.Remove(ctx, n.ID) }),
		"agents.verify":     once(a.registry.verify),
		"agents.credential": once(a.registry.keepCredential),
		"send":              streamed(a.send),
		"asks.list":         once(a.listAsks),
		"asks.show":         once(a.showAsk),
		"answer":            once(a.answer),
		"task.get":          once(a.getTask),
		"task.list":         once(a.listTasks),
		"task.cancel":       once(a.cancelTask),
		"task.subscribe":    streamed(a.followTask),
		"token.new":         once(a.tokens.create),
		"token.list":        once(func(ctx context.Context, _ struct{}) ([]TokenInfo, error) { return a.tokens.list(ctx) }),
		"token.revoke":      once(a.revokeToken),
		"push.list":         once(a.listPush),
		"push.dead":         once(a.listDeadPush),
		"push.replay":       once(a.replayPush),
		"export":            streamed(a.export),
	}
	maps.Copy(all, a.workflowVerbs())
	maps.Copy(all, a.model.verbs())
	return all
}

// once makes a verb of a function that answers one value.
func once[In, Out any](f func(context.Context, In) (Out, error)) verb {
	return func(ctx context.Context, in json.RawMessage, send func(any) error) error {
		var v In
		if err := json.Unmarshal(in, &v); err != nil {
			return err
		}
		out, err := f(ctx, v)
		if err != nil {
			return err
		}
		return send(out)
	}
}

// streamed makes a verb of a function that answers many.
func streamed[In any](f func(context.Context, In, func(any) error) error) verb {
	return func(ctx context.Context, in json.RawMessage, send func(any) error) error {
		var v In
		if err := json.Unmarshal(in, &v); err != nil {
			return err
		}
		return f(ctx, v, send)
	}
}

// OpenPage is the input of the verb "open".
type OpenPage struct {
	Path string // of one of our pages; "" = the start
	Show bool   // bring the window to the front instead, where there is one
}

func (a *App) openLink(_ context.Context, o OpenPage) (*orchestrator.Opened, error) {
	if !a.serving.Load() {
		return nil, &orchestrator.Fault{
			Kind: "not-serving", Where: orchestrator.WhereUs, What: "The page is not being served.", Do: "Start it: parley serve",
		}
	}
	if o.Show && a.cfg.Shell != nil && a.cfg.Shell.Show(o.Path) == nil {
		return &orchestrator.Opened{Shown: true}, nil
	}
	return &orchestrator.Opened{URL: a.link(o.Path), Expires: time.Now().Add(linkLife)}, nil
}

func (a *App) previewAgents(ctx context.Context, f FindAgent) ([]AgentInfo, error) {
	found, err := a.registry.Preview(ctx, f.Input, f.Credential.domain())
	if err != nil {
		return nil, err
	}
	out := make([]AgentInfo, len(found))
	for i, c := range found {
		out[i] = candidateInfo(c)
	}
	return out, nil
}

// addAgent previews again and approves, if what is found asks for no more than what was agreed to.
func (a *App) addAgent(ctx context.Context, f FindAgent) (AgentInfo, error) {
	found, err := a.registry.Preview(ctx, f.Input, f.Credential.domain())
	if err != nil {
		return AgentInfo{}, err
	}
	if len(found) != 1 {
		return AgentInfo{}, fmt.Errorf("%d agents were found where one was expected", len(found))
	}
	c := found[0]
	if c.Fault != nil {
		return AgentInfo{}, c.Fault
	}
	for _, o := range c.Origins {
		if !slices.Contains(f.Origins, o) {
			return AgentInfo{}, &orchestrator.Fault{
				Kind: "origin", Where: orchestrator.WhereAgent, Retry: true,
				What: "The agent's card now names another address: " + o + ".", Do: "Look at it again and approve what it names.",
			}
		}
	}
	c.Agent.ID = f.ID // "" = a free one
	if f.AsTyped {
		c = c.AsTyped()
	}
	agent, err := a.registry.Approve(ctx, c)
	if err != nil {
		return AgentInfo{}, err
	}
	return agentInfo(agent, c.Origins), nil
}

func (a *App) listAgents(ctx context.Context, _ struct{}) ([]AgentInfo, error) {
	agents, err := a.store.ListAgents(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]AgentInfo, len(agents))
	for i, g := range agents {
		out[i] = agentInfo(g, nil)
	}
	return out, nil
}

func (a *App) showAgent(ctx context.Context, n Named) (AgentInfo, error) {
	agent, err := a.store.Agent(ctx, n.ID)
	if err != nil {
		return AgentInfo{}, noAgent(ctx, a.store, n.ID, err)
	}
	grants, err := a.store.Grants(ctx, n.ID)
	if err != nil {
		return AgentInfo{}, err
	}
	origins := make([]string, len(grants))
	for i, g := range grants {
		origins[i] = g.Origin
	}
	info := agentInfo(agent, origins)
	info.Card = agent.CardJSON
	return info, nil
}

// speak sets how an agent is called.
func (a *App) speak(ctx context.Context, s SpeakAgent) (AgentInfo, error) {
	if err := a.registry.Speak(ctx, s.ID, s.At); err != nil {
		return AgentInfo{}, err
	}
	return a.showAgent(ctx, Named{ID: s.ID})
}

// bindingName is what people call a binding.
func bindingName(b string) string {
	switch b {
	case a2a.BindingJSONRPC:
		return "JSON-RPC"
	case a2a.BindingGRPC:
		return "gRPC"
	}
	return b
}

func agentInfo(g *orchestrator.Agent, origins []string) AgentInfo {
	info := AgentInfo{
		ID: g.ID, Name: g.Name, Trust: g.Trust, URL: g.Interface.URL, Speaks: g.Dialect + " over " + bindingName(g.Interface.Binding), Known: g.Known,
		Notes: g.Remarks(), Origins: origins, Fault: g.Health.Fault,
	}
	if g.Signature != nil {
		info.Signature = signatureInfo(g.Signature)
	}
	if g.Card != nil {
		info.Description, info.Streaming = g.Card.Description, g.Card.Capabilities.Streaming
		for _, s := range g.Card.Skills {
			info.Skills = append(info.Skills, s.Name)
		}
		for name, s := range g.Card.SecuritySchemes {
			info.SignIn = append(info.SignIn, name+" ("+string(s.Kind)+")")
		}
		slices.Sort(info.SignIn)
	}
	return info
}

func candidateInfo(c *orchestrator.Candidate) AgentInfo {
	if c.Agent == nil {
		return AgentInfo{Input: c.Input, Fault: c.Fault}
	}
	info := agentInfo(c.Agent, c.Origins)
	info.Input, info.Fault, info.Elsewhere = c.Input, c.Fault, c.Elsewhere
	return info
}

func (c *Credential) domain() *orchestrator.Credential {
	if c == nil {
		return nil
	}
	d := &orchestrator.Credential{Origin: c.Origin, Kind: a2a.SchemeHTTP, User: c.User, Secret: orchestrator.Secret(c.Secret)}
	switch c.Kind {
	case "basic":
		d.Scheme = "Basic"
	case "header", "query", "cookie":
		d.Kind, d.Location, d.Header = a2a.SchemeAPIKey, c.Kind, c.Name
	case "certificate":
		d.Kind = a2a.SchemeMutualTLS
	default:
		d.Scheme = "Bearer"
	}
	return d
}

// Check is one line of what doctor found.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}
