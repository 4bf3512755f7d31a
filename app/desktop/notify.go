//go:build desktop

package desktop

import (
	"errors"
	"strconv"
)

// desk shows notices on the desktop of this system. Their answers come as notify says.
type desk interface {
	Show(n *Notice) error
	Withdraw(id string)
	Close()
}

// Notify shows a notification of the desktop.
func (w *Window) Notify(n *Notice) error {
	if _, _, err := w.open(); err != nil {
		return err
	}
	w.mu.Lock()
	desk := w.desk
	if len(w.told) > 1000 { // nobody answers those any more
		clear(w.told)
	}
	w.told[n.ID] = *n
	w.mu.Unlock()
	if desk == nil {
		return errors.New("the desktop shows no notifications")
	}
	return desk.Show(n)
}

// Withdraw takes a notification away, if it is still there.
func (w *Window) Withdraw(id string) {
	w.mu.Lock()
	desk := w.desk
	_, told := w.told[id]
	delete(w.told, id)
	w.mu.Unlock()
	if told && desk != nil {
		desk.Withdraw(id)
	}
}

// answered is told the notice that somebody clicked on, and the key of its button; "" when it was the notice itself.
func (w *Window) answered(id, key string) {
	w.mu.Lock()
	n, told := w.told[id]
	delete(w.told, id)
	w.mu.Unlock()
	if !told {
		return
	}
	for i, b := range n.Buttons {
		if key == keyOf(i) && b.Do != nil {
			b.Do()
			return
		}
	}
	_ = w.Show(n.Path) // there is one: it showed the notification
}

// keyOf names a button.
func keyOf(i int) string { return "button-" + strconv.Itoa(i) }
