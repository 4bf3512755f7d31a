package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"google.golang.org/grpc"

	"parley/interop/peer"
)

// agent obeys the first word of a message, as the harness's own agent does.
type agent struct{}

func (agent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		word, rest, _ := strings.Cut(text(ec.Message.Parts), " ")
		emit := func(e a2a.Event) bool { return yield(e, nil) }
		say := func(s a2a.TaskState, words string) bool {
			return emit(a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(words))))
		}
		chunk := func(id string, more, last bool, parts ...*a2a.Part) bool {
			e := a2a.NewArtifactUpdateEvent(ec, a2a.ArtifactID(id), parts...)
			e.Append, e.LastChunk, e.Artifact.Name = more, last, id
			return emit(e)
		}
		complete := func() { emit(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil)) }
		finish := func(parts ...*a2a.Part) {
			if chunk("result", false, true, parts...) {
				complete()
			}
		}
		if t := ec.StoredTask; t != nil && (t.Status.State == a2a.TaskStateInputRequired || t.Status.State == a2a.TaskStateAuthRequired) {
			finish(a2a.NewTextPart("You said " + text(ec.Message.Parts)))
			return
		}
		if word == "echo" {
			reply := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(rest))
			reply.ContextID = ec.ContextID
			emit(reply)
			return
		}
		if !emit(a2a.NewSubmittedTask(ec, ec.Message)) {
			return
		}
		switch word {
		case "task":
			finish(a2a.NewTextPart(rest))
		case "parts":
			finish(ec.Message.Parts[1:]...)
		case "metadata":
			finish(a2a.NewDataPart(ec.Message.Metadata))
		case "refer":
			var ids []string
			for _, id := range ec.Message.ReferenceTasks {
				ids = append(ids, string(id))
			}
			finish(a2a.NewTextPart(strings.Join(ids, " ")))
		case "tenant":
			finish(a2a.NewTextPart(ec.Tenant))
		case "extensions":
			asked := ""
			if x, ok := a2asrv.ExtensionsFrom(ctx); ok {
				asked = strings.Join(x.RequestedURIs(), " ")
			}
			finish(a2a.NewTextPart(asked))
		case "artifacts":
			_ = chunk("first", false, false, a2a.NewTextPart("one ")) && chunk("first", true, true, a2a.NewTextPart("two ")) &&
				chunk("second", false, false, a2a.NewTextPart("draft")) && chunk("second", false, true, a2a.NewTextPart("final"))
			complete()
		case "stream":
			if !emit(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil)) {
				return
			}
			for i := range 20 {
				if !chunk("text", i > 0, i == 19, a2a.NewTextPart(fmt.Sprintf("chunk %d 東;", i))) {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			complete()
		case "ask":
			say(a2a.TaskStateInputRequired, "Which colour?")
		case "auth":
			say(a2a.TaskStateAuthRequired, "Sign in first.")
		case "slow":
			if emit(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil)) {
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
			}
		default:
			say(a2a.TaskStateFailed, "I do not know "+word)
		}
	}
}

func (agent) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// anybody lets every caller in under one name: without a user the SDK's store lists nothing.
type anybody struct {
	a2asrv.PassthroughCallInterceptor
}

func (anybody) Before(ctx context.Context, call *a2asrv.CallContext, _ *a2asrv.Request) (context.Context, any, error) {
	call.User = a2asrv.NewAuthenticatedUser("anybody", nil)
	return ctx, nil, nil
}

func text(parts a2a.ContentParts) string {
	for _, p := range parts {
		if t := p.Text(); t != "" {
			return t
		}
	}
	return ""
}

// declare gives the card all kinds of security. The SDK does not read requirements as the proto has them, with a list.
func declare(card *a2a.AgentCard) error {
	var d struct {
		SecuritySchemes      a2a.NamedSecuritySchemes
		SecurityRequirements []struct {
			Schemes map[a2a.SecuritySchemeName]struct{ List a2a.SecuritySchemeScopes }
		}
	}
	if err := json.Unmarshal(peer.Security("1.0"), &d); err != nil {
		return err
	}
	card.SecuritySchemes = d.SecuritySchemes
	for _, r := range d.SecurityRequirements {
		all := a2a.SecurityRequirements{}
		for name, scopes := range r.Schemes {
			all[name] = scopes.List
		}
		card.SecurityRequirements = append(card.SecurityRequirements, all)
	}
	return nil
}

func serve(binding, trait string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	base := "http://" + l.Addr().String() + "/"
	at := base
	var rpc net.Listener
	if binding == peer.GRPC {
		if rpc, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
		at = rpc.Addr().String()
	}
	card := &a2a.AgentCard{
		Name: "Go SDK v1.0", Description: "A peer on a2a-go v2.", Version: "1",
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(at, a2a.TransportProtocol(binding))},
		Capabilities: a2a.AgentCapabilities{
			Streaming: true, PushNotifications: true, ExtendedAgentCard: true,
			Extensions: []a2a.AgentExtension{{URI: peer.Extension}},
		},
		DefaultInputModes: []string{"*/*"}, DefaultOutputModes: []string{"*/*"},
		Skills: []a2a.AgentSkill{{ID: "obey", Name: "Obey", Description: "Obeys the first word", Tags: []string{"test"}}},
	}
	card.Capabilities.Streaming = trait != peer.Polled
	if trait == peer.Declaring {
		if err := declare(card); err != nil {
			return err
		}
		card.SupportedInterfaces[0].Tenant = peer.Tenant
		card.Capabilities.Extensions[0].Required = true
	}
	extended := *card
	extended.Name += ", extended"
	h := a2asrv.NewHandler(agent{}, a2asrv.WithCallInterceptors(anybody{}), a2asrv.WithLogger(slog.New(slog.DiscardHandler)),
		a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(&push.HTTPSenderConfig{AllowPrivateNetworks: true})),
		a2asrv.WithExtendedAgentCard(&extended), a2asrv.WithCapabilityChecks(&card.Capabilities))
	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	switch binding {
	case peer.JSONRPC:
		mux.Handle("/", a2asrv.NewJSONRPCHandler(h))
	case peer.REST:
		mux.Handle("/", a2asrv.NewRESTHandler(h))
		mux.Handle("/"+peer.Tenant+"/", a2asrv.NewTenantRESTHandler("/{*}", h))
	case peer.GRPC:
		s := grpc.NewServer()
		a2agrpc.NewHandler(h).RegisterWith(s)
		go s.Serve(rpc)
	}
	fmt.Println("ready", base)
	return http.Serve(l, mux)
}
