package a2aclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"parley/a2a"
	"parley/a2aclient"
	"parley/a2aclient/card"
)

// Finding an agent by its address and talking to it.
func Example() {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"name":"Echo","supportedInterfaces":[{"url":"/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"task":{"id":"1","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`,
			`{"artifactUpdate":{"taskId":"1","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"Hello."}]}}}`,
			`{"statusUpdate":{"taskId":"1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`,
		} {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":%s}\n\n", event)
		}
	}))
	defer agent.Close()
	ctx, way := context.Background(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

	found, err := card.Find(ctx, agent.URL, &card.Options{HTTP: way})
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := a2aclient.New(found[0].Card, found[0].Interface, &a2aclient.Options{HTTP: way})
	if err != nil {
		fmt.Println(err)
		return
	}
	message := a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hi")}}
	for event, err := range client.Stream(ctx, &a2a.SendRequest{Message: message}) {
		var gap *a2aclient.GapError
		switch {
		case errors.As(err, &gap):
			continue // something may be missing; it goes on
		case err != nil:
			fmt.Println(err)
			return
		}
		switch e := event.(type) {
		case *a2a.Message:
			fmt.Println(a2a.Text(e.Parts))
		case *a2a.ArtifactUpdate:
			fmt.Println(a2a.Text(e.Artifact.Parts))
		default:
			fmt.Println(a2a.EventState(e))
		}
	}
	// Output:
	// TASK_STATE_WORKING
	// Hello.
	// TASK_STATE_COMPLETED
}
