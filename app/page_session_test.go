package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/app"
	"parley/orchestrator"
)

// tab is a page that is open in a browser: the one socket it has.
type tab struct {
	frames chan struct{} // holds one when something came since it was last looked
	closed chan error    // holds why, once
}

func (p *program) tab(cookie string) *tab {
	p.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p.Cleanup(cancel)
	c, _, err := websocket.Dial(ctx, p.page()+"ws", &websocket.DialOptions{
		HTTPClient: client(p.T),
		HTTPHeader: http.Header{"Cookie": {cookie}, "Origin": {strings.TrimSuffix(p.page(), "/")}},
	})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { c.CloseNow() })
	c.SetReadLimit(64 << 20)
	if err := c.Write(ctx, websocket.MessageText, []byte("{}")); err != nil {
		p.Fatal(err)
	}
	t := &tab{frames: make(chan struct{}, 1), closed: make(chan error, 1)}
	go func() {
		for {
			if _, _, err := c.Read(ctx); err != nil {
				t.closed <- err
				return
			}
			select {
			case t.frames <- struct{}{}:
			default:
			}
		}
	}()
	return t
}

// A tab that was open before goes with its session: when the person signs out in another one with the same cookie, and when
// another passphrase, or none, takes the place of the one that let it in. The tabs of others stay.
func TestOpenTabsEnd(t *testing.T) {
	t.Parallel()
	p := start(t)
	origin := strings.TrimSuffix(p.page(), "/")
	chats := 0
	chat := func() { // is shown in every tab
		chats++
		now := time.Now()
		id := fmt.Sprint("chat", chats)
		if err := p.Write(t.Context(), &orchestrator.Batch{Conversations: []*orchestrator.Conversation{{ID: id, Title: id, Created: now, Updated: now}}}); err != nil {
			t.Fatal(err)
		}
	}
	enter := func(passphrase string) string {
		t.Helper()
		if err := app.SetLogin(p.dir, passphrase); err != nil {
			t.Fatal(err)
		}
		r := p.do("POST", p.page()+"session", `{"passphrase":"`+passphrase+`"}`, "Content-Type", "application/json", "Origin", origin)
		if r.StatusCode != http.StatusNoContent || len(r.Cookies()) != 1 {
			t.Fatalf("the passphrase: %d %s", r.StatusCode, r.body)
		}
		return r.Cookies()[0].Name + "=" + r.Cookies()[0].Value
	}
	ends := func(why string, gone *tab) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case err := <-gone.closed:
				if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
					t.Errorf("%s: the socket was closed for %v", why, err)
				}
				return
			case <-tick.C:
				chat()
			case <-ctx.Done():
				t.Fatalf("%s: the socket is open after %d chats", why, chats)
			}
		}
	}
	stays := p.tab(p.login())
	leaving := p.login()
	gone := p.tab(leaving)
	if r := p.do("POST", p.page()+"session/end", "", "Cookie", leaving, "Origin", origin); r.StatusCode != http.StatusSeeOther {
		t.Fatalf("sign out: %d", r.StatusCode)
	}
	ends("signed out", gone)
	old := p.tab(enter("correct horse battery"))
	younger := p.tab(enter("staple battery horse"))
	ends("another passphrase", old)
	select {
	case err := <-younger.closed:
		t.Errorf("the socket of the new passphrase was closed: %v", err)
	default:
	}
	if err := app.SetLogin(p.dir, ""); err != nil {
		t.Fatal(err)
	}
	ends("no passphrase", younger)
	select { // what came before is not what is waited for
	case <-stays.frames:
	default:
	}
	chat()
	select {
	case <-stays.frames:
	case err := <-stays.closed:
		t.Errorf("the socket of another session was closed: %v", err)
	case <-time.After(20 * time.Second):
		t.Error("the socket of another session is told nothing")
	}
}
