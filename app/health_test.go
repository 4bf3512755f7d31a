package app_test

import (
	"bytes"
	"net/http"
	"testing"
)

// The list of agents says how the last contact with each went: that there was none yet, that it answers, what was wrong,
// also after a restart, and that it answers again.
func TestHealthIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startIn(t, dir)
	outside := newPeer(t)
	p.connect(outside, "outside", nil)
	cookie := p.login()
	shows := func(what string) {
		t.Helper()
		eventually(t, "its page says "+what, func() bool {
			return bytes.Contains(p.do(http.MethodGet, p.page()+"agents/outside", "", "Cookie", cookie).body, []byte(what))
		})
	}
	tell := func(id string) { p.call("agents/outside", envToken, "SendMessage", say(id, "hello")) }

	shows("Not contacted yet")
	tell("m1")
	shows("Answers")
	outside.wants("something")
	tell("m2")
	shows("Needs you to sign in")
	p.stop()

	p = startIn(t, dir)
	cookie = p.login()
	shows("The last time it wanted to know who you are")
	shows("Keep the new credential") // though its card asks for none
	outside.mu.Lock()
	outside.need = ""
	outside.mu.Unlock()
	tell("m3")
	shows("Answers")
}
