package a2aserver_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"

	"parley/a2a"
	"parley/a2aserver"
)

// greeter is an agent: it asks for a name and then greets.
type greeter struct{}

func (greeter) Execute(_ context.Context, t *a2aserver.Turn) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if t.Task == nil {
			ask := &a2a.StatusUpdate{Status: a2a.TaskStatus{State: a2a.TaskStateInputRequired}}
			ask.Status.Message = &a2a.Message{Parts: []a2a.Part{a2a.TextPart("Who are you?")}}
			yield(ask, nil)
			return
		}
		yield(&a2a.ArtifactUpdate{Artifact: a2a.Artifact{
			Name: "Greeting", Parts: []a2a.Part{a2a.TextPart("Hello, " + a2a.Text(t.Message.Parts) + "!")},
		}}, nil)
	}
}

// Serve an agent over HTTP, its tasks kept in memory.
func Example() {
	ctx := context.Background()
	agent := a2aserver.NewAgent(greeter{}, a2aserver.NewMemoryLog(), nil)
	if err := agent.Resume(ctx); err != nil { // tasks of an earlier process
		fmt.Println(err)
	}
	card := &a2a.AgentCard{
		Name: "Greeter", Description: "Greets.", Version: "1.0.0",
		Capabilities: a2a.AgentCapabilities{Streaming: true},
		Interfaces:   []a2a.AgentInterface{{URL: "http://127.0.0.1/", Binding: a2a.BindingJSONRPC, Version: "1.0"}},
	}
	handler := a2aserver.NewHandler(agent, func(context.Context, *http.Request) *a2a.AgentCard { return card }, nil)
	server := httptest.NewServer(handler)
	defer server.Close()
	defer agent.Close(ctx)
	defer handler.Drain()

	res, err := http.Post(server.URL, "application/json", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hi"}]}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	fmt.Println(res.StatusCode, strings.Contains(string(body), "Who are you?"))
	// Output: 200 true
}

// An Agent can be used without HTTP, too.
func ExampleAgent() {
	ctx := context.Background()
	agent := a2aserver.NewAgent(greeter{}, a2aserver.NewMemoryLog(), nil)
	defer agent.Close(ctx)

	say := func(id, task, text string) *a2a.SendRequest {
		return &a2a.SendRequest{Message: a2a.Message{ID: id, TaskID: task, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}}}
	}
	first, err := agent.Start(ctx, "", say("m-1", "", "hi"))
	if err != nil {
		fmt.Println(err)
		return
	}
	follow := func(s a2aserver.Started) {
		for entries, err := range agent.Events(ctx, "", s.TaskID, s.After) {
			if err != nil {
				fmt.Println(err)
				return
			}
			for _, e := range entries {
				event, _ := e.Event()
				switch event := event.(type) {
				case *a2a.ArtifactUpdate:
					fmt.Println(a2a.Text(event.Artifact.Parts))
				case *a2a.StatusUpdate:
					fmt.Println(event.Status.State)
				}
				if a2a.EventState(event).Interrupted() {
					return
				}
			}
		}
	}
	follow(first)
	second, _ := agent.Start(ctx, "", say("m-2", first.TaskID, "Ada"))
	follow(second)
	// Output:
	// TASK_STATE_INPUT_REQUIRED
	// TASK_STATE_WORKING
	// Hello, Ada!
	// TASK_STATE_COMPLETED
}
