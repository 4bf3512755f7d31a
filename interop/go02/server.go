package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/server"
	"trpc.group/trpc-go/trpc-a2a-go/taskmanager"

	"parley/interop/peer"
)

// agent obeys the first word of a message, as the harness's own agent does.
type agent struct{}

func (a agent) ProcessMessage(
	_ context.Context, msg protocol.Message, o taskmanager.ProcessOptions, h taskmanager.TaskHandler,
) (*taskmanager.MessageProcessingResult, error) {
	word, rest, _ := strings.Cut(text(msg.Parts), " ")
	asked := false
	if msg.TaskID != nil {
		t, err := h.GetTask(msg.TaskID)
		if err != nil {
			return nil, err
		}
		asked = t.Task().Status.State == protocol.TaskStateInputRequired || t.Task().Status.State == protocol.TaskStateAuthRequired
	}
	if !asked && word == "echo" {
		reply := protocol.NewMessage(protocol.MessageRoleAgent, []protocol.Part{protocol.NewTextPart(rest)})
		reply.ContextID = msg.ContextID
		if !o.Streaming {
			return &taskmanager.MessageProcessingResult{Result: &reply}, nil
		}
		sub := taskmanager.NewMemoryTaskSubscriber("", 1)
		err := sub.Send(protocol.StreamingMessageEvent{Result: &reply})
		sub.Close()
		return &taskmanager.MessageProcessingResult{StreamingEvents: sub}, err
	}
	id := is(msg.TaskID)
	if id == "" {
		var err error
		if id, err = h.BuildTask(nil, msg.ContextID); err != nil {
			return nil, err
		}
	}
	t := &turn{h: h, id: id, msg: msg, asked: asked}
	if asked {
		t.state(protocol.TaskStateWorking, "") // the stream begins with the task as it stands
	}
	if o.Streaming {
		sub, err := h.SubscribeTask(&id)
		if err != nil {
			return nil, err
		}
		task, err := h.GetTask(&id)
		if err != nil {
			return nil, err
		}
		if err := sub.Send(protocol.StreamingMessageEvent{Result: task.Task()}); err != nil {
			return nil, err
		}
		go func() {
			defer sub.Close()
			t.run(word, rest)
		}()
		return &taskmanager.MessageProcessingResult{StreamingEvents: sub}, nil
	}
	if o.Blocking {
		t.run(word, rest)
	} else {
		go t.run(word, rest)
	}
	task, err := h.GetTask(&id)
	if err != nil {
		return nil, err
	}
	return &taskmanager.MessageProcessingResult{Result: task.Task()}, nil
}

// turn is one message to a task.
type turn struct {
	h     taskmanager.TaskHandler
	id    string
	msg   protocol.Message
	asked bool // before it
}

func (t *turn) chunk(name string, more, last bool, parts ...protocol.Part) {
	t.h.AddArtifact(&t.id, protocol.Artifact{ArtifactID: name, Name: &name, Parts: parts}, last, more)
}

func (t *turn) state(s protocol.TaskState, words string) {
	var m *protocol.Message
	if words != "" {
		said := protocol.NewMessageWithContext(protocol.MessageRoleAgent, []protocol.Part{protocol.NewTextPart(words)}, &t.id, t.msg.ContextID)
		m = &said
	}
	t.h.UpdateTaskState(&t.id, s, m)
}

func (t *turn) finish(parts ...protocol.Part) {
	t.chunk("result", false, true, parts...)
	t.state(protocol.TaskStateCompleted, "")
}

func (t *turn) run(word, rest string) {
	if t.asked {
		t.finish(protocol.NewTextPart("You said " + text(t.msg.Parts)))
		return
	}
	switch word {
	case "task":
		t.finish(protocol.NewTextPart(rest))
	case "parts":
		t.finish(t.msg.Parts[1:]...)
	case "metadata":
		t.finish(protocol.NewDataPart(t.msg.Metadata))
	case "refer":
		t.finish(protocol.NewTextPart(strings.Join(t.msg.ReferenceTaskIDs, " ")))
	case "artifacts":
		t.chunk("first", false, false, protocol.NewTextPart("one "))
		t.chunk("first", true, true, protocol.NewTextPart("two "))
		t.chunk("second", false, false, protocol.NewTextPart("draft"))
		t.chunk("second", false, true, protocol.NewTextPart("final"))
		t.state(protocol.TaskStateCompleted, "")
	case "stream":
		t.state(protocol.TaskStateWorking, "")
		for i := range 20 {
			t.chunk("text", i > 0, i == 19, protocol.NewTextPart(fmt.Sprintf("chunk %d 東;", i)))
			time.Sleep(20 * time.Millisecond)
		}
		t.state(protocol.TaskStateCompleted, "")
	case "ask":
		t.state(protocol.TaskStateInputRequired, "Which colour?")
	case "auth":
		t.state(protocol.TaskStateAuthRequired, "Sign in first.")
	case "slow":
		t.state(protocol.TaskStateWorking, "")
		for range 1200 {
			if _, err := t.h.GetTask(&t.id); err != nil { // this SDK forgets what is canceled
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	default:
		t.state(protocol.TaskStateFailed, "I do not know "+word)
	}
}

func serve(binding, trait string) error {
	if binding != peer.JSONRPC {
		return fmt.Errorf("trpc-a2a-go has no %s", binding)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	base := "http://" + l.Addr().String() + "/"
	tasks, err := taskmanager.NewMemoryTaskManager(agent{})
	if err != nil {
		return err
	}
	on, version, about, streams := true, server.ProtocolVersion, "Obeys the first word", trait != peer.Polled
	card := server.AgentCard{
		Name: "trpc v0.2", Description: "A peer on trpc-a2a-go 0.2.5.", URL: base, Version: "1", ProtocolVersion: &version,
		Capabilities:      server.AgentCapabilities{Streaming: &streams, PushNotifications: &on},
		DefaultInputModes: []string{"*/*"}, DefaultOutputModes: []string{"*/*"},
		Skills:                            []server.AgentSkill{{ID: "obey", Name: "Obey", Description: &about, Tags: []string{"test"}}},
		SupportsAuthenticatedExtendedCard: &on,
	}
	if trait == peer.Declaring {
		if err := json.Unmarshal(peer.Security("0.2"), &card); err != nil {
			return err
		}
	}
	s, err := server.NewA2AServer(card, tasks, server.WithAuthenticatedExtendedCardHandler(func(_ context.Context, c server.AgentCard) (server.AgentCard, error) {
		c.Name += ", extended"
		return c, nil
	}))
	if err != nil {
		return err
	}
	fmt.Println("ready", base)
	return http.Serve(l, s.Handler())
}
