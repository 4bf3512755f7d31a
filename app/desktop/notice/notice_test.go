//go:build linux

package notice_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"parley/app/desktop/notice"
)

const service = "org.freedesktop.Notifications"

// desk is a notification service on a session bus of its own, as a desktop has one.
type desk struct {
	conn *dbus.Conn
	can  []string

	mu    sync.Mutex
	last  uint32
	shown map[uint32]told
	took  []uint32 // that were replaced
}

type told struct {
	App, Icon, Title, Body string
	Actions                []string
}

func (d *desk) GetCapabilities() ([]string, *dbus.Error) { return d.can, nil }

func (d *desk) Notify(app string, replaces uint32, icon, title, body string, actions []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	number := replaces
	if number == 0 {
		d.last++
		number = d.last
	} else {
		d.took = append(d.took, replaces)
	}
	d.shown[number] = told{app, icon, title, body, actions}
	return number, nil
}

func (d *desk) CloseNotification(number uint32) *dbus.Error {
	d.mu.Lock()
	_, ok := d.shown[number]
	delete(d.shown, number)
	d.mu.Unlock()
	if ok {
		d.says("NotificationClosed", number, uint32(3))
	}
	return nil
}

func (d *desk) says(signal string, args ...any) {
	if err := d.conn.Emit("/org/freedesktop/Notifications", service+"."+signal, args...); err != nil {
		panic(err)
	}
}

func (d *desk) now() map[uint32]told {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := map[uint32]told{}
	for k, v := range d.shown {
		m[k] = v
	}
	return m
}

// newDesk starts a bus with a service that can do so much, and makes it this process's session bus.
func newDesk(t *testing.T, can ...string) *desk {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no dbus-daemon here, and nothing is left out where it counts")
		}
		t.Skip("there is no dbus-daemon here")
	}
	bus := exec.Command("dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1", "--address=unix:dir="+t.TempDir())
	out, err := bus.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bus.Process.Kill()
		_ = bus.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(address))
	conn, err := dbus.Connect(strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	d := &desk{conn: conn, can: can, shown: map[uint32]told{}}
	if err := conn.Export(d, "/org/freedesktop/Notifications", service); err != nil {
		t.Fatal(err)
	}
	if r, err := conn.RequestName(service, dbus.NameFlagDoNotQueue); err != nil || r != dbus.RequestNameReplyPrimaryOwner {
		t.Fatal(r, err)
	}
	return d
}

type answer struct{ id, key string }

func open(t *testing.T) (*notice.Desk, chan answer) {
	t.Helper()
	answers := make(chan answer, 10)
	n, err := notice.Open(func(id, key string) { answers <- answer{id, key} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n, answers
}

func show(t *testing.T, n *notice.Desk, what *notice.Notice) {
	t.Helper()
	if err := n.Show(what); err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, answers chan answer) answer {
	t.Helper()
	select {
	case a := <-answers:
		return a
	case <-time.After(30 * time.Second):
		t.Fatal("no answer came")
		return answer{}
	}
}

func TestNotices(t *testing.T) {
	d := newDesk(t, "actions", "body", "body-markup")
	n, answers := open(t)
	show(t, n, &notice.Notice{
		ID: "ask-1", Title: "May I <b>send</b> it?", Body: `Quill, in <img src="file:///etc/passwd"> R&D`,
		Actions: []notice.Action{{Key: "yes", Label: "Go ahead"}, {Key: "no", Label: "Do not"}},
	})
	want := map[uint32]told{1: {
		App: "Parley", Icon: "parley", Title: "May I <b>send</b> it?", Body: "Quill, in &lt;img src=&#34;file:///etc/passwd&#34;&gt; R&amp;D",
		Actions: []string{"default", "Parley", "yes", "Go ahead", "no", "Do not"},
	}}
	if d := cmp.Diff(want, d.now()); d != "" {
		t.Error(d)
	}

	// Another of the same ID takes its place; its buttons and a click on it answer, each once.
	show(t, n, &notice.Notice{ID: "ask-1", Title: "Again", Actions: []notice.Action{{Key: "yes", Label: "Go ahead"}}})
	show(t, n, &notice.Notice{ID: "ask-2", Title: "Another"})
	if len(d.now()) != 2 || d.now()[1].Title != "Again" {
		t.Errorf("shown: %v", d.now())
	}
	d.says("ActionInvoked", uint32(77), "yes") // another program's
	other, err := dbus.Connect(os.Getenv("DBUS_SESSION_BUS_ADDRESS"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	forged := &dbus.Message{Type: dbus.TypeSignal, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldInterface: dbus.MakeVariant(service), dbus.FieldMember: dbus.MakeVariant("ActionInvoked"),
		dbus.FieldPath:        dbus.MakeVariant(dbus.ObjectPath("/org/freedesktop/Notifications")),
		dbus.FieldDestination: dbus.MakeVariant(":1.1"), dbus.FieldSignature: dbus.MakeVariant(dbus.ParseSignatureMust("us")),
	}, Body: []any{uint32(1), "no"}}
	if c := other.Send(forged, nil); c != nil && c.Err != nil {
		t.Fatal(c.Err)
	}
	var who string
	if err := other.BusObject().Call("org.freedesktop.DBus.GetId", 0).Store(&who); err != nil { // so it has arrived
		t.Fatal(err)
	}
	d.says("ActionInvoked", uint32(1), "yes")
	d.says("ActionInvoked", uint32(1), "yes")
	if a := next(t, answers); a != (answer{"ask-1", "yes"}) {
		t.Errorf("answered %v", a)
	}
	d.says("ActionInvoked", uint32(2), "default")
	if a := next(t, answers); a != (answer{"ask-2", ""}) {
		t.Errorf("answered %v", a)
	}
	if len(d.now()) != 0 {
		t.Errorf("answered ones are still there: %v", d.now())
	}

	// Who sends one away says nothing, and what was answered elsewhere is taken away.
	show(t, n, &notice.Notice{ID: "ask-3", Title: "Sent away"})
	d.says("NotificationClosed", uint32(3), uint32(2))
	show(t, n, &notice.Notice{ID: "ask-4", Title: "Answered in the window"})
	n.Withdraw("ask-4")
	n.Withdraw("ask-4")
	n.Withdraw("never")
	show(t, n, &notice.Notice{ID: "ask-5", Title: "The last"})
	d.says("ActionInvoked", uint32(5), "default")
	if a := next(t, answers); a != (answer{"ask-5", ""}) {
		t.Errorf("answered %v", a)
	}
	if _, there := d.now()[4]; there {
		t.Error("what was withdrawn is still there")
	}
	show(t, n, &notice.Notice{ID: "ask-3", Title: "A new one"})
	if len(d.took) != 1 {
		t.Errorf("what was closed is replaced: %v", d.took)
	}
}

// A desktop without buttons and markup gets none.
func TestPlainDesk(t *testing.T) {
	d := newDesk(t, "body")
	n, _ := open(t)
	show(t, n, &notice.Notice{ID: "1", Title: "T", Body: "a < b & c", Actions: []notice.Action{{Key: "yes", Label: "Yes"}}})
	if d := cmp.Diff(map[uint32]told{1: {App: "Parley", Icon: "parley", Title: "T", Body: "a < b & c", Actions: []string{}}}, d.now()); d != "" {
		t.Error(d)
	}
}

// Without a service, or without a bus, whoever wants to tell something hears so.
func TestNoDesk(t *testing.T) {
	d := newDesk(t, "body")
	if _, err := d.conn.ReleaseName(service); err != nil {
		t.Fatal(err)
	}
	n, _ := open(t)
	if err := n.Show(&notice.Notice{ID: "1", Title: "T"}); err == nil || !strings.Contains(err.Error(), "shows no notifications") {
		t.Errorf("no service: %v", err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+t.TempDir()+"/none")
	if _, err := notice.Open(nil); err == nil {
		t.Error("connected to no bus")
	}
}
