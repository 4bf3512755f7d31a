package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// agent obeys the first word of a message: echo, task, stream, ask, slow, files.
type agent struct{}

func (agent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		word, rest, _ := strings.Cut(text(ec.Message.Parts), " ")
		emit := func(e a2a.Event) bool { return yield(e, nil) }
		say := func(s a2a.TaskState, words string) bool {
			return emit(a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(words))))
		}
		finish := func(parts ...*a2a.Part) {
			if emit(a2a.NewArtifactEvent(ec, parts...)) {
				emit(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil))
			}
		}
		if ec.StoredTask != nil && ec.StoredTask.Status.State == a2a.TaskStateInputRequired {
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
		case "stream":
			stream(ec, emit)
		case "ask":
			say(a2a.TaskStateInputRequired, "Which colour?")
		case "slow":
			if emit(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil)) {
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
			}
		case "files":
			finish(ec.Message.Parts[1:]...)
		default:
			say(a2a.TaskStateFailed, "I do not know "+word)
		}
	}
}

func stream(ec *a2asrv.ExecutorContext, emit func(a2a.Event) bool) {
	if !emit(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil)) {
		return
	}
	var id a2a.ArtifactID
	for i := range 20 {
		chunk := a2a.NewTextPart(fmt.Sprintf("chunk %d 東;", i))
		e := a2a.NewArtifactUpdateEvent(ec, id, chunk)
		if id == "" {
			e = a2a.NewArtifactEvent(ec, chunk)
			id = e.Artifact.ID
		}
		e.LastChunk = i == 19
		if !emit(e) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	emit(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil))
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

func serve() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	url := "http://" + l.Addr().String() + "/"
	card := &a2a.AgentCard{
		Name: "Go SDK v1.0", Description: "A peer on a2a-go v2.", Version: "1",
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(url, a2a.TransportProtocolJSONRPC)},
		Capabilities:        a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:   []string{"*/*"}, DefaultOutputModes: []string{"*/*"},
		Skills: []a2a.AgentSkill{{ID: "obey", Name: "Obey", Description: "Obeys the first word", Tags: []string{"test"}}},
	}
	h := a2asrv.NewHandler(agent{}, a2asrv.WithCallInterceptors(anybody{}), a2asrv.WithLogger(slog.New(slog.DiscardHandler)))
	mux := http.NewServeMux()
	mux.Handle("/", a2asrv.NewJSONRPCHandler(h))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	fmt.Println("ready", url)
	log.Fatal(http.Serve(l, mux))
}
