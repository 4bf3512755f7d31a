package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
)

// agent obeys the first word of a message: echo, task, stream, ask, slow, files.
type agent struct {
	mu      sync.Mutex
	running map[a2a.TaskID]context.CancelFunc
}

func (ag *agent) Execute(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue) error {
	word, rest, _ := strings.Cut(text(rc.Message.Parts), " ")
	if rc.StoredTask != nil && rc.StoredTask.Status.State == a2a.TaskStateInputRequired {
		return ag.finish(ctx, rc, q, a2a.TextPart{Text: "You said " + text(rc.Message.Parts)})
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
		return ag.finish(ctx, rc, q, a2a.TextPart{Text: rest})
	case "stream":
		return ag.stream(ctx, rc, q)
	case "ask":
		e := a2a.NewStatusUpdateEvent(rc, a2a.TaskStateInputRequired, a2a.NewMessageForTask(a2a.MessageRoleAgent, rc, a2a.TextPart{Text: "Which colour?"}))
		e.Final = true
		return q.Write(ctx, e)
	case "slow":
		return ag.slow(ctx, rc, q)
	case "files":
		return ag.finish(ctx, rc, q, rc.Message.Parts[1:]...)
	}
	e := a2a.NewStatusUpdateEvent(rc, a2a.TaskStateFailed, a2a.NewMessageForTask(a2a.MessageRoleAgent, rc, a2a.TextPart{Text: "I do not know " + word}))
	e.Final = true
	return q.Write(ctx, e)
}

func (ag *agent) finish(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue, parts ...a2a.Part) error {
	if err := q.Write(ctx, a2a.NewArtifactEvent(rc, parts...)); err != nil {
		return err
	}
	return ag.end(ctx, rc, q, a2a.TaskStateCompleted)
}

func (ag *agent) end(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue, s a2a.TaskState) error {
	e := a2a.NewStatusUpdateEvent(rc, s, nil)
	e.Final = true
	return q.Write(ctx, e)
}

func (ag *agent) stream(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue) error {
	if err := q.Write(ctx, a2a.NewStatusUpdateEvent(rc, a2a.TaskStateWorking, nil)); err != nil {
		return err
	}
	var id a2a.ArtifactID
	for i := range 20 {
		chunk := a2a.TextPart{Text: fmt.Sprintf("chunk %d 東;", i)}
		e := a2a.NewArtifactUpdateEvent(rc, id, chunk)
		if id == "" {
			e = a2a.NewArtifactEvent(rc, chunk)
			id = e.Artifact.ID
		}
		e.LastChunk = i == 19
		if err := q.Write(ctx, e); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return ag.end(ctx, rc, q, a2a.TaskStateCompleted)
}

func (ag *agent) slow(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ag.mu.Lock()
	ag.running[rc.TaskID] = cancel
	ag.mu.Unlock()
	if err := q.Write(ctx, a2a.NewStatusUpdateEvent(rc, a2a.TaskStateWorking, nil)); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (ag *agent) Cancel(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue) error {
	err := ag.end(ctx, rc, q, a2a.TaskStateCanceled)
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

func serve() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	url := "http://" + l.Addr().String() + "/"
	card := &a2a.AgentCard{
		Name: "Go SDK v0.3", Description: "A peer on a2a-go.", Version: "1", ProtocolVersion: string(a2a.Version), URL: url,
		PreferredTransport: a2a.TransportProtocolJSONRPC, Capabilities: a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes: []string{"*/*"}, DefaultOutputModes: []string{"*/*"},
		Skills: []a2a.AgentSkill{{ID: "obey", Name: "Obey", Description: "Obeys the first word", Tags: []string{"test"}}},
	}
	h := a2asrv.NewHandler(&agent{running: map[a2a.TaskID]context.CancelFunc{}}, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))
	mux := http.NewServeMux()
	mux.Handle("/", a2asrv.NewJSONRPCHandler(h))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	fmt.Println("ready", url)
	log.Fatal(http.Serve(l, mux))
}
