//go:build interop

package interop

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"parley/a2a"
	"parley/a2aserver"
	"parley/interop/peer"
)

// obedient is our agent: it obeys the first word of a message. With a fault it does each thing wrong.
type obedient struct{ fault bool }

func (o obedient) Execute(ctx context.Context, turn *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		word, rest, _ := strings.Cut(a2a.Text(turn.Message.Parts[:1]), " ")
		emit := func(e a2a.Event) bool { return yield(e, nil) }
		status := func(s a2a.TaskState, words string) bool {
			u := &a2a.StatusUpdate{Status: a2a.TaskStatus{State: s}}
			if words != "" {
				u.Status.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(words)}}
			}
			return emit(u)
		}
		chunk := func(id string, more, last bool, parts ...a2a.Part) bool {
			return emit(&a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: id, Name: id, Parts: parts}, Append: more, LastChunk: last})
		}
		finish := func(parts ...a2a.Part) {
			if chunk("result", false, true, parts...) {
				status(a2a.TaskStateCompleted, "")
			}
		}
		if o.fault {
			finish(a2a.TextPart("something else"))
			return
		}
		if t := turn.Task; t != nil && (t.Status.State == a2a.TaskStateInputRequired || t.Status.State == a2a.TaskStateAuthRequired) {
			finish(a2a.TextPart("You said " + a2a.Text(turn.Message.Parts)))
			return
		}
		switch word {
		case "echo":
			emit(&a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(rest)}})
		case "task":
			finish(a2a.TextPart(rest))
		case "parts":
			finish(turn.Message.Parts[1:]...)
		case "metadata":
			finish(a2a.Part{Kind: a2a.PartData, Data: json.RawMessage(turn.Message.Metadata)})
		case "refer":
			finish(a2a.TextPart(strings.Join(turn.Message.ReferenceTaskIDs, " ")))
		case "artifacts":
			_ = chunk("first", false, false, a2a.TextPart("one ")) && chunk("first", true, true, a2a.TextPart("two ")) &&
				chunk("second", false, false, a2a.TextPart("draft")) && chunk("second", false, true, a2a.TextPart("final")) &&
				status(a2a.TaskStateCompleted, "")
		case "stream":
			if !status(a2a.TaskStateWorking, "") {
				return
			}
			for i := range 20 {
				if *plant && i == 7 {
					continue
				}
				if !chunk("text", i > 0, i == 19, a2a.TextPart(fmt.Sprintf("chunk %d 東;", i))) {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			status(a2a.TaskStateCompleted, "")
		case "ask":
			status(a2a.TaskStateInputRequired, "Which colour?")
		case "auth":
			status(a2a.TaskStateAuthRequired, "Sign in first.")
		case "slow":
			if status(a2a.TaskStateWorking, "") {
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
			}
		default:
			status(a2a.TaskStateFailed, "I do not know "+word)
		}
	}
}

type agentOptions struct {
	token     string // that callers need; "" = none
	fault     bool
	declaring *atomic.Int64 // the card declares security, a tenant, which is counted, and modes of text
	needing   bool          // the agent needs the extension
}

// ourAgent serves our agent in every binding until the test ends, and returns its address.
func ourAgent(t *testing.T, o agentOptions) string {
	t.Helper()
	var handler http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	base := s.URL + "/"
	rpc, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	card := &a2a.AgentCard{
		Name: "Obedient", Description: "Obeys the first word of a message.", Version: "1",
		Capabilities: a2a.AgentCapabilities{
			Streaming: true, PushNotifications: true, ExtendedAgentCard: true, Extensions: []a2a.AgentExtension{{URI: peer.Extension}},
		},
		DefaultInputModes: []string{"*/*"}, DefaultOutputModes: []string{"*/*"},
		Skills: []a2a.AgentSkill{{ID: "obey", Name: "Obey", Description: "Obeys the first word", Tags: []string{"test"}}},
	}
	if o.token != "" {
		card.SecuritySchemes = map[string]a2a.SecurityScheme{"bearer": {Kind: a2a.SchemeHTTP, Scheme: "Bearer"}}
		card.SecurityRequirements = []a2a.SecurityRequirement{{"bearer": nil}}
	}
	for _, v := range []string{"1.0", "0.3"} {
		for _, b := range []string{a2a.BindingJSONRPC, a2a.BindingREST} {
			card.Interfaces = append(card.Interfaces, a2a.AgentInterface{URL: base, Binding: b, Version: v})
		}
		card.Interfaces = append(card.Interfaces, a2a.AgentInterface{URL: rpc.Addr().String(), Binding: a2a.BindingGRPC, Version: v})
	}
	card.Capabilities.Extensions[0].Required = o.needing
	var tenant func(context.Context, string, string) bool
	if o.declaring != nil {
		if card.SecuritySchemes, card.SecurityRequirements, err = declared(peer.Security("1.0")); err != nil {
			t.Fatal(err)
		}
		card.DefaultInputModes, card.DefaultOutputModes = []string{"text/plain"}, []string{"text/plain"}
		for i := range card.Interfaces {
			if card.Interfaces[i].Version == "1.0" {
				card.Interfaces[i].Tenant = peer.Tenant
			}
		}
		tenant = func(_ context.Context, _, name string) bool {
			o.declaring.Add(1)
			return name == peer.Tenant
		}
	}
	extended := *card
	extended.Name += ", extended"
	agent := a2aserver.NewAgent(obedient{o.fault}, a2aserver.NewMemoryLog(), nil)
	sender := a2aserver.NewPushSender(&a2aserver.PushOptions{
		Tasks: func(string) a2aserver.Tasks { return agent },
		Target: func(*url.URL) (a2aserver.PushTarget, error) {
			return a2aserver.PushTarget{HTTP: http.DefaultClient}, nil
		},
	})
	if err := sender.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	known := func(authorization string) (string, error) {
		if o.token != "" && subtle.ConstantTimeCompare([]byte(authorization), []byte("Bearer "+o.token)) == 0 {
			return "", a2a.ErrUnauthenticated
		}
		return "peer", nil
	}
	served := a2aserver.NewHandler(agent, func(context.Context, *http.Request) *a2a.AgentCard { return card }, &a2aserver.HandlerOptions{
		Authenticate: func(r *http.Request) (string, error) { return known(r.Header.Get("Authorization")) },
		ExtendedCard: func(context.Context, string) *a2a.AgentCard { return &extended },
		Push:         sender.For(""),
		Tenant:       tenant,
	})
	handler = served
	over := a2aserver.NewGRPC(served, &a2aserver.GRPCOptions{
		Authenticate: func(_ context.Context, md metadata.MD) (string, func(), error) {
			principal, err := known(strings.Join(md.Get("authorization"), ""))
			return principal, nil, err
		},
	})
	go over.Serve(rpc) //nolint:errcheck // it ends with the test
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = over.Stop(ctx)
		_ = sender.Close(ctx)
		_ = agent.Close(ctx)
	})
	return base
}
