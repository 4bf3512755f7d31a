//go:build linux

// Package notice shows notifications on a desktop that has the service org.freedesktop.Notifications (Desktop Notifications
// Specification 1.2) on its session bus. Promises:
//
//   - what a notice says is text: nothing in it is read as markup;
//   - a notice is answered once at most, by a click on it or on one of its buttons; one that is sent away or runs out is not
//     answered at all;
//   - a later notice with the same ID takes the place of the earlier one.
package notice

import (
	"context"
	"fmt"
	"html"
	"slices"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

// Notice is what is told.
type Notice struct {
	ID      string
	Title   string // one line
	Body    string // below it
	Actions []Action
}

// Action is a button of a notice. A desktop may have no buttons.
type Action struct {
	Key   string // not "" and not "default"
	Label string
}

const (
	service = "org.freedesktop.Notifications"
	clicked = "default" // the key of a click on the notice itself, as the specification names it
	longest = 5 * time.Second
	most    = 1000 // notices that are remembered
)

// Desk is the connection to a desktop. Its methods may be called from any goroutine.
type Desk struct {
	conn     *dbus.Conn
	answered func(id, key string)

	mu      sync.Mutex
	owner   string   // who is the service, by its own name on the bus
	can     []string // what it can do
	numbers map[string]uint32
	ids     map[uint32]string
}

// Open connects to the session bus. Each answer is told on a goroutine of its own: the notice's ID, and the Key of the
// action, "" when the notice itself was clicked. Close ends it.
func Open(answered func(id, key string)) (*Desk, error) {
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		return nil, fmt.Errorf("the session bus: %w", err)
	}
	d := &Desk{conn: conn, answered: answered, numbers: map[string]uint32{}, ids: map[uint32]string{}}
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	if err := conn.AddMatchSignal(dbus.WithMatchSender(service), dbus.WithMatchInterface(service)); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("the session bus: %w", err)
	}
	go func() {
		for s := range signals {
			d.heard(s)
		}
	}()
	return d, nil
}

// Close leaves the desktop. What it shows stays there.
func (d *Desk) Close() { _ = d.conn.Close() }

// Show shows a notice.
func (d *Desk) Show(n *Notice) error {
	d.mu.Lock() // until its number is known: it may be answered at once
	defer d.mu.Unlock()
	if err := d.meet(); err != nil {
		return fmt.Errorf("the desktop shows no notifications: %w", err)
	}
	body := n.Body
	if slices.Contains(d.can, "body-markup") {
		body = html.EscapeString(body)
	}
	var actions []string
	if slices.Contains(d.can, "actions") {
		actions = []string{clicked, "Parley"} // some list it among the buttons
		for _, a := range n.Actions {
			actions = append(actions, a.Key, a.Label)
		}
	}
	hints := map[string]dbus.Variant{"desktop-entry": dbus.MakeVariant("parley"), "category": dbus.MakeVariant("im.received")}
	var number uint32
	err := d.call("Notify", "Parley", d.numbers[n.ID], "parley", n.Title, body, actions, hints, int32(-1)).Store(&number)
	if err != nil {
		return fmt.Errorf("the desktop does not show a notification: %w", err)
	}
	if len(d.ids) >= most { // a desktop that never says what became of them
		clear(d.ids)
		clear(d.numbers)
	}
	delete(d.ids, d.numbers[n.ID])
	d.numbers[n.ID], d.ids[number] = number, n.ID
	return nil
}

// Withdraw takes a notice away, if it is still there.
func (d *Desk) Withdraw(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if number, ok := d.numbers[id]; ok {
		d.forget(number)
		d.call("CloseNotification", number)
	}
}

// meet finds out who the service is and what it can do: it may have been started anew since. d.mu is held.
func (d *Desk) meet() error {
	can := d.call("GetCapabilities") // it is started by this, where it can be
	if can.Err != nil {
		return can.Err
	}
	owner := ""
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := d.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetNameOwner", 0, service).Store(&owner); err != nil {
		return err
	}
	if owner != d.owner { // it knows nothing of what the one before showed
		d.owner = owner
		clear(d.ids)
		clear(d.numbers)
	}
	d.can = nil
	return can.Store(&d.can)
}

func (d *Desk) call(method string, args ...any) *dbus.Call {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	return d.conn.Object(service, "/org/freedesktop/Notifications").CallWithContext(ctx, service+"."+method, 0, args...)
}

// forget returns the ID of a notice that is there no more. d.mu is held.
func (d *Desk) forget(number uint32) (id string, known bool) {
	if id, known = d.ids[number]; known {
		delete(d.ids, number)
		delete(d.numbers, id)
	}
	return id, known
}

// heard takes in what the service says of a notice, ours or another program's.
func (d *Desk) heard(s *dbus.Signal) {
	var number uint32
	var key string
	action := s.Name == service+".ActionInvoked" && dbus.Store(s.Body, &number, &key) == nil
	if !action && (s.Name != service+".NotificationClosed" || len(s.Body) == 0 || dbus.Store(s.Body[:1], &number) != nil) {
		return
	}
	d.mu.Lock()
	id, known := "", false
	if s.Sender == d.owner { // any program may send us a signal
		id, known = d.forget(number)
	}
	if known && action {
		d.call("CloseNotification", number) // some desktops keep it
	}
	d.mu.Unlock()
	if known && action {
		if key == clicked {
			key = ""
		}
		go d.answered(id, key)
	}
}
