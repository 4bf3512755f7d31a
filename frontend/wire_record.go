package frontend

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/a2a"
	"parley/frontend/view"
	"parley/orchestrator"
)

// wireDetail puts an exchange into words.
func (s *Site) wireDetail(ctx context.Context, r *orchestrator.WireRecord, q url.Values) (view.WireDetail, error) {
	id := strconv.FormatInt(r.ID, 10)
	d := view.WireDetail{
		Row: s.wireRow(ctx, r, s.callers(ctx)), Show: q.Get("show"), Verb: httpMethod(r), URL: r.URL, Dialect: r.Dialect, Err: r.Err, RunID: r.RunID,
		Pretty: wireAddress(q, "id", id, "show", ""), Raw: wireAddress(q, "id", id, "show", "raw"), Headers: wireAddress(q, "id", id, "show", "headers"),
		Close: wireAddress(q, "id", "", "show", ""), Request: s.wireBody(ctx, r.Request), Response: s.wireBody(ctx, r.Response),
		Curl: curl(r, s.signIn(ctx, r)), CLI: s.commandLine(r),
	}
	if r.Err == orchestrator.WireRefused { // the row says it
		d.Err = ""
	}
	if r.TaskID != "" {
		if withAgent(r) {
			d.TaskHref = "/tasks/at/" + url.PathEscape(r.Peer) + "/" + url.PathEscape(r.TaskID)
		} else if r.RunID != "" {
			d.TaskHref = "/tasks/" + url.PathEscape(r.TaskID)
		}
	}
	if r.RunID != "" {
		if run, err := s.store.Run(ctx, r.RunID); err == nil && run.ConversationID != "" {
			d.Chat, d.ChatHref = s.chatTitle(ctx, run.ConversationID)
		}
	}
	for name, values := range r.Header {
		h := view.WireHeader{Name: name, Value: strings.Join(values, ", ")}
		h.Masked = h.Value == "[masked]"
		d.Header = append(d.Header, h)
	}
	slices.SortFunc(d.Header, func(a, b view.WireHeader) int { return strings.Compare(a.Name, b.Name) })
	if !r.Inbound && r.Method != orchestrator.WirePushMethod && s.opts.Inspector != nil {
		d.Replay, d.Edit = "/wire/"+id+"/replay", pretty(r.Request)
	}
	var err error
	if d.Streams = streams(r); d.Streams {
		d.Frames, d.More, err = s.wireFrames(ctx, r)
	}
	return d, err
}

// streams reports whether what answered a request was a stream of events.
func streams(r *orchestrator.WireRecord) bool {
	m := strings.ToLower(r.Method)
	return len(r.Response) == 0 && r.Status == http.StatusOK &&
		(r.Events[0] != 0 || strings.Contains(m, "stream") || strings.Contains(m, "subscribe"))
}

// wireFrames are the events of a stream: those it names, or those that the run got from the agent while it went on.
func (s *Site) wireFrames(ctx context.Context, r *orchestrator.WireRecord) (frames []view.WireFrame, more int, err error) {
	if r.RunID == "" {
		return nil, 0, nil
	}
	from, until := r.At, r.At.Add(r.Took+time.Second)
	for batch, err := range s.store.ReadRun(ctx, r.RunID, max(0, r.Events[0]-1)) {
		if err != nil {
			return frames, more, err
		}
		for _, e := range batch {
			switch {
			case r.Events[1] != 0 && e.Seq > r.Events[1], r.Events[1] == 0 && e.At.After(until):
				return frames, more, nil
			case !e.Kind.A2A(), r.Events[1] == 0 && e.At.Before(from):
				continue
			}
			if len(frames) == wireFrames {
				more++
				continue
			}
			f := view.WireFrame{Name: eventName(e), At: e.At.In(s.now().Location()), Body: s.wireBody(ctx, e.JSON)}
			frames = append(frames, f)
		}
	}
	return frames, more, nil
}

// eventName is what an event is called in v1.0, with the state it brings.
func eventName(e *orchestrator.Event) string {
	name := map[orchestrator.EventKind]string{
		orchestrator.EventTask: "Task", orchestrator.EventMessage: "Message", orchestrator.EventStatus: "TaskStatusUpdate",
		orchestrator.EventArtifact: "TaskArtifactUpdate",
	}[e.Kind]
	if ev, err := e.Event(); err == nil {
		if st := a2a.EventState(ev); st != a2a.TaskStateUnspecified {
			name += " " + strings.ToLower(strings.TrimPrefix(string(st), "TASK_STATE_"))
		}
	}
	return name
}

// wireBody is a body as it was, and as a tree where it is JSON.
func (s *Site) wireBody(ctx context.Context, b []byte) view.WireBody {
	v := view.WireBody{Size: int64(len(b)), Text: string(b), Cut: len(b) >= wireKept}
	if len(b) == 0 || b[0] != '{' && b[0] != '[' {
		return v
	}
	left := treeNodes
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if n, err := tree(ctx, d, &left, 0); err == nil {
		unfold(n, 0)
		v.JSON = n
	}
	return v
}

// unfold opens a tree as deep as a message of A2A goes, and names the members of objects.
func unfold(n *view.JSONNode, depth int) {
	n.Open = depth < 8
	for _, k := range n.Kids {
		k.Named = n.Kind == "object"
		unfold(k, depth+1)
	}
}

// httpMethod is how a recorded request was made.
func httpMethod(r *orchestrator.WireRecord) string {
	if verb, _, ok := strings.Cut(r.Method, " "); ok { // HTTP+JSON: the verb and the route
		return verb
	}
	if len(r.Request) == 0 {
		return http.MethodGet
	}
	return http.MethodPost
}

// quoted is a word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// signIn is what an agent asks for with a request to it; no kind where it asks for nothing.
func (s *Site) signIn(ctx context.Context, r *orchestrator.WireRecord) view.SecretKind {
	if r.Inbound {
		return view.SecretKind{}
	}
	if a, err := s.store.Agent(ctx, r.Peer); err == nil && a.Card != nil {
		if k, needs := wanted(a.Card.SecuritySchemes, a.Card.SecurityRequirements); needs {
			return k
		}
	}
	return view.SecretKind{}
}

// curl is a request as a command. A secret is left to a variable, also one of the sign-in that a record may not have: it is
// added on the way out.
func curl(r *orchestrator.WireRecord, in view.SecretKind) string {
	if strings.Contains(r.URL, ".A2AService/") {
		return "" // gRPC
	}
	address := r.URL
	if strings.HasPrefix(address, "/") {
		host := "127.0.0.1"
		if h := r.Header["Host"]; len(h) == 1 {
			host = h[0]
		}
		address = "http://" + host + address
	}
	var b strings.Builder
	b.WriteString("curl -sS")
	if streams(r) {
		b.WriteString("N")
	}
	b.WriteString(" -X " + httpMethod(r) + " " + quoted(address))
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	typed := false
	for _, name := range names {
		switch low := strings.ToLower(name); low {
		case "content-length", "connection", "accept-encoding", "host", "user-agent", ":authority", "te":
			continue
		case "content-type":
			typed = true
		}
		value := strings.Join(r.Header[name], ", ")
		if value == "[masked]" {
			b.WriteString(" \\\n  -H \"" + name + ": $" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + `"`)
			continue
		}
		b.WriteString(" \\\n  -H " + quoted(name+": "+value))
	}
	has := func(header string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, header) })
	}
	switch {
	case in.Kind == "bearer" && !has("Authorization"):
		b.WriteString(" \\\n  -H \"Authorization: Bearer $TOKEN\"")
	case in.Kind == "basic" && !has("Authorization"):
		b.WriteString(" \\\n  -u \"$USER_AND_PASSWORD\"")
	case in.Kind == "cert":
		b.WriteString(" \\\n  --cert \"$CERTIFICATE_FILE\"")
	case in.Kind == "key" && in.Location == "cookie":
		if !has("Cookie") {
			b.WriteString(" \\\n  -b " + quoted(in.Header+"=") + "\"$API_KEY\"")
		}
	case in.Kind == "key" && in.Location == "query":
		if u, err := url.Parse(r.URL); err != nil || !u.Query().Has(in.Header) {
			b.WriteString(" \\\n  --url-query " + quoted(in.Header+"=") + "\"$API_KEY\"")
		}
	case in.Kind == "key" && !has(in.Header):
		b.WriteString(" \\\n  -H " + quoted(in.Header+": ") + "\"$API_KEY\"")
	}
	if len(r.Request) > 0 {
		if !typed {
			b.WriteString(" \\\n  -H 'Content-Type: application/json'")
		}
		b.WriteString(" \\\n  --data-binary " + quoted(string(r.Request)))
	}
	return b.String()
}

// commandLine is a request to an agent as a command of ours, where there is one for it.
func (s *Site) commandLine(r *orchestrator.WireRecord) string {
	if r.Inbound || r.Method == orchestrator.WirePushMethod {
		return ""
	}
	agent := quoted(r.Peer)
	switch r.Method {
	case "SendMessage", "SendStreamingMessage", "message/send", "message/stream", "tasks/send", "tasks/sendSubscribe",
		"POST /message:send", "POST /message:stream":
		type part struct {
			Text string `json:"text"`
		}
		type params struct {
			Message struct {
				Parts   []part `json:"parts"`
				Content []part `json:"content"`
			} `json:"message"`
		}
		var b struct {
			params
			Params params `json:"params"`
		}
		if json.Unmarshal(r.Request, &b) != nil {
			return ""
		}
		for _, p := range slices.Concat(b.Params.Message.Parts, b.Message.Parts, b.Message.Content) {
			if p.Text != "" {
				return "parley send --to " + agent + " " + quoted(p.Text)
			}
		}
	case "GetTask", "tasks/get", "GET /tasks/{id}":
		return "parley task get --agent " + agent + " " + quoted(r.TaskID)
	case "CancelTask", "tasks/cancel", "POST /tasks/{id}:cancel":
		return "parley task cancel --agent " + agent + " " + quoted(r.TaskID)
	case "SubscribeToTask", "tasks/resubscribe":
		return "parley task subscribe --agent " + agent + " " + quoted(r.TaskID)
	case "ListTasks", "tasks/list":
		return "parley task list --agent " + agent
	}
	return ""
}

// replay sends a recorded request once more.
func (s *Site) replay(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Inspector == nil || s.wire == nil {
		return errNoPage
	}
	ctx := r.Context()
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return orchestrator.ErrNotFound
	}
	rec, err := s.wire.WireRecord(ctx, id)
	if err != nil {
		return err
	}
	body := []byte(strings.TrimSpace(strings.ReplaceAll(r.FormValue("body"), "\r\n", "\n")))
	if r.FormValue("sure") == "" {
		return badRequest("Say that you want to send it.")
	}
	now, err := s.opts.Inspector.Replay(ctx, rec, body)
	if err != nil {
		return err
	}
	return moved(w, r, "/wire?id="+strconv.FormatInt(now.ID, 10)+"&agent="+url.QueryEscape(now.Peer))
}
