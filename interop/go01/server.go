package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"trpc.group/trpc-go/trpc-a2a-go/auth"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/server"
	"trpc.group/trpc-go/trpc-a2a-go/taskmanager"

	"parley/interop/peer"
)

// agent obeys the first word of a message, as the harness's own agent does. It sends its webhooks itself: the SDK keeps
// their addresses and signs them, no more.
type agent struct {
	tasks  *taskmanager.MemoryTaskManager
	signer *auth.PushNotificationAuthenticator
}

func (a *agent) Process(ctx context.Context, id string, msg protocol.Message, h taskmanager.TaskHandle) error {
	word, rest, _ := strings.Cut(text(msg.Parts), " ")
	say := func(s protocol.TaskState, words string) error {
		m := protocol.NewMessage(protocol.MessageRoleAgent, []protocol.Part{protocol.NewTextPart(words)})
		return h.UpdateStatus(s, &m)
	}
	chunk := func(index int, name string, more, last bool, parts ...protocol.Part) error {
		return h.AddArtifact(protocol.Artifact{Index: index, Name: &name, Append: &more, LastChunk: &last, Parts: parts})
	}
	// finish makes one artifact. It does not call it the last chunk: this SDK would end the stream there.
	finish := func(parts ...protocol.Part) error {
		if err := chunk(0, "result", false, false, parts...); err != nil {
			return err
		}
		return h.UpdateStatus(protocol.TaskStateCompleted, nil)
	}
	if a.waits(id) {
		return finish(protocol.NewTextPart("You said " + text(msg.Parts)))
	}
	switch word {
	case "echo":
		return say(protocol.TaskStateCompleted, rest)
	case "task":
		return finish(protocol.NewTextPart(rest))
	case "parts":
		return finish(msg.Parts[1:]...)
	case "metadata":
		return finish(protocol.DataPart{Type: protocol.PartTypeData, Data: msg.Metadata})
	case "artifacts":
		for _, c := range []struct {
			index int
			more  bool
			text  string
		}{{0, false, "one "}, {0, true, "two "}, {1, false, "draft"}, {1, false, "final"}} {
			if err := chunk(c.index, []string{"first", "second"}[c.index], c.more, false, protocol.NewTextPart(c.text)); err != nil {
				return err
			}
		}
		return h.UpdateStatus(protocol.TaskStateCompleted, nil)
	case "stream":
		for i := range 20 {
			if err := chunk(0, "text", i > 0, false, protocol.NewTextPart(fmt.Sprintf("chunk %d 東;", i))); err != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
		return h.UpdateStatus(protocol.TaskStateCompleted, nil)
	case "ask":
		a.wait(id, true)
		return say(protocol.TaskStateInputRequired, "Which colour?")
	case "auth": // v0.1: an input-required whose message describes the need
		a.wait(id, true)
		m := protocol.NewMessage(protocol.MessageRoleAgent, []protocol.Part{
			protocol.NewTextPart("Sign in first."),
			protocol.DataPart{Type: protocol.PartTypeData, Data: map[string]any{"schemes": []string{"Bearer"}}},
		})
		return h.UpdateStatus(protocol.TaskStateInputRequired, &m)
	case "slow":
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
		return nil
	}
	return say(protocol.TaskStateFailed, "I do not know "+word)
}

// waits tells, once, whether the task asked something: the SDK has set it to working by now.
func (a *agent) waits(id string) bool {
	a.tasks.TasksMutex.Lock()
	defer a.tasks.TasksMutex.Unlock()
	t := a.tasks.Tasks[id]
	asked, _ := t.Metadata["asked"].(bool)
	delete(t.Metadata, "asked")
	return asked
}

func (a *agent) wait(id string, asked bool) {
	a.tasks.TasksMutex.Lock()
	defer a.tasks.TasksMutex.Unlock()
	a.tasks.Tasks[id].Metadata["asked"] = asked
}

// OnTaskStatusUpdate is called by the SDK for each status.
func (a *agent) OnTaskStatusUpdate(ctx context.Context, id string, state protocol.TaskState, m *protocol.Message) error {
	c, err := a.tasks.OnPushNotificationGet(ctx, protocol.TaskIDParams{ID: id})
	if err != nil {
		return nil //nolint:nilerr // nobody asked for webhooks
	}
	status := protocol.TaskStatus{State: state, Message: m, Timestamp: time.Now().UTC().Format(time.RFC3339)}
	note := map[string]any{"jsonrpc": "2.0", "method": "tasks/notifyEvent", "params": map[string]any{
		"id": id, "eventType": protocol.EventTaskStatusUpdate, "event": protocol.TaskStatusUpdateEvent{ID: id, Status: status},
	}}
	return a.signer.SendPushNotification(context.WithoutCancel(ctx), c.PushNotificationConfig.URL, note)
}

func serve(binding, trait string) error {
	if binding != peer.JSONRPC {
		return fmt.Errorf("v0.1 has no %s", binding)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	base := "http://" + l.Addr().String() + "/"
	a := &agent{signer: auth.NewPushNotificationAuthenticator()}
	if err := a.signer.GenerateKeyPair(); err != nil {
		return err
	}
	if a.tasks, err = taskmanager.NewMemoryTaskManager(a); err != nil {
		return err
	}
	about := "A peer on trpc-a2a-go 0.0.3."
	card := server.AgentCard{
		Name: "trpc v0.1", Description: &about, URL: base, Version: "1",
		Capabilities:      server.AgentCapabilities{Streaming: trait != peer.Polled, PushNotifications: true},
		DefaultInputModes: []string{"text", "file", "data"}, DefaultOutputModes: []string{"text", "file", "data"},
		Skills: []server.AgentSkill{{ID: "obey", Name: "Obey", Tags: []string{"test"}}},
	}
	if trait == peer.Declaring {
		if err := json.Unmarshal(peer.Security("0.1"), &card); err != nil {
			return err
		}
	}
	s, err := server.NewA2AServer(card, a.tasks, server.WithJWKSEndpoint(true, "/.well-known/jwks.json"), server.WithPushNotificationAuthenticator(a.signer))
	if err != nil {
		return err
	}
	fmt.Println("ready", base)
	return http.Serve(l, s.Handler())
}
