package wire

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// RESTRequest is a request over HTTP+JSON as a client sends it.
type RESTRequest struct {
	Method string // GET, POST or DELETE
	Path   string // escaped; to be appended to the interface's URL
	Query  url.Values
	Body   []byte // nil = none
}

// RESTOption changes how PROTO is written and read, where implementations differ.
type RESTOption uint8

const (
	// SingleBase64 encodes the bytes of files once, as the protocol has it and JavaScript peers do. Python and Go peers
	// encode them twice, and so does EncodeREST unless it is told otherwise; DecodeRESTReply then takes what looks like
	// base64 for base64.
	SingleBase64 RESTOption = iota + 1
	// StrictPush puts the id of a push configuration into the query and the bare configuration into the body, which is how
	// a2a.v1 is annotated and nearly nobody does it: for another try after a 400.
	StrictPush
)

// EncodeREST returns a request of NEW or PROTO; params are those of AppendCall. Subscribe is a POST: where that is answered
// with 404, 405 or 501, a GET to the same path may do. An operation the dialect does not have is an *a2a.Error of kind
// KindUnsupportedOperation.
func EncodeREST(d Dialect, op Op, params any, options ...RESTOption) (*RESTRequest, error) {
	if d != NEW && d != PROTO || d == PROTO && op == OpList {
		return nil, unsupported(d)
	}
	e := restEncoder{family: of(d), op: op, proto: d == PROTO, q: url.Values{}}
	for _, o := range options {
		switch o {
		case SingleBase64:
			e.family = protoFamily{single: true}
		case StrictPush:
			e.strict = e.proto
		}
	}
	r := e.encode(params)
	if r == nil {
		return nil, unsupported(d)
	}
	if e.proto {
		r.Path = "/v1" + r.Path
	}
	if e.tenant != "" && e.proto && (r.Body == nil || op == OpPushSet) {
		e.q.Set("tenant", e.tenant)
	}
	if e.tenant != "" && !e.proto {
		r.Path = "/" + escape(e.tenant) + r.Path
	}
	if len(e.q) > 0 {
		r.Query = e.q
	}
	return r, nil
}

type restEncoder struct {
	family family
	op     Op
	proto  bool
	strict bool
	tenant string
	q      url.Values
}

// encode returns the request without prefixes. The tenant of NEW goes into the path only.
func (e *restEncoder) encode(params any) *RESTRequest {
	switch p := params.(type) {
	case *a2a.SendRequest:
		own := *p
		e.take(&own.Tenant)
		if e.op == OpStream {
			return e.post("/message:stream", &own)
		}
		return e.post("/message:send", &own)
	case *a2a.GetRequest:
		e.tenant = p.Tenant
		e.number("historyLength", p.HistoryLength)
		return &RESTRequest{Method: http.MethodGet, Path: task(p.ID)}
	case *a2a.ListRequest:
		e.tenant = p.Tenant
		e.list(p)
		return &RESTRequest{Method: http.MethodGet, Path: "/tasks"}
	case *a2a.CancelRequest:
		own := a2a.CancelRequest{Tenant: p.Tenant, Metadata: p.Metadata}
		e.take(&own.Tenant)
		body := jsontext.AppendText([]byte{'{'}, "tenant", own.Tenant)
		if !e.proto {
			body = jsontext.AppendObject(body, "metadata", own.Metadata)
		}
		return &RESTRequest{Method: http.MethodPost, Path: task(p.ID) + ":cancel", Body: append(body, '}')}
	case *a2a.SubscribeRequest:
		e.tenant = p.Tenant
		return &RESTRequest{Method: http.MethodPost, Path: task(p.ID) + ":subscribe"}
	case *a2a.PushConfig:
		return e.set(p)
	case *a2a.PushGetRequest:
		e.tenant = p.Tenant
		return &RESTRequest{Method: http.MethodGet, Path: task(p.TaskID) + configs + escape(p.ID)}
	case *a2a.PushListRequest:
		e.tenant = p.Tenant
		if p.PageSize != 0 {
			e.number("pageSize", &p.PageSize)
		}
		e.text("pageToken", p.PageToken)
		return &RESTRequest{Method: http.MethodGet, Path: task(p.TaskID) + strings.TrimSuffix(configs, "/")}
	case *a2a.PushDeleteRequest:
		e.tenant = p.Tenant
		return &RESTRequest{Method: http.MethodDelete, Path: task(p.TaskID) + configs + escape(p.ID)}
	case *a2a.ExtendedCardRequest, nil:
		if p, ok := p.(*a2a.ExtendedCardRequest); ok && p != nil {
			e.tenant = p.Tenant
		}
		if e.op != OpExtendedCard {
			return nil
		}
		if e.proto {
			return &RESTRequest{Method: http.MethodGet, Path: "/card"}
		}
		return &RESTRequest{Method: http.MethodGet, Path: "/extendedAgentCard"}
	}
	return nil
}

// take notes the tenant; that of NEW leaves the body.
func (e *restEncoder) take(tenant *string) {
	if e.tenant = *tenant; !e.proto {
		*tenant = ""
	}
}

func (e *restEncoder) post(path string, params any) *RESTRequest {
	return &RESTRequest{Method: http.MethodPost, Path: path, Body: e.family.appendParams(nil, e.op, params)}
}

// set writes a push configuration. In PROTO it needs an id, which by default is that of the task.
func (e *restEncoder) set(p *a2a.PushConfig) *RESTRequest {
	own := *p
	e.take(&own.Tenant)
	path := task(p.TaskID) + strings.TrimSuffix(configs, "/")
	if !e.proto {
		return e.post(path, &own)
	}
	own.ID = first(own.ID, own.TaskID)
	if !e.strict {
		return e.post(path, &own)
	}
	e.text("configId", own.ID)
	return &RESTRequest{Method: http.MethodPost, Path: path, Body: appendProtoHolder(nil, &own, true)}
}

func (e *restEncoder) list(p *a2a.ListRequest) {
	e.text("contextId", p.ContextID)
	e.text("status", string(p.Status))
	if p.PageSize != 0 {
		e.number("pageSize", &p.PageSize)
	}
	e.text("pageToken", p.PageToken)
	e.number("historyLength", p.HistoryLength)
	if !p.StatusTimestampAfter.IsZero() {
		e.text("statusTimestampAfter", p.StatusTimestampAfter.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	if p.IncludeArtifacts {
		e.text("includeArtifacts", "true")
	}
}

func (e *restEncoder) text(name, value string) {
	if value != "" {
		e.q.Set(name, value)
	}
}

// number leaves out a zero in PROTO, where it means none.
func (e *restEncoder) number(name string, n *int) {
	if n != nil && (*n != 0 || !e.proto) {
		e.q.Set(name, strconv.Itoa(*n))
	}
}

func task(id string) string { return "/tasks/" + escape(id) }

// escape makes one segment of an id. A colon would begin an action, and dots alone would be taken for a place above.
func escape(id string) string {
	if strings.Trim(id, ".") == "" {
		return strings.ReplaceAll(id, ".", "%2E")
	}
	return strings.ReplaceAll(url.PathEscape(id), ":", "%3A")
}

// DecodeRESTReply reads a reply over HTTP+JSON, or one frame of a stream (then status is 200): what DecodeReply returns,
// and nil for OpPushDelete. Any status of 300 and above is an *a2a.Error, whatever the body holds.
func DecodeRESTReply(d Dialect, op Op, status int, contentType string, body []byte, options ...RESTOption) (any, error) {
	f := of(d)
	if d == PROTO && slices.Contains(options, SingleBase64) {
		f = protoFamily{single: true}
	}
	if status >= 300 {
		return nil, readRESTError(d, op, status, body)
	}
	if op == OpPushDelete { // with nothing in it, or anything
		return nil, nil
	}
	if err := jsontext.Check(body, a2a.Limits.JSONDepth); err != nil {
		return nil, invalidReply(a2a.JSONError(body, err))
	}
	r := jsontext.NewReader(body)
	if r.Peek() == '[' && op == OpPushList {
		return decodeResult(f, op, body)
	}
	if r.Peek() != '{' {
		return nil, a2a.Errorf(a2a.KindInvalidAgentResponse, "the agent's reply is not an object")
	}
	var envelope, fault, code, message bool
	for r.Object(); r.Member(); r.Skip() {
		switch string(r.Key()) {
		case "jsonrpc":
			envelope = true
		case "error":
			fault = true
		case "code":
			code = true
		case "message":
			message = r.Peek() == '"'
		}
	}
	switch {
	case envelope:
		return DecodeReply(d, op, body)
	case fault, code && message:
		return nil, readRESTError(d, op, status, body)
	}
	return decodeResult(f, op, body)
}
