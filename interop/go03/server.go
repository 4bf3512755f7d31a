package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2agrpc"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/a2aproject/a2a-go/a2asrv/push"
	"google.golang.org/grpc"

	"parley/interop/peer"
)

// agent obeys the first word of a message, as the harness's own agent does.
type agent struct {
	mu      sync.Mutex
	running map[a2a.TaskID]context.CancelFunc
}

func (ag *agent) Execute(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue) error {
	word, rest, _ := strings.Cut(text(rc.Message.Parts), " ")
	chunk := func(id string, more, last bool, parts ...a2a.Part) error {
		e := a2a.NewArtifactUpdateEvent(rc, a2a.ArtifactID(id), parts...)
		e.Append, e.LastChunk, e.Artifact.Name = more, last, id
		return q.Write(ctx, e)
	}
	finish := func(parts ...a2a.Part) error {
		return errors.Join(chunk("result", false, true, parts...), status(ctx, rc, q, a2a.TaskStateCompleted, ""))
	}
	if t := rc.StoredTask; t != nil && (t.Status.State == a2a.TaskStateInputRequired || t.Status.State == a2a.TaskStateAuthRequired) {
		return finish(a2a.TextPart{Text: "You said " + text(rc.Message.Parts)})
	}
	if word == "echo" {
		reply := a2a.NewMessage(a2a.MessageRoleAgent, a2a.TextPart{Text: rest})
		reply.ContextID = rc.ContextID
		return q.Write(ctx, reply)
	}
	if err := q.Write(ctx, a2a.NewSubmittedTask(rc, rc.Message)); err != nil {
		return err
	}
	switch word {
	case "task":
		return finish(a2a.TextPart{Text: rest})
	case "parts":
		return finish(rc.Message.Parts[1:]...)
	case "metadata":
		return finish(a2a.DataPart{Data: rc.Message.Metadata})
	case "refer":
		var ids []string
		for _, id := range rc.Message.ReferenceTasks {
			ids = append(ids, string(id))
		}
		return finish(a2a.TextPart{Text: strings.Join(ids, " ")})
	case "extensions":
		asked := ""
		if x, ok := a2asrv.ExtensionsFrom(ctx); ok {
			asked = strings.Join(x.RequestedURIs(), " ")
		}
		return finish(a2a.TextPart{Text: asked})
	case "artifacts":
		return errors.Join(
			chunk("first", false, false, a2a.TextPart{Text: "one "}), chunk("first", true, true, a2a.TextPart{Text: "two "}),
			chunk("second", false, false, a2a.TextPart{Text: "draft"}), chunk("second", false, true, a2a.TextPart{Text: "final"}),
			status(ctx, rc, q, a2a.TaskStateCompleted, ""))
	case "stream":
		if err := status(ctx, rc, q, a2a.TaskStateWorking, ""); err != nil {
			return err
		}
		for i := range 20 {
			if err := chunk("text", i > 0, i == 19, a2a.TextPart{Text: fmt.Sprintf("chunk %d 東;", i)}); err != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
		return status(ctx, rc, q, a2a.TaskStateCompleted, "")
	case "ask":
		return status(ctx, rc, q, a2a.TaskStateInputRequired, "Which colour?")
	case "auth":
		return status(ctx, rc, q, a2a.TaskStateAuthRequired, "Sign in first.")
	case "slow":
		return ag.slow(ctx, rc, q)
	}
	return status(ctx, rc, q, a2a.TaskStateFailed, "I do not know "+word)
}

func status(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue, s a2a.TaskState, words string) error {
	e := a2a.NewStatusUpdateEvent(rc, s, nil)
	if words != "" {
		e.Status.Message = a2a.NewMessageForTask(a2a.MessageRoleAgent, rc, a2a.TextPart{Text: words})
	}
	e.Final = s.Terminal() || s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
	return q.Write(ctx, e)
}

func (ag *agent) slow(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ag.mu.Lock()
	ag.running[rc.TaskID] = cancel
	ag.mu.Unlock()
	if err := status(ctx, rc, q, a2a.TaskStateWorking, ""); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (ag *agent) Cancel(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue) error {
	err := status(ctx, rc, q, a2a.TaskStateCanceled, "")
	ag.mu.Lock()
	defer ag.mu.Unlock()
	if stop := ag.running[rc.TaskID]; stop != nil {
		stop()
	}
	return err
}

func text(parts a2a.ContentParts) string {
	for _, p := range parts {
		if t, ok := p.(a2a.TextPart); ok {
			return t.Text
		}
	}
	return ""
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
		Name: "Go SDK v0.3", Description: "A peer on a2a-go.", Version: "1", ProtocolVersion: string(a2a.Version), URL: at,
		PreferredTransport: a2a.TransportProtocol(binding), SupportsAuthenticatedExtendedCard: true,
		Capabilities: a2a.AgentCapabilities{
			Streaming: true, PushNotifications: true, Extensions: []a2a.AgentExtension{{URI: peer.Extension}},
		},
		DefaultInputModes: []string{"*/*"}, DefaultOutputModes: []string{"*/*"},
		Skills: []a2a.AgentSkill{{ID: "obey", Name: "Obey", Description: "Obeys the first word", Tags: []string{"test"}}},
	}
	card.Capabilities.Streaming = trait != peer.Polled
	if trait == peer.Declaring {
		if err := json.Unmarshal(peer.Security("0.3"), card); err != nil {
			return err
		}
		card.Capabilities.Extensions[0].Required = true
	}
	extended := *card
	extended.Name += ", extended"
	h := a2asrv.NewHandler(&agent{running: map[a2a.TaskID]context.CancelFunc{}}, a2asrv.WithLogger(slog.New(slog.DiscardHandler)),
		a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(nil)), a2asrv.WithExtendedAgentCard(&extended))
	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	switch binding {
	case peer.JSONRPC:
		mux.Handle("/", a2asrv.NewJSONRPCHandler(h))
	case peer.GRPC:
		s := grpc.NewServer()
		a2agrpc.NewHandler(h).RegisterWith(s)
		go s.Serve(rpc)
	default:
		return fmt.Errorf("a2a-go 0.3 has no %s", binding)
	}
	fmt.Println("ready", base)
	return http.Serve(l, mux)
}
