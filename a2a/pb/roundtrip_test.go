package pb_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"parley/a2a"
	"parley/a2a/pb"
	"parley/a2a/wire"
	"parley/a2a/wiretest"
)

// same compares raw JSON by its members and its numbers as doubles; no members are as good as no object.
var same = cmp.Options{
	cmp.FilterPath(func(p cmp.Path) bool { return !isRaw(p) }, cmpopts.EquateEmpty()),
	cmp.FilterPath(isRaw, cmp.Comparer(func(x, y json.RawMessage) bool { return cmp.Equal(parsed(x), parsed(y)) })),
}

func isRaw(p cmp.Path) bool { return p.Last().Type() == reflect.TypeFor[json.RawMessage]() }

func parsed(raw []byte) (v any) {
	json.Unmarshal(raw, &v)
	if m, ok := v.(map[string]any); ok && len(m) == 0 {
		return nil
	}
	return v
}

var dialects = []wire.Dialect{wire.NEW, wire.PROTO}

// sent takes a message over the wire.
func sent(t interface{ Fatal(...any) }, m *pb.Method, reply bool, msg proto.Message) proto.Message {
	b, err := proto.Marshal(msg)
	if err != nil {
		t.Fatal(err)
	}
	to := m.NewRequest()
	if reply {
		to = m.NewReply()
	}
	if err := proto.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestCheck35EventsSurvive(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			m := pb.MethodOf(d, wire.OpStream)
			rapid.Check(t, func(t *rapid.T) {
				event := wiretest.Event().Draw(t, "event")
				got, err := pb.Result(m, sent(t, m, true, pb.Event(d, event)))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(wiretest.Said(d, event), got, same); diff != "" {
					t.Fatal(diff)
				}
				b, err := pb.EncodeEntry(d, a2a.NewEntry(1, time.Time{}, a2a.MarshalEvent(event), event))
				if err != nil {
					t.Fatal(err)
				}
				reply := m.NewReply()
				if err := proto.Unmarshal(b, reply); err != nil {
					t.Fatal(err)
				}
				again, err := pb.Result(m, reply)
				if diff := cmp.Diff(got, again, same); err != nil || diff != "" {
					t.Fatal(err, diff)
				}
			})
		})
	}
}

func TestCheck35RequestsSurvive(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				request := wiretest.Request().Draw(t, "request")
				m, msg, err := pb.Request(d, wire.OpSend, &request)
				if err != nil {
					t.Fatal(err)
				}
				call, err := pb.DecodeCall(m, sent(t, m, false, msg))
				if err != nil {
					t.Fatal(err)
				}
				want := wiretest.SaidRequest(d, request)
				if d != wire.NEW {
					want.Tenant = "" // which the SDK's copy does not have
				}
				if diff := cmp.Diff(&want, call.Send, same); diff != "" {
					t.Fatal(diff)
				}
			})
		})
	}
}

// TestOtherRequestsSurvive covers the operations that are not about messages, with every member set.
func TestOtherRequestsSurvive(t *testing.T) {
	t.Parallel()
	three := 3
	push := a2a.PushConfig{
		Tenant: "t", ID: "c1", TaskID: "T1", URL: "https://hook.example/a", Token: "s",
		Authentication: &a2a.PushAuthentication{Scheme: "Bearer", Credentials: "x"},
	}
	v03 := push
	v03.Tenant = ""
	v03.Authentication = &a2a.PushAuthentication{Scheme: "Bearer", Credentials: "x", MoreSchemes: []string{"Basic"}}
	cases := []struct {
		d      wire.Dialect
		op     wire.Op
		params any
		field  string
	}{
		{wire.NEW, wire.OpGet, &a2a.GetRequest{Tenant: "t", ID: "T1", HistoryLength: new(int)}, "Get"},
		{wire.NEW, wire.OpList, &a2a.ListRequest{
			Tenant: "t", ContextID: "C", Status: a2a.TaskStateCanceled, PageSize: 100, PageToken: "p", HistoryLength: &three,
			StatusTimestampAfter: time.UnixMilli(1767323045678).UTC(), IncludeArtifacts: true,
		}, "List"},
		{wire.NEW, wire.OpCancel, &a2a.CancelRequest{Tenant: "t", ID: "T1", Metadata: a2a.Metadata(`{"why":[1,null,{"a":false}]}`)}, "Cancel"},
		{wire.NEW, wire.OpSubscribe, &a2a.SubscribeRequest{Tenant: "t", ID: "T1"}, "Subscribe"},
		{wire.NEW, wire.OpPushSet, &push, "Push"},
		{wire.NEW, wire.OpPushGet, &a2a.PushGetRequest{Tenant: "t", TaskID: "T1", ID: "c1"}, "PushGet"},
		{wire.NEW, wire.OpPushList, &a2a.PushListRequest{Tenant: "t", TaskID: "T1", PageSize: 7, PageToken: "p"}, "PushList"},
		{wire.NEW, wire.OpPushDelete, &a2a.PushDeleteRequest{Tenant: "t", TaskID: "T1", ID: "c1"}, "PushDelete"},
		{wire.NEW, wire.OpExtendedCard, &a2a.ExtendedCardRequest{Tenant: "t"}, "Card"},
		{wire.PROTO, wire.OpGet, &a2a.GetRequest{ID: "T/1:x", HistoryLength: &three}, "Get"},
		{wire.PROTO, wire.OpCancel, &a2a.CancelRequest{ID: "T1"}, "Cancel"},
		{wire.PROTO, wire.OpSubscribe, &a2a.SubscribeRequest{ID: "T1"}, "Subscribe"},
		{wire.PROTO, wire.OpPushSet, &v03, "Push"},
		{wire.PROTO, wire.OpPushGet, &a2a.PushGetRequest{TaskID: "a/pushNotificationConfigs/b", ID: "c1"}, "PushGet"},
		{wire.PROTO, wire.OpPushGet, &a2a.PushGetRequest{TaskID: "T1"}, "PushGet"},
		{wire.PROTO, wire.OpPushList, &a2a.PushListRequest{TaskID: "T1", PageSize: 7, PageToken: "p"}, "PushList"},
		{wire.PROTO, wire.OpPushDelete, &a2a.PushDeleteRequest{TaskID: "T1", ID: "c1"}, "PushDelete"},
		{wire.PROTO, wire.OpExtendedCard, &a2a.ExtendedCardRequest{}, "Card"},
	}
	for _, c := range cases {
		m, msg, err := pb.Request(c.d, c.op, c.params)
		if err != nil {
			t.Fatal(err)
		}
		call, err := pb.DecodeCall(m, sent(t, m, false, msg))
		if err != nil {
			t.Fatalf("%s: %v", m.Path(), err)
		}
		if diff := cmp.Diff(c.params, reflect.ValueOf(call).Elem().FieldByName(c.field).Interface(), same); diff != "" {
			t.Errorf("%s: %s", m.Path(), diff)
		}
	}
	if _, _, err := pb.Request(wire.PROTO, wire.OpList, &a2a.ListRequest{}); a2a.KindOf(err) != a2a.KindUnsupportedOperation {
		t.Errorf("a list of v0.3: %v", err)
	}
}

func TestResultsSurvive(t *testing.T) {
	t.Parallel()
	task := a2a.Task{ID: "T1", ContextID: "C1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}
	push := a2a.PushConfig{ID: "c1", TaskID: "T1", URL: "https://hook.example/"}
	cases := []struct {
		op     wire.Op
		result any
	}{
		{wire.OpSend, &task},
		{wire.OpSend, &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("hi")}}},
		{wire.OpGet, &task},
		{wire.OpCancel, &task},
		{wire.OpList, &a2a.TaskPage{Tasks: []a2a.Task{task, task}, NextPageToken: "n", PageSize: 2, TotalSize: 9}},
		{wire.OpPushSet, &push},
		{wire.OpPushGet, &push},
		{wire.OpPushList, &a2a.PushConfigPage{Configs: []a2a.PushConfig{push, push}, NextPageToken: "n"}},
		{wire.OpPushDelete, nil},
	}
	for _, d := range dialects {
		for _, c := range cases {
			m := pb.MethodOf(d, c.op)
			if m == nil {
				continue // a list of v0.3
			}
			msg, err := pb.Reply(&wire.Call{Dialect: d, Op: c.op}, c.result)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pb.Result(m, sent(t, m, true, msg))
			if diff := cmp.Diff(c.result, got, same); err != nil || diff != "" {
				t.Errorf("%s: %v %s", m.Path(), err, diff)
			}
		}
	}
}

func TestCardsSurvive(t *testing.T) {
	t.Parallel()
	card := a2a.AgentCard{
		Name: "calc", Description: "*adds*", Version: "1.2", Provider: &a2a.AgentProvider{Organization: "o", URL: "https://o.example"},
		DocumentationURL: "https://o.example/d", IconURL: "https://o.example/i.png",
		Interfaces: []a2a.AgentInterface{
			{URL: "a.example:443", Binding: a2a.BindingGRPC, Version: "1.0", Tenant: "acme"},
			{URL: "https://a.example/rpc", Binding: a2a.BindingJSONRPC, Version: "0.3"},
		},
		Capabilities: a2a.AgentCapabilities{
			Streaming: true, PushNotifications: true, ExtendedAgentCard: true,
			Extensions: []a2a.AgentExtension{{URI: "https://x.example/1", Description: "d", Required: true, Params: a2a.Metadata(`{"n":[1,"a"]}`)}},
		},
		SecuritySchemes: map[string]a2a.SecurityScheme{
			"key":  {Kind: a2a.SchemeAPIKey, Description: "k", Name: "X-Key", Location: "header"},
			"http": {Kind: a2a.SchemeHTTP, Scheme: "Bearer", BearerFormat: "JWT"},
			"oidc": {Kind: a2a.SchemeOpenIDConnect, OpenIDConnectURL: "https://o.example/.well-known/openid-configuration"},
			"mtls": {Kind: a2a.SchemeMutualTLS, Description: "m"},
			"code": {Kind: a2a.SchemeOAuth2, OAuth2MetadataURL: "https://o.example/m", Flows: []a2a.OAuthFlow{{
				Kind: "authorizationCode", AuthorizationURL: "https://o.example/a", TokenURL: "https://o.example/t", RefreshURL: "https://o.example/r",
				Scopes: map[string]string{"read": "reads"},
			}}},
			"device": {Kind: a2a.SchemeOAuth2, Flows: []a2a.OAuthFlow{{
				Kind: "deviceCode", DeviceAuthorizationURL: "https://o.example/d", TokenURL: "https://o.example/t", Scopes: map[string]string{"a": "b"},
			}}},
			"client":   {Kind: a2a.SchemeOAuth2, Flows: []a2a.OAuthFlow{{Kind: "clientCredentials", TokenURL: "https://o.example/t", Scopes: map[string]string{"a": "b"}}}},
			"implicit": {Kind: a2a.SchemeOAuth2, Flows: []a2a.OAuthFlow{{Kind: "implicit", AuthorizationURL: "https://o.example/a", Scopes: map[string]string{"a": "b"}}}},
			"password": {Kind: a2a.SchemeOAuth2, Flows: []a2a.OAuthFlow{{Kind: "password", TokenURL: "https://o.example/t", Scopes: map[string]string{"a": "b"}}}},
		},
		SecurityRequirements: []a2a.SecurityRequirement{{"http": {}}, {"code": {"read"}, "key": {}}},
		DefaultInputModes:    []string{"text/plain"}, DefaultOutputModes: []string{"text/plain", "image/png"},
		Skills: []a2a.AgentSkill{{
			ID: "add", Name: "Add", Description: "adds", Tags: []string{"math"}, Examples: []string{"1+1"}, InputModes: []string{"text/plain"},
			OutputModes: []string{"text/plain"}, SecurityRequirements: []a2a.SecurityRequirement{{"mtls": {}}},
		}},
		Signatures: []a2a.AgentCardSignature{{Protected: "p", Signature: "s", Header: json.RawMessage(`{"kid":"k"}`)}},
	}
	for _, d := range dialects {
		m := pb.MethodOf(d, wire.OpExtendedCard)
		msg, err := pb.Reply(&wire.Call{Dialect: d, Op: wire.OpExtendedCard}, &card)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pb.Result(m, sent(t, m, true, msg))
		if err != nil {
			t.Fatal(err)
		}
		want := card
		if d != wire.NEW { // v0.3 has one address for all versions, no device flow and no tenants
			g := got.(*a2a.AgentCard)
			want.Interfaces, g.Interfaces = nil, nil
			if s := g.SecuritySchemes["device"]; s.Kind != a2a.SchemeHTTP || s.Scheme != "Bearer" {
				t.Errorf("the device flow became %+v", s)
			}
			want.SecuritySchemes = maps.Clone(want.SecuritySchemes)
			want.SecuritySchemes["device"] = g.SecuritySchemes["device"]
		}
		if diff := cmp.Diff(&want, got, same); diff != "" {
			t.Errorf("%s: %s", d, diff)
		}
	}
}
