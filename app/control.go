package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"time"

	"parley/a2a"
	"parley/orchestrator"
)

// The control socket carries what the command line asks of the running program: POST /{verb} with a JSON object,
// answered by a JSON value, or by one JSON value a line where the verb streams. Only the user who owns the data
// directory can reach it.

// verb is one thing the socket can be asked to do. It answers by calling send, once, or as often as it streams.
type verb func(ctx context.Context, in json.RawMessage, send func(any) error) error

// controlHandler serves verbs.
func controlHandler(tables ...map[string]verb) http.Handler {
	mux := http.NewServeMux()
	verbs := map[string]verb{}
	for _, t := range tables {
		maps.Copy(verbs, t)
	}
	for name, do := range verbs {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
			in, err := io.ReadAll(http.MaxBytesReader(w, r.Body, controlBody))
			if err != nil {
				controlError(w, err)
				return
			}
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			flush := http.NewResponseController(w)
			sent := false
			err = do(r.Context(), in, func(v any) error {
				sent = true
				if err := enc.Encode(v); err != nil {
					return err
				}
				return flush.Flush()
			})
			switch {
			case err == nil:
			case sent:
				_ = enc.Encode(controlFailure{faultOf(err)})
			default:
				controlError(w, err)
			}
		})
	}
	return mux
}

// controlBody bounds a request: files travel in it as base64.
const controlBody = 64 << 20

type controlFailure struct {
	Fault *orchestrator.Fault `json:"fault"`
}

func controlError(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = json.NewEncoder(w).Encode(controlFailure{faultOf(err)})
}

// faultOf puts any error into the three parts a person is told.
func faultOf(err error) *orchestrator.Fault {
	var f *orchestrator.Fault
	if errors.As(err, &f) {
		return f
	}
	var e *a2a.Error
	if errors.As(err, &e) {
		return &orchestrator.Fault{Kind: string(e.Kind), Where: orchestrator.WhereUs, What: e.Error()}
	}
	if errors.Is(err, orchestrator.ErrNotFound) {
		return &orchestrator.Fault{Kind: "not-found", Where: orchestrator.WhereUs, What: "There is nothing of that name here."}
	}
	return &orchestrator.Fault{Kind: "internal", Where: orchestrator.WhereUs, What: err.Error()}
}

// Control is the command line's end of the control socket.
type Control struct{ http *http.Client }

// Dial returns the control of the process that has dir; an error when none answers.
func Dial(ctx context.Context, dir string) (*Control, error) {
	conn, err := dialControl(ctx, dir)
	if err != nil {
		return nil, err
	}
	conn.Close()
	return &Control{http: &http.Client{Transport: &http.Transport{ // the socket only, never the network
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialControl(ctx, dir) },
	}}}, nil
}

// Call asks for a verb that answers once; out may be nil.
func (c *Control) Call(ctx context.Context, verb string, in, out any) error {
	return c.Stream(ctx, verb, in, func(line []byte) error {
		if out == nil {
			return nil
		}
		return json.Unmarshal(line, out)
	})
}

// Stream asks for a verb and calls each with every line of the answer.
func (c *Control) Stream(ctx context.Context, verb string, in any, each func(line []byte) error) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://parley/"+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("the running Parley did not answer: %w", err)
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	for {
		var line json.RawMessage
		if err := dec.Decode(&line); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("Parley ended before it had answered: %w", err) //nolint:staticcheck // a name
		}
		var fail controlFailure
		if json.Unmarshal(line, &fail) == nil && fail.Fault != nil && fail.Fault.What != "" {
			return fail.Fault
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

// The objects that verbs take and give.
type (
	// Status describes the running program.
	Status struct {
		Version  string    `json:"version"`
		PID      int       `json:"pid"`
		Data     string    `json:"data"`
		Serving  bool      `json:"serving"` // the ready line was printed
		UI       string    `json:"ui,omitempty"`
		A2A      string    `json:"a2a,omitempty"`
		Demo     string    `json:"demo,omitempty"`
		Started  time.Time `json:"started"`
		Fault    string    `json:"fault,omitempty"` // why nothing can be stored, when so
		Secrets  string    `json:"secrets"`         // where credentials are kept
		Store    string    `json:"store"`           // the database and its version
		Agents   int       `json:"agents"`
		OpenAsks int       `json:"openAsks"`
	}

	// AgentInfo is an agent as the command line shows it.
	AgentInfo struct {
		Input       string               `json:"input,omitempty"` // the part of what was given that it was found by
		ID          string               `json:"id"`
		Name        string               `json:"name"`
		Description string               `json:"description,omitempty"`
		Trust       orchestrator.Trust   `json:"trust"`
		URL         string               `json:"url"`
		Speaks      string               `json:"speaks"`          // e.g. "v0.3 over JSON-RPC"
		Known       orchestrator.KnownBy `json:"known,omitempty"` // how that is known
		Streaming   bool                 `json:"streaming"`
		Skills      []string             `json:"skills,omitempty"`
		Notes       []string             `json:"notes,omitempty"`
		Origins     []string             `json:"origins,omitempty"`   // granted, or to be granted
		Elsewhere   bool                 `json:"elsewhere,omitempty"` // its card was not found under the path that was given
		SignIn      []string             `json:"signIn,omitempty"`    // the schemes its card declares
		Fault       *orchestrator.Fault  `json:"agentFault,omitempty"`
		Card        json.RawMessage      `json:"card,omitempty"`
		Signature   *SignatureInfo       `json:"signature,omitempty"` // nil: the card is not signed
	}

	// SpeakAgent says how an agent is to be called.
	SpeakAgent struct {
		ID string              `json:"id"`
		At *a2a.AgentInterface `json:"at,omitempty"` // nil: as its card says
	}

	// FindAgent names an agent by whatever a person has of it.
	FindAgent struct {
		Input      string      `json:"input"`
		ID         string      `json:"id,omitempty"` // the wanted id; "" = from the name
		Credential *Credential `json:"credential,omitempty"`
		Origins    []string    `json:"origins,omitempty"` // agents.add: what the person agreed to
		AsTyped    bool        `json:"asTyped,omitempty"` // agents.add: call it at the address that was typed, whatever host its card names
	}

	// Credential is orchestrator.Credential on its way through the socket, which only the owner can read.
	Credential struct {
		Kind   string `json:"kind"` // bearer, basic, header, query, cookie, certificate
		Name   string `json:"name,omitempty"`
		User   string `json:"user,omitempty"`
		Secret string `json:"secret"`
		Origin string `json:"origin,omitempty"`
	}

	// Message is what `send` sends.
	Message struct {
		To           string     `json:"to,omitempty"`
		Conversation string     `json:"conversation,omitempty"`
		MessageID    string     `json:"messageId,omitempty"`
		Text         string     `json:"text"`
		Files        []FilePart `json:"files,omitempty"`
	}

	// FilePart is a file given with --file.
	FilePart struct {
		Name  string `json:"name"`
		Type  string `json:"type,omitempty"`
		Bytes []byte `json:"bytes"`
	}

	// Line is one line of a stream of `send`, `task subscribe` and `workflow run`.
	Line struct {
		Kind         string              `json:"kind"` // run, event, plan, ask, end
		Run          string              `json:"run,omitempty"`
		Conversation string              `json:"conversation,omitempty"`
		Seq          int64               `json:"seq,omitempty"`
		Event        json.RawMessage     `json:"event,omitempty"` // a v1.0 StreamResponse
		Ask          *AskInfo            `json:"ask,omitempty"`
		State        string              `json:"state,omitempty"`
		RunFault     *orchestrator.Fault `json:"runFault,omitempty"`
		Plan         *orchestrator.Plan  `json:"plan,omitempty"`
	}

	// AnswerTo answers an ask.
	AnswerTo struct {
		Ask     string          `json:"ask"`
		Text    string          `json:"text,omitempty"`
		Data    json.RawMessage `json:"data,omitempty"`
		Choice  string          `json:"choice,omitempty"`
		Decline bool            `json:"decline,omitempty"`
		Typed   string          `json:"typed,omitempty"` // instead of the others: one line, read by the kind of the ask
		Read    bool            `json:"read,omitempty"`  // Typed counts, also when it is empty
	}

	// TaskRef names a task: a run of ours, or with Agent a task of that agent.
	TaskRef struct {
		Agent   string `json:"agent,omitempty"`
		ID      string `json:"id,omitempty"`
		History *int   `json:"history,omitempty"`
	}

	// ListTasks selects what the page of tasks shows: ours and those of outside callers, newest first. With Agent it is that
	// agent's own list of the tasks it does for us, of which only After and Limit select.
	ListTasks struct {
		Agent  string `json:"agent,omitempty"`
		State  string `json:"state,omitempty"`  // open, you, failed or done; "" = all
		To     string `json:"to,omitempty"`     // the agent that works on them
		Caller string `json:"caller,omitempty"` // a token's id or name, "you", or * for all outside callers
		Days   int    `json:"days,omitempty"`   // whose state is as new; 0 = any
		After  string `json:"after,omitempty"`  // Next of the page before
		Limit  int    `json:"limit,omitempty"`  // 0 = 50, at most 500; at most 100 of an agent's own
	}

	// TaskPage is a page of tasks, each in its v1.0 JSON. What we know beside that is in their metadata: urn:parley:title,
	// :agent, :workflow, :caller, :began, :conversation, and :plan of a step's.
	TaskPage struct {
		Tasks []json.RawMessage `json:"tasks"`
		Next  string            `json:"next,omitempty"` // "" = the last
	}

	// TokenInfo is a token; Secret is set in the answer to token.new only.
	TokenInfo struct {
		ID          string     `json:"id"`
		Name        string     `json:"name"`
		Agents      []string   `json:"agents"`
		ReadOnly    bool       `json:"readOnly,omitempty"`
		Credentials bool       `json:"credentials,omitempty"`
		Workflows   bool       `json:"workflows,omitempty"`
		RatePerMin  int        `json:"ratePerMin,omitempty"`
		Created     time.Time  `json:"created,omitzero"`
		Used        *time.Time `json:"used,omitempty"`
		Revoked     *time.Time `json:"revoked,omitempty"`
		Secret      string     `json:"secret,omitempty"`
	}

	// Named names one thing.
	Named struct {
		ID string `json:"id"`
	}
)
