package wire

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/a2a"
	"parley/a2a/internal/jsontext"
)

// MethodError says that an address exists and takes other verbs. It is an *a2a.Error of kind KindMethodNotFound.
type MethodError struct {
	Allow string // for the header of that name
}

func (e *MethodError) Error() string { return "this address takes " + e.Allow + " only" }

func (e *MethodError) Unwrap() error {
	return &a2a.Error{Kind: a2a.KindMethodNotFound, Message: e.Error()}
}

// route is what an address names, whatever the verb.
type route struct {
	dialect              Dialect
	pattern              string
	tenant, task, config string
	verbs                []verb
}

type verb struct {
	method string
	op     Op
}

var (
	sendVerbs      = []verb{{http.MethodPost, OpSend}}
	streamVerbs    = []verb{{http.MethodPost, OpStream}}
	listVerbs      = []verb{{http.MethodGet, OpList}}
	getVerbs       = []verb{{http.MethodGet, OpGet}}
	cancelVerbs    = []verb{{http.MethodPost, OpCancel}}
	subscribeVerbs = []verb{{http.MethodGet, OpSubscribe}, {http.MethodPost, OpSubscribe}} // the specification says both
	configsVerbs   = []verb{{http.MethodGet, OpPushList}, {http.MethodPost, OpPushSet}}
	configVerbs    = []verb{{http.MethodGet, OpPushGet}, {http.MethodDelete, OpPushDelete}}
	cardVerbs      = []verb{{http.MethodGet, OpExtendedCard}}
)

// findRoute reads an escaped path. Without verbs, there is nothing at this address.
func findRoute(path string) (r route) {
	raw := strings.Split(strings.TrimPrefix(path, "/"), "/")
	segments := make([]string, len(raw))
	for i, s := range raw {
		var err error
		if segments[i], err = url.PathUnescape(s); err != nil || !utf8.ValidString(segments[i]) {
			return r
		}
	}
	if len(segments) > 1 && !reserved(segments[0]) && !(segments[0] == "agent" && segments[1] == extended) {
		r.tenant, raw, segments = segments[0], raw[1:], segments[1:]
	}
	prefix := ""
	if segments[0] == "v1" {
		r.dialect, prefix = PROTO, "/v1"
		if raw, segments = raw[1:], segments[1:]; len(segments) == 0 {
			return r
		}
	}
	proto, head := r.dialect == PROTO, segments[0]
	switch n := len(segments); {
	case n == 1 && head == "message:send":
		r.pattern, r.verbs = "/message:send", sendVerbs
	case n == 1 && head == "message:stream":
		r.pattern, r.verbs = "/message:stream", streamVerbs
	case n == 1 && head == "tasks" && !proto:
		r.pattern, r.verbs = "/tasks", listVerbs
	case n == 1 && (head == "extendedAgentCard" && !proto || head == "card" && proto):
		r.pattern, r.verbs = "/"+head, cardVerbs
	case n == 2 && head == "agent" && segments[1] == extended && !proto:
		r.dialect, r.pattern, r.verbs = MID, "/agent/"+extended, cardVerbs
	case n == 2 && head == "tasks":
		r.findTask(raw[1])
	case n == 3 && (head == "tasks" || head == "task" && proto) && segments[2] == "pushNotificationConfigs": // task: a slip in a2a.v1
		r.task, r.pattern, r.verbs = segments[1], "/tasks/{id}/pushNotificationConfigs", configsVerbs
	case n == 4 && head == "tasks" && segments[2] == "pushNotificationConfigs":
		r.task, r.config, r.pattern, r.verbs = segments[1], segments[3], "/tasks/{id}/pushNotificationConfigs/{config}", configVerbs
	}
	r.pattern = prefix + r.pattern
	return r
}

const extended = "authenticatedExtendedCard"

// reserved are the first segments that cannot be tenants.
func reserved(segment string) bool {
	switch segment {
	case "v1", "tasks", "extendedAgentCard", ".well-known":
		return true
	}
	return strings.HasPrefix(segment, "message:")
}

// findTask splits what is to be done with a task from its id: behind the last colon of the segment as it was written.
func (r *route) findTask(raw string) {
	r.pattern, r.verbs = "/tasks/{id}", getVerbs
	if i := strings.LastIndexByte(raw, ':'); i >= 0 {
		switch raw[i+1:] {
		case "cancel":
			raw, r.pattern, r.verbs = raw[:i], "/tasks/{id}:cancel", cancelVerbs
		case "subscribe":
			raw, r.pattern, r.verbs = raw[:i], "/tasks/{id}:subscribe", subscribeVerbs
		}
	}
	r.task, _ = url.PathUnescape(raw) // once done as a whole
}

// DecodeREST reads a request over HTTP+JSON. path is escaped and below the mount, such as "/message:send",
// "/acme/tasks/x:cancel" or "/v1/message:stream"; it says the dialect: PROTO below /v1, else NEW; MID for
// /agent/authenticatedExtendedCard. The size of body is the caller's business, every other limit of a2a.Limits is checked
// here. The call is never nil; with an error (an *a2a.Error or a *MethodError) it holds the Dialect and Method for the
// reply, as far as they are known.
func DecodeREST(method, path string, query url.Values, body []byte) (*Call, error) {
	r := findRoute(path)
	c := &Call{ID: null, REST: true, Dialect: r.dialect, Method: method + " " + r.pattern}
	if r.verbs == nil {
		return c, a2a.Errorf(a2a.KindMethodNotFound, "there is nothing at this address")
	}
	i := slices.IndexFunc(r.verbs, func(v verb) bool { return v.method == method })
	if i < 0 {
		var allow []string
		for _, v := range r.verbs {
			allow = append(allow, v.method)
		}
		return c, &MethodError{strings.Join(allow, ", ")}
	}
	c.Op = r.verbs[i].op
	for name, values := range query {
		if !utf8.ValidString(name + strings.Join(values, "")) {
			return c, invalid("the query", "must be UTF-8").err()
		}
	}
	params, err := restParams(c.Op, method, query, body)
	if err != nil {
		return c, err
	}
	if err := readParamsOf(c, params); err != nil {
		return c, err
	}
	return c, r.complete(c, query).err()
}

// restParams is the text that holds the params: the body of a POST, else the query.
func restParams(op Op, method string, query url.Values, body []byte) ([]byte, error) {
	switch {
	case method != http.MethodPost:
		b, f := queryObject(query)
		return b, f.err()
	case len(body) == 0 && (op == OpCancel || op == OpSubscribe):
		return []byte("{}"), nil
	}
	if err := jsontext.Check(body, a2a.Limits.JSONDepth-1); err != nil { // JSON-RPC has an envelope around it
		return nil, a2a.JSONError(body, err)
	}
	if jsontext.NewReader(body).Peek() != '{' {
		return nil, a2a.Errorf(a2a.KindInvalidRequest, "the body must be an object")
	}
	return body, nil
}

// queryObject makes an object of a query, so that it is read as params are. Numbers may be strings there.
func queryObject(query url.Values) ([]byte, *fault) {
	b := []byte{'{'}
	said := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(query)) {
		name, values := camel(key), query[key]
		if len(values) == 0 || len(values) == 1 && values[0] == "" {
			continue
		}
		if said[name] || len(values) > 1 {
			return nil, invalid(name, "must be given once")
		}
		said[name] = true
		b = append(jsontext.AppendString(separate(b), name), ':')
		switch v := values[0]; {
		case name == "status" && digits(v): // the number of a state
			b = append(b, v...)
		case name != "includeArtifacts":
			b = jsontext.AppendString(b, v)
		case v == "true", v == "1":
			b = append(b, "true"...)
		case v == "false", v == "0":
			b = append(b, "false"...)
		default:
			b = jsontext.AppendString(b, v) // to be refused
		}
	}
	return append(b, '}'), nil
}

// digits reports whether s is a small number.
func digits(s string) bool {
	_, err := strconv.ParseUint(s, 10, 8)
	return err == nil && (s == "0" || s[0] != '0')
}

// camel turns snake_case into lowerCamelCase.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// complete adds what the address and the query say to what the body does, and checks the call.
func (r *route) complete(c *Call, query url.Values) *fault {
	tenant := c.Tenant()
	for _, t := range []string{r.tenant, query.Get("tenant")} {
		if t == "" {
			continue
		}
		if tenant != "" && tenant != t {
			return invalid("tenant", "must be the same wherever the request names it")
		}
		tenant = t
	}
	c.SetTenant(tenant)
	if id := c.taskID(); id != nil && c.Send == nil {
		if c.Push != nil && *id != "" && *id != r.task {
			return invalid("taskId", "must be that of the address")
		}
		*id = r.task
	}
	switch {
	case c.Push != nil:
		c.Push.ID = first(c.Push.ID, query.Get("configId"), query.Get("config_id"))
	case c.PushGet != nil:
		c.PushGet.ID = r.config
	case c.PushDelete != nil:
		c.PushDelete.ID = r.config
	case c.Get != nil && c.Dialect == PROTO && c.Get.HistoryLength != nil && *c.Get.HistoryLength == 0: // no limit
		c.Get.HistoryLength = nil
	}
	return checkCall(c)
}
