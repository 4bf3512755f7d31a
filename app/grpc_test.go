package app_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	lf "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"parley/a2a"
	"parley/a2aserver"
	"parley/app"
)

// rpc connects to the program over gRPC.
func (p *program) rpc(o ...grpc.DialOption) *grpc.ClientConn {
	p.Helper()
	c, err := grpc.NewClient(p.ready.GRPC, append(o, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { c.Close() })
	return c
}

func bearing(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

func rpcSay(tenant, id, text string) *lf.SendMessageRequest {
	return &lf.SendMessageRequest{Tenant: tenant, Message: &lf.Message{
		MessageId: id, Role: lf.Role_ROLE_USER, Parts: []*lf.Part{{Content: &lf.Part_Text{Text: text}}},
	}}
}

// The gateway over gRPC: agents by tenant, for the callers that may reach them, and nobody else.
func TestGRPCGateway(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := lf.NewA2AServiceClient(p.rpc())
	all := bearing(t.Context(), envToken)
	named := bearing(t.Context(), p.token(app.TokenInfo{Name: "named", Agents: []string{"echo"}}))
	for _, ctx := range []context.Context{all, named} {
		if r, err := c.SendMessage(ctx, rpcSay("echo", "m1", "hello")); err != nil || r.GetMessage().GetParts()[0].GetText() != "hello" {
			t.Errorf("echo: %v, %v", r, err)
		}
	}
	for name, try := range map[string]struct {
		ctx    context.Context
		tenant string
		code   codes.Code
	}{
		"an agent that is not for this token": {named, "travel", codes.NotFound},
		"an agent that is not there":          {all, "nobody", codes.NotFound},
		"no token":                            {t.Context(), "echo", codes.Unauthenticated},
		"a wrong token":                       {bearing(t.Context(), "wrong"), "echo", codes.Unauthenticated},
	} {
		if r, err := c.SendMessage(try.ctx, rpcSay(try.tenant, "m2", "hello")); status.Code(err) != try.code {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	// The same task by both ways, for the same caller alone.
	r, err := c.SendMessage(all, rpcSay("travel", "t1", "Plan a trip to Bergen"))
	if err != nil || r.GetTask().GetStatus().GetState() != lf.TaskState_TASK_STATE_INPUT_REQUIRED {
		t.Fatalf("travel: %v, %v", r, err)
	}
	id := r.GetTask().GetId()
	if got := p.call("agents/travel", envToken, "GetTask", about(id)); got.result(t, "id") != id {
		t.Errorf("over HTTP: %s", got.body)
	}
	if _, err := c.GetTask(named, &lf.GetTaskRequest{Id: id}); status.Code(err) != codes.NotFound {
		t.Errorf("another caller: %v", err)
	}
	next := rpcSay("travel", "t2", "from Oslo, 2026-12-01 until 2026-12-05")
	next.Message.TaskId = id
	stream, err := c.SendStreamingMessage(all, next)
	if err != nil {
		t.Fatal(err)
	}
	var last *lf.StreamResponse
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if last.GetStatusUpdate().GetStatus().GetState() != lf.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("the stream ends with %v", last)
	}
	// Our own agent speaks v0.3 as well, where there are no tenants.
	old := v03.NewA2AServiceClient(p.rpc())
	card, err := old.GetAgentCard(all, &v03.GetAgentCardRequest{})
	if err != nil || card.GetName() != "Parley" || len(card.GetSkills()) < 2 {
		t.Errorf("the own card over a2a.v1: %v, %v", card, err)
	}
	extended, err := c.GetExtendedAgentCard(all, &lf.GetExtendedAgentCardRequest{})
	if err != nil || len(extended.GetSkills()) < 2 {
		t.Errorf("the extended card: %v, %v", extended, err)
	}
	// A name that is not this listener's.
	if _, err := lf.NewA2AServiceClient(p.rpc(grpc.WithAuthority("evil.example"))).SendMessage(all, rpcSay("echo", "m3", "hello")); status.Code(err) != codes.PermissionDenied {
		t.Errorf("another name: %v", err)
	}
}

// Cards name the address over gRPC: our own with both versions, an agent's with its tenant.
func TestGRPCCards(t *testing.T) {
	t.Parallel()
	p := start(t)
	find := func(card *reply, version string) string {
		for i := range 10 {
			at := "supportedInterfaces." + string(rune('0'+i)) + "."
			if card.get(at+"protocolBinding") == "GRPC" && card.get(at+"protocolVersion") == version {
				return card.get(at+"url") + " " + card.get(at+"tenant")
			}
		}
		return ""
	}
	own := p.do("GET", p.a2a(cardPath), "")
	if find(own, "1.0") != p.ready.GRPC+" " || find(own, "0.3") != p.ready.GRPC+" " {
		t.Errorf("the own card: %s", own.body)
	}
	echo := p.do("GET", p.a2a("agents/echo/"+cardPath), "", "Authorization", "Bearer "+envToken)
	if find(echo, "1.0") != p.ready.GRPC+" echo" || find(echo, "0.3") != "" {
		t.Errorf("the card of echo: %s", echo.body)
	}
	if !strings.Contains(p.ready.String(), " grpc="+p.ready.GRPC+" ") {
		t.Errorf("the ready line: %s", p.ready)
	}
	off := start(t, func(c *app.Config) { c.GRPC = "off" })
	if off.ready.GRPC != "" || strings.Contains(off.ready.String(), "grpc=") {
		t.Errorf("the ready line: %s", off.ready)
	}
	if own := off.do("GET", off.a2a(cardPath), ""); strings.Contains(string(own.body), "GRPC") {
		t.Errorf("the own card, without gRPC: %s", own.body)
	}
}

// At the end of the program streams end with a status that says to come back.
func TestGRPCEnds(t *testing.T) {
	t.Parallel()
	p := start(t)
	s, err := lf.NewA2AServiceClient(p.rpc()).SendStreamingMessage(bearing(t.Context(), envToken), rpcSay("slow", "m", "#slow 60s"))
	if err != nil {
		t.Fatal(err)
	}
	if first, err := s.Recv(); err != nil || first.GetTask() == nil {
		t.Fatalf("%v, %v", first, err)
	}
	p.stop()
	for err == nil {
		_, err = s.Recv()
	}
	if status.Code(err) != codes.Unavailable {
		t.Errorf("the stream ended with %v", err)
	}
}

// Somebody else's agent is called over gRPC where a person says so: through the same grants, with the same credential.
func TestGRPCOutbound(t *testing.T) {
	t.Parallel()
	outside := newPeer(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 100)
	card := &a2a.AgentCard{
		Name: "Outside", Capabilities: a2a.AgentCapabilities{Streaming: true}, DefaultInputModes: []string{"*/*"}, DefaultOutputModes: []string{"*/*"},
	}
	s := a2aserver.NewGRPC(a2aserver.NewHandler(outside.agent, cardOf(card), nil), &a2aserver.GRPCOptions{
		Authenticate: func(_ context.Context, md metadata.MD) (string, func(), error) {
			seen <- strings.Join(md["authorization"], "|")
			return "us", nil, nil
		},
	})
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Stop(ctx)
	})
	p := start(t)
	// Its card names nothing else, and in the form that gRPC has for addresses.
	card.Version, card.Description = "1", "Somebody else's."
	card.Skills = []a2a.AgentSkill{{ID: "x", Name: "X", Description: "Nothing much", Tags: []string{"zymurgy"}}}
	card.Interfaces = []a2a.AgentInterface{{URL: ln.Addr().String(), Binding: a2a.BindingGRPC, Version: "1.0"}}
	only := httptest.NewServer(a2aserver.NewHandler(outside.agent, cardOf(card), nil))
	t.Cleanup(only.Close)
	p.connect(&peer{url: only.URL + "/"}, "only", nil)
	if a := verb[app.AgentInfo](p, "agents.show", app.Named{ID: "only"}); a.Speaks != "v1.0 over gRPC" || !slices.Contains(a.Origins, "http://"+ln.Addr().String()) {
		t.Errorf("an agent that speaks nothing else: %+v", a)
	}
	s1 := p.stream("agents/only", envToken, "SendStreamingMessage", say("m", "streamed"))
	if s1.until("streamed"); <-seen != "" {
		t.Error("a credential that nobody gave was sent")
	}
	p.connect(outside, "outside", nil)
	for version, want := range map[string]string{"1.0": "v1.0 over gRPC", "0.3": "v0.3 over gRPC"} {
		at := &a2a.AgentInterface{URL: ln.Addr().String(), Binding: a2a.BindingGRPC, Version: version}
		if a := verb[app.AgentInfo](p, "agents.speak", app.SpeakAgent{ID: "outside", At: at}); a.Speaks != want {
			t.Errorf("%s: speaks %s", version, a.Speaks)
		}
		if r := p.call("agents/outside", envToken, "SendMessage", say("m"+version, "hello "+version)); r.result(t, "message.parts.0.text") != "hello "+version {
			t.Errorf("%s: %s", version, r.body)
		}
		if auth := <-seen; auth != "" {
			t.Errorf("%s: authorization %q", version, auth)
		}
	}
}

func cardOf(card *a2a.AgentCard) func(context.Context, *http.Request) *a2a.AgentCard {
	return func(context.Context, *http.Request) *a2a.AgentCard { return card }
}

// With a certificate the same is encrypted, for clients that insist on HTTP/2 in the handshake.
func TestGRPCTLS(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(nil)
	srv.Close()
	cert := srv.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p := start(t, func(c *app.Config) {
		c.TLSCert, c.TLSKey = write("cert.pem", "CERTIFICATE", cert.Certificate[0]), write("key.pem", "PRIVATE KEY", key)
	})
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	secure, err := grpc.NewClient(p.ready.GRPC, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { secure.Close() })
	ctx := bearing(t.Context(), envToken)
	if r, err := lf.NewA2AServiceClient(secure).SendMessage(ctx, rpcSay("echo", "m1", "hello")); err != nil || r.GetMessage() == nil {
		t.Errorf("encrypted: %v, %v", r, err)
	}
	if _, err := lf.NewA2AServiceClient(p.rpc()).SendMessage(ctx, rpcSay("echo", "m2", "hello")); status.Code(err) != codes.Unavailable {
		t.Errorf("in plain text: %v", err)
	}
}
