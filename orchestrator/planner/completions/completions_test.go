package completions_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/orchestrator/planner/completions"
	"parley/orchestrator/planner/modeltest"
)

// client returns a client of an endpoint that notes how long it would have slept.
func client(t *testing.T, url string, o completions.Options) (*completions.Client, *[]time.Duration) {
	t.Helper()
	var slept []time.Duration
	o.Sleep = func(ctx context.Context, d time.Duration) error {
		slept = append(slept, d)
		return ctx.Err()
	}
	c, err := completions.New(url, http.DefaultClient, &o)
	if err != nil {
		t.Fatal(err)
	}
	return c, &slept
}

var hello = &completions.Request{
	Model:    "small",
	Messages: []completions.Message{{Role: completions.User, Content: "Hello"}},
	Tools:    []completions.Tool{{Name: "delegate", Parameters: []byte(`{"type":"object"}`)}},
	Must:     true,
}

func TestStreamedCalls(t *testing.T) {
	t.Parallel()
	e := modeltest.New(t, modeltest.Calls(
		modeltest.Call("delegate", `{"agent":"reiseb\u00fcro","message":"Zwei Nächte 東京 🗼"}`), modeltest.Call("finish", `{}`)))
	c, _ := client(t, e.URL, completions.Options{})
	got, err := c.Complete(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	want := &completions.Reply{
		Model: "small",
		Calls: []completions.Call{
			{ID: "call_0", Name: "delegate", Arguments: `{"agent":"reiseb\u00fcro","message":"Zwei Nächte 東京 🗼"}`},
			{ID: "call_1", Name: "finish", Arguments: `{}`},
		},
		Usage: completions.Usage{Input: 11, Output: 7},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	r := e.Asked()[0]
	if r.Choice != "required" || !r.Stream || string(r.Options) != `{"include_usage":true}` || r.Heat == nil || *r.Heat != 0 {
		t.Errorf("asked with %s", r.Body)
	}
}

// TestAnswers reads what servers that differ answer.
func TestAnswers(t *testing.T) {
	t.Parallel()
	sse := func(events ...string) modeltest.Answer {
		return modeltest.Raw("text/event-stream", "data: "+strings.Join(events, "\n\ndata: ")+"\n\n")
	}
	delta := func(d string) string { return `{"choices":[{"delta":` + d + `}]}` }
	end := `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	calls := func(all ...completions.Call) completions.Reply { return completions.Reply{Calls: all} }
	for name, c := range map[string]struct {
		answer modeltest.Answer
		want   completions.Reply
	}{
		"not streamed": {
			modeltest.Raw("application/json", `{"model":"m","choices":[{"message":{"content":"Hi","tool_calls":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`),
			completions.Reply{Model: "m", Content: "Hi", Usage: completions.Usage{Input: 3, Output: 1}},
		},
		"not streamed, with a call": {
			modeltest.Raw("application/json", `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
			calls(completions.Call{ID: "a", Name: "f", Arguments: "{}"}),
		},
		"arguments as an object": {
			sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}`), end),
			calls(completions.Call{ID: "a", Name: "f", Arguments: `{"x":1}`}),
		},
		"every call has the index 0": {
			sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"[]"}}]}`), end),
			calls(completions.Call{ID: "a", Name: "f", Arguments: "{}"}, completions.Call{ID: "b", Name: "f", Arguments: "[]"}),
		},
		"no index": {
			sse(delta(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}`), delta(`{"tool_calls":[{"function":{"arguments":"}"}}]}`), delta(`{"tool_calls":[{"id":"b","function":{"name":"g","arguments":""}}]}`), end),
			calls(completions.Call{ID: "a", Name: "f", Arguments: "{}"}, completions.Call{ID: "b", Name: "g"}),
		},
		"the name with each piece": {
			sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}]}`), end),
			calls(completions.Call{ID: "a", Name: "f", Arguments: "{}"}),
		},
		"pieces of two calls in turns": {
			sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"b","function":{"name":"g"}}]}`),
				delta(`{"tool_calls":[{"index":1,"function":{"arguments":"1"}},{"index":0,"function":{"arguments":"0"}}]}`), end),
			calls(completions.Call{ID: "a", Name: "f", Arguments: "0"}, completions.Call{ID: "b", Name: "g", Arguments: "1"}),
		},
		"comments, and no [DONE]": {
			modeltest.Raw("text/event-stream", ": PROCESSING\n\ndata:"+delta(`{"content":"Hi"}`)+"\r\n\r\n: PROCESSING\n\ndata: "+end+"\n\n"),
			completions.Reply{Content: "Hi"},
		},
		"[DONE], and no reason": {sse(delta(`{"content":"Hi"}`), "[DONE]"), completions.Reply{Content: "Hi"}},
		"content in parts":      {sse(delta(`{"content":[{"type":"thinking","text":"hm"},{"type":"text","text":"Hi"}]}`), end), completions.Reply{Content: "Hi"}},
		"cut off by its length": {
			sse(delta(`{"content":"Hi"}`), `{"choices":[{"delta":{},"finish_reason":"length"}]}`), completions.Reply{Content: "Hi", Length: true},
		},
		"another choice beside": {
			sse(`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"Hi"}}]}`, end), completions.Reply{Content: "Hi"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := modeltest.New(t, c.answer)
			k, _ := client(t, e.URL, completions.Options{})
			got, err := k.Complete(t.Context(), hello)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer modeltest.Answer
		want   completions.Kind
		said   string
	}{
		"key":                  {modeltest.Status(401, `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`), completions.BadKey, "Incorrect API key"},
		"forbidden":            {modeltest.Status(403, `{"detail":"Not here"}`), completions.BadKey, "Not here"},
		"no model (OpenAI)":    {modeltest.Status(404, `{"error":{"message":"The model does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found"}}`), completions.NoModel, ""},
		"no model (Ollama)":    {modeltest.Status(404, `{"error":{"message":"model \"small\" not found, try pulling it first","type":"api_error"}}`), completions.NoModel, ""},
		"no model (vLLM)":      {modeltest.Status(404, `{"object":"error","message":"The model `+"`small`"+` does not exist.","type":"NotFoundError","code":404}`), completions.NoModel, ""},
		"no API":               {modeltest.Status(404, "404 page not found"), completions.NoAPI, "404 page not found"},
		"moved":                {modeltest.Status(307, "", "Location", "/elsewhere"), completions.NoAPI, ""},
		"a page":               {modeltest.Status(405, "<!doctype html><p>no"), completions.NoAPI, ""},
		"no tools (Ollama)":    {modeltest.Status(400, `{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools"}}`), completions.NoTools, ""},
		"no tools (llama.cpp)": {modeltest.Status(500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`), completions.NoTools, ""},
		"no tools (router)":    {modeltest.Status(404, `{"error":{"message":"No endpoints found that support tool use.","code":404}}`), completions.NoTools, ""},
		"a call it wrote (Groq)": {
			modeltest.Status(400, `{"error":{"message":"Failed to call a function. Please adjust your prompt.","code":"tool_use_failed"}}`), completions.Garbage, "",
		},
		"too long (OpenAI)": {
			modeltest.Status(400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}`), completions.TooLong, "",
		},
		"too long (llama.cpp)": {
			modeltest.Status(400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`), completions.TooLong, "",
		},
		"too long (a proxy)": {modeltest.Status(413, ""), completions.TooLong, ""},
		"quota":              {modeltest.Status(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`), completions.NoCredit, ""},
		"payment":            {modeltest.Status(402, `{"error":"no credit"}`), completions.NoCredit, "no credit"},
		"refused":            {modeltest.Status(400, `{"error":{"message":"messages: too few"}}`), completions.BadRequest, "messages: too few"},
		"no JSON":            {modeltest.Raw("application/json", "hello"), completions.Garbage, "hello"},
		"another JSON":       {modeltest.Raw("application/json", `{"ok":true}`), completions.Garbage, ""},
		"no JSON in a stream": {
			modeltest.Raw("text/event-stream", "data: {\"choices\":[{\"delta\n\n"), completions.Garbage, "",
		},
		"too long, in a stream": {
			modeltest.Raw("text/event-stream", `data: {"error":{"message":"context length exceeded","code":400}}`+"\n\n"), completions.TooLong, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := modeltest.New(t, c.answer)
			k, slept := client(t, e.URL, completions.Options{})
			_, err := k.Complete(t.Context(), hello)
			var got *completions.Error
			if !errors.As(err, &got) || got.Kind != c.want || !strings.Contains(got.Said, c.said) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if n := len(e.Asked()); n != 1 || len(*slept) != 0 {
				t.Errorf("asked %d times, slept %v", n, *slept)
			}
		})
	}
}

// TestAgain waits out what passes, as often as is allowed and no more.
func TestAgain(t *testing.T) {
	t.Parallel()
	busy := modeltest.Status(429, `{"error":{"message":"Rate limit reached"}}`, "Retry-After", "7")
	broken := modeltest.Status(503, `{"error":"loading model"}`)
	cut := modeltest.Raw("text/event-stream", `data: {"choices":[{"delta":{"content":"Half"}}]}`+"\n\n")
	inStream := modeltest.Raw("text/event-stream", `data: {"choices":[{"delta":{"content":"Half"}}]}`+"\n\n"+`data: {"error":{"message":"out of memory","code":500}}`+"\n\n")
	aborted := func(w http.ResponseWriter, r *modeltest.Request) {
		modeltest.Begin(w, r.Model).Piece(`{"content":"Half"}`)
		panic(http.ErrAbortHandler)
	}
	fine := modeltest.Text("Whole.")
	for name, c := range map[string]struct {
		script []modeltest.Answer
		want   completions.Kind // "" = it succeeds
		waits  []time.Duration  // at most; the first exactly when Retry-After said so
		exact  bool
	}{
		"rate":          {[]modeltest.Answer{busy, fine}, "", []time.Duration{7 * time.Second}, true},
		"broken thrice": {[]modeltest.Answer{broken, broken, broken, fine}, "", []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, false},
		"broken for ever": {
			[]modeltest.Answer{broken, broken, broken, broken}, completions.Failed, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, false,
		},
		"cut":              {[]modeltest.Answer{cut, fine}, "", []time.Duration{time.Second}, false},
		"connection cut":   {[]modeltest.Answer{aborted, fine}, "", []time.Duration{time.Second}, false},
		"error in between": {[]modeltest.Answer{inStream, fine}, "", []time.Duration{time.Second}, false},
		"longest wait": {
			[]modeltest.Answer{modeltest.Status(429, "", "Retry-After", "30"), fine}, "", []time.Duration{30 * time.Second}, true,
		},
		"too long a wait": {[]modeltest.Answer{modeltest.Status(429, "", "Retry-After", "31")}, completions.RateLimited, nil, false},
		"milliseconds": {
			[]modeltest.Answer{modeltest.Status(429, "", "Retry-After-Ms", "1500", "Retry-After", "2"), fine}, "", []time.Duration{1500 * time.Millisecond}, true,
		},
		"a date that passed": {
			[]modeltest.Answer{modeltest.Status(429, "", "Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"), fine}, "", []time.Duration{time.Second}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := modeltest.New(t, c.script...)
			k, slept := client(t, e.URL, completions.Options{})
			r, err := k.Complete(t.Context(), hello)
			var got *completions.Error
			if c.want == "" {
				if err != nil || r.Content != "Whole." {
					t.Errorf("%+v, %v", r, err)
				}
			} else if !errors.As(err, &got) || got.Kind != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
			if len(e.Asked()) != len(c.script) || len(*slept) != len(c.waits) {
				t.Fatalf("asked %d times, slept %v", len(e.Asked()), *slept)
			}
			for i, d := range *slept {
				if d > c.waits[i] || d < c.waits[i]/2 || c.exact && d != c.waits[i] {
					t.Errorf("slept %v before attempt %d, want about %v", d, i+2, c.waits[i])
				}
			}
		})
	}
}

// TestLearns leaves out what an endpoint does not take, from then on.
func TestLearns(t *testing.T) {
	t.Parallel()
	e := modeltest.New(t,
		modeltest.Status(400, `{"error":{"message":"Unsupported value","param":"temperature"}}`),
		modeltest.Status(422, `{"detail":[{"loc":["body","stream_options"],"msg":"extra fields not permitted"}]}`),
		modeltest.Status(400, `{"error":{"message":"\"required\" tool choice requires --enable-auto-tool-choice"}}`),
		modeltest.Text("Hi."), modeltest.Text("Hi again."))
	k, slept := client(t, e.URL, completions.Options{})
	for range 2 {
		if _, err := k.Complete(t.Context(), hello); err != nil {
			t.Fatal(err)
		}
	}
	asked := e.Asked()
	if len(asked) != 5 || len(*slept) != 0 {
		t.Fatalf("asked %d times, slept %v", len(asked), *slept)
	}
	for i, r := range asked {
		if (r.Heat == nil) != (i >= 1) || (r.Options == nil) != (i >= 2) || (r.Choice == nil) != (i >= 3) {
			t.Errorf("request %d: %s", i, r.Body)
		}
	}
}

func TestSlow(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	e := modeltest.New(t, func(w http.ResponseWriter, r *modeltest.Request) {
		modeltest.Begin(w, r.Model).Piece(`{"content":"."}`)
		<-r.Gone // it never ends by itself
		close(gone)
	})
	k, _ := client(t, e.URL, completions.Options{Time: 200 * time.Millisecond})
	_, err := k.Complete(t.Context(), hello)
	var got *completions.Error
	if !errors.As(err, &got) || got.Kind != completions.Timeout {
		t.Errorf("%v, want a timeout", err)
	}
	<-gone // the connection was let go of
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	e := modeltest.New(t, func(w http.ResponseWriter, r *modeltest.Request) {
		modeltest.Begin(w, r.Model)
		cancel()
		<-r.Gone
	})
	k, slept := client(t, e.URL, completions.Options{})
	if _, err := k.Complete(ctx, hello); !errors.Is(err, context.Canceled) || len(*slept) != 0 {
		t.Errorf("%v, slept %v", err, *slept)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close()
	k, slept := client(t, s.URL+"/v1", completions.Options{})
	_, err := k.Complete(t.Context(), hello)
	var got *completions.Error
	if !errors.As(err, &got) || got.Kind != completions.Unreachable || len(*slept) != 1 {
		t.Errorf("%v, slept %v", err, *slept)
	}
}

// TestLarge cuts off what no plan is as large as.
func TestLarge(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	answer := func(n int) modeltest.Answer {
		return modeltest.Raw("application/json", `{"choices":[{"message":{"content":"`+strings.Repeat("a", n)+`"},"finish_reason":"stop"}]}`)
	}
	endless := func(w http.ResponseWriter, r *modeltest.Request) {
		s := modeltest.Begin(w, r.Model)
		for range 40 {
			s.Event(`{"choices":[{"delta":{"reasoning":"` + strings.Repeat("b", 1<<20) + `"}}]}`)
		}
	}
	manyCalls := func(n int) modeltest.Answer {
		calls := make([]modeltest.Function, n)
		for i := range calls {
			calls[i] = modeltest.Call("f", "{}")
		}
		return modeltest.Calls(calls...)
	}
	for name, c := range map[string]struct {
		answer modeltest.Answer
		ok     bool
	}{
		"text, one less": {answer(most - 1), true}, "text": {answer(most), true}, "text, one more": {answer(most + 1), false},
		"calls, one less": {manyCalls(63), true}, "calls": {manyCalls(64), true}, "calls, one more": {manyCalls(65), false},
		"what is thrown away": {endless, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := modeltest.New(t, c.answer)
			k, _ := client(t, e.URL, completions.Options{})
			_, err := k.Complete(t.Context(), hello)
			var got *completions.Error
			if c.ok && err != nil || !c.ok && (!errors.As(err, &got) || got.Kind != completions.Garbage) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"object":"list","data":[{"id":"b"},{"id":"a"},{"id":"b"},{}]}`: {"a", "b"},
		`{"models":[{"name":"x"}]}`:                                      {"x"},
		`{"data":null}`:                                                  {},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" || r.Method != http.MethodGet {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			fmt.Fprint(w, body)
		}))
		k, _ := client(t, s.URL+"/v1/", completions.Options{})
		got, err := k.Models(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", body, got, err)
		}
		s.Close()
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "host/v1", "ftp://host/v1", "http://", "http://user@host/v1", "http://host/v1?key=x", "http://host/v1#x"} {
		if _, err := completions.New(bad, http.DefaultClient, nil); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
