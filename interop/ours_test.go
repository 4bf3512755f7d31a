//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"parley/a2a"
	"parley/a2a/wire"
	"parley/a2aclient"
	"parley/a2aclient/card"
	"parley/interop/peer"
)

// overHTTP2 carries gRPC in plain text.
var overHTTP2 = func() *http.Client {
	t := &http.Transport{Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: t}
}()

// ours is our client, behind the interface that the SDKs' clients have.
type ours struct {
	*a2aclient.Client
	card *a2a.AgentCard
}

func dialOurs(ctx context.Context, d peer.Dial) (peer.Client, error) {
	authorize := func(_ context.Context, r *http.Request) error {
		if d.Token != "" {
			r.Header.Set("Authorization", "Bearer "+d.Token)
		}
		return nil
	}
	found, err := card.Find(ctx, d.URL, &card.Options{HTTP: http.DefaultClient, Authorize: authorize})
	if err != nil {
		return nil, err
	}
	f := found[0]
	iface := f.Interface
	if iface.Binding != d.Binding {
		i := slices.IndexFunc(f.Card.Interfaces, func(i a2a.AgentInterface) bool { return i.Binding == d.Binding })
		if i < 0 {
			return nil, errors.New("the card offers no " + d.Binding)
		}
		iface = f.Card.Interfaces[i]
	}
	way := http.DefaultClient
	if d.Binding == peer.GRPC {
		way = overHTTP2
	}
	if d.Extensions == nil {
		d.Extensions = []string{peer.Extension}
	}
	c, err := a2aclient.New(f.Card, iface, &a2aclient.Options{
		HTTP: way, Authorize: authorize, Extensions: d.Extensions,
	})
	if err != nil {
		return nil, err
	}
	return &ours{c, f.Card}, nil
}

func (c *ours) Card(context.Context) (*peer.Card, error) { return fromCard(c.card), nil }

func fromCard(c *a2a.AgentCard) *peer.Card {
	form := wire.CardNEW
	if slices.ContainsFunc(c.Interfaces, func(i a2a.AgentInterface) bool { return !strings.HasPrefix(i.Version, "1.") }) {
		form = wire.CardMID // a scheme of v1.0 has one flow
	}
	return &peer.Card{
		Name: c.Name, Skills: len(c.Skills), Streaming: c.Capabilities.Streaming, Push: c.Capabilities.PushNotifications,
		Security: securityOf(wire.AppendCard(nil, form, c)),
	}
}

// securityOf are the members of a card about security.
func securityOf(card []byte) json.RawMessage {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(card, &members); err != nil {
		return nil
	}
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return !strings.HasPrefix(name, "security") })
	return peer.Raw(members)
}

// lacks says what older versions do not have.
func (c *ours) lacks(m *peer.Message) error {
	if c.Dialect() == wire.OLD && (m.NoWait || m.References != nil || m.Accept != nil) {
		return peer.ErrNone
	}
	return nil
}

func (c *ours) Extended(ctx context.Context) (*peer.Card, error) {
	got, err := c.ExtendedCard(ctx)
	if err != nil {
		return nil, failure(err)
	}
	return fromCard(got), nil
}

func request(m *peer.Message) *a2a.SendRequest {
	r := &a2a.SendRequest{Message: a2a.Message{
		ID: uuid.NewString(), Role: a2a.RoleUser, TaskID: m.Task, ContextID: m.Context, Metadata: m.Metadata,
		ReferenceTaskIDs: m.References, Parts: []a2a.Part{a2a.TextPart(m.Text)},
	}}
	r.Configuration.ReturnImmediately, r.Configuration.HistoryLength = m.NoWait, m.History
	r.Configuration.AcceptedOutputModes = m.Accept
	if m.Push != nil {
		r.Configuration.Push = toPush(m.Push)
	}
	for _, p := range m.Parts {
		q := a2a.Part{Kind: a2a.PartText, Text: p.Text, Filename: p.Name, MediaType: p.MediaType, Metadata: p.Metadata}
		switch {
		case p.Bytes != nil:
			q.Kind, q.Raw = a2a.PartRaw, p.Bytes
		case p.URL != "":
			q.Kind, q.URL = a2a.PartURL, p.URL
		case p.Data != nil:
			q.Kind, q.Data = a2a.PartData, p.Data
		}
		r.Message.Parts = append(r.Message.Parts, q)
	}
	return r
}

func (c *ours) Send(ctx context.Context, m *peer.Message) (*peer.Event, error) {
	if err := c.lacks(m); err != nil {
		return nil, err
	}
	e, err := c.Client.Send(ctx, request(m))
	if err != nil {
		return nil, failure(err)
	}
	return fromEvent(e), nil
}

func (c *ours) Stream(ctx context.Context, m *peer.Message) iter.Seq2[*peer.Event, error] {
	return fromEvents(c.Client.Stream(ctx, request(m)))
}

func (c *ours) Subscribe(ctx context.Context, task string) iter.Seq2[*peer.Event, error] {
	return fromEvents(c.Client.Subscribe(ctx, task))
}

func (c *ours) Get(ctx context.Context, task string, history *int) (*peer.Event, error) {
	return fromTask(c.Client.Get(ctx, &a2a.GetRequest{ID: task, HistoryLength: history}))
}

func (c *ours) Cancel(ctx context.Context, task string) (*peer.Event, error) {
	return fromTask(c.Client.Cancel(ctx, &a2a.CancelRequest{ID: task}))
}

func fromTask(t *a2a.Task, err error) (*peer.Event, error) {
	if err != nil {
		return nil, failure(err)
	}
	return fromEvent(t), nil
}

func (c *ours) List(ctx context.Context, talk string, size int, token string) ([]string, string, error) {
	if c.Dialect() != wire.NEW {
		return nil, "", peer.ErrNone
	}
	page, err := c.Client.List(ctx, &a2a.ListRequest{ContextID: talk, PageSize: size, PageToken: token})
	if err != nil {
		return nil, "", failure(err)
	}
	var ids []string
	for _, t := range page.Tasks {
		ids = append(ids, t.ID)
	}
	return ids, page.NextPageToken, nil
}

func toPush(p *peer.Push) *a2a.PushConfig {
	c := &a2a.PushConfig{TaskID: p.Task, ID: p.ID, URL: p.URL, Token: p.Token}
	if p.Scheme != "" {
		c.Authentication = &a2a.PushAuthentication{Scheme: p.Scheme, Credentials: p.Credentials}
	}
	return c
}

func fromPush(c *a2a.PushConfig, err error) (*peer.Push, error) {
	if err != nil {
		return nil, failure(err)
	}
	return &peer.Push{Task: c.TaskID, ID: c.ID, URL: c.URL, Token: c.Token}, nil
}

func (c *ours) PushSet(ctx context.Context, p *peer.Push) (*peer.Push, error) {
	return fromPush(c.SetPush(ctx, toPush(p)))
}

func (c *ours) PushGet(ctx context.Context, task, id string) (*peer.Push, error) {
	return fromPush(c.GetPush(ctx, &a2a.PushGetRequest{TaskID: task, ID: id}))
}

func (c *ours) PushList(ctx context.Context, task string) ([]*peer.Push, error) {
	page, err := c.ListPush(ctx, &a2a.PushListRequest{TaskID: task})
	if err != nil {
		return nil, failure(err)
	}
	var all []*peer.Push
	for i := range page.Configs {
		p, _ := fromPush(&page.Configs[i], nil)
		all = append(all, p)
	}
	return all, nil
}

func (c *ours) PushDelete(ctx context.Context, task, id string) error {
	if err := c.DeletePush(ctx, &a2a.PushDeleteRequest{TaskID: task, ID: id}); err != nil {
		return failure(err)
	}
	return nil
}

// failure puts an error of our client into the words of package peer.
func failure(err error) error {
	f := &peer.Failure{Text: err.Error()}
	if ce := (&a2aclient.Error{}); errors.As(err, &ce) && ce.Kind == card.KindExtension { // it does not even ask
		f.Kind = "extension-required"
		return f
	}
	var ae *a2a.Error
	said := errors.As(err, &ae) && ae.Code != 0
	if ce := (&a2aclient.Error{}); !said && errors.As(err, &ce) && ce.Kind == card.KindUnsupported {
		return peer.ErrNone // by its card, or by the version it speaks
	}
	if ae == nil {
		return f
	}
	if ae.Kind == a2a.KindMethodNotFound {
		return peer.ErrNone
	}
	f.Kind = map[a2a.ErrorKind]string{
		a2a.KindTaskNotFound: "task-not-found", a2a.KindTaskNotCancelable: "task-not-cancelable",
		a2a.KindPushNotSupported: "push-not-supported", a2a.KindUnsupportedOperation: "unsupported-operation",
		a2a.KindTaskTerminal: "unsupported-operation", a2a.KindContentType: "content-type",
		a2a.KindInvalidParams: "invalid-params", a2a.KindInvalidRequest: "invalid-request",
		a2a.KindExtendedCardNotSet: "extended-card-not-configured",
		a2a.KindExtensionRequired:  "extension-required", a2a.KindUnauthenticated: "unauthenticated",
	}[ae.Kind]
	return f
}

func fromEvents(from iter.Seq2[a2a.Event, error]) iter.Seq2[*peer.Event, error] {
	return func(yield func(*peer.Event, error) bool) {
		for e, err := range from {
			if err != nil {
				yield(nil, failure(err))
				return
			}
			if !yield(fromEvent(e), nil) {
				return
			}
		}
	}
}

func fromEvent(e a2a.Event) *peer.Event {
	switch e := e.(type) {
	case *a2a.Message:
		return &peer.Event{Kind: "message", Task: e.TaskID, Context: e.ContextID, Said: fromParts(e.Parts)}
	case *a2a.Task:
		out := &peer.Event{
			Kind: "task", Task: e.ID, Context: e.ContextID, State: word(e.Status.State), Said: said(e.Status), History: len(e.History),
		}
		for _, a := range e.Artifacts {
			out.Artifacts = append(out.Artifacts, fromArtifact(a))
		}
		return out
	case *a2a.StatusUpdate:
		return &peer.Event{Kind: "status", Task: e.TaskID, Context: e.ContextID, State: word(e.Status.State), Said: said(e.Status)}
	case *a2a.ArtifactUpdate:
		return &peer.Event{
			Kind: "artifact", Task: e.TaskID, Context: e.ContextID, Append: e.Append, Last: e.LastChunk,
			Artifacts: []peer.Artifact{fromArtifact(e.Artifact)},
		}
	}
	return &peer.Event{}
}

func fromArtifact(a a2a.Artifact) peer.Artifact {
	return peer.Artifact{ID: a.ID, Name: a.Name, Parts: fromParts(a.Parts)}
}

func said(s a2a.TaskStatus) []peer.Part {
	if s.Message == nil {
		return nil
	}
	return fromParts(s.Message.Parts)
}

// word turns TASK_STATE_INPUT_REQUIRED into input-required.
func word(s a2a.TaskState) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(s), "TASK_STATE_"), "_", "-"))
}

func fromParts(in []a2a.Part) []peer.Part {
	var out []peer.Part
	for _, p := range in {
		out = append(out, peer.Part{
			Text: p.Text, Bytes: p.Raw, URL: p.URL, Data: p.Data, Name: p.Filename, MediaType: p.MediaType, Metadata: p.Metadata,
		})
	}
	return out
}
