//go:build desktop

package desktop

import (
	"context"

	"parley/app/desktop/notice"
)

// newDesk connects to the desktop. Wails would take a notice that is sent away for one that is clicked, and what an agent
// says in it for markup.
func newDesk(_ context.Context, answered func(id, key string)) (desk, error) {
	d, err := notice.Open(answered)
	if err != nil {
		return nil, err
	}
	return bus{d}, nil
}

type bus struct{ *notice.Desk }

func (b bus) Show(n *Notice) error {
	told := &notice.Notice{ID: n.ID, Title: n.Title, Body: n.Body}
	for i, button := range n.Buttons {
		told.Actions = append(told.Actions, notice.Action{Key: keyOf(i), Label: button.Label})
	}
	return b.Desk.Show(told)
}
