//go:build desktop && !linux

package desktop

import (
	"context"
	"errors"

	"github.com/wailsapp/wails/v2/pkg/runtime"
)

// clicked is what Wails calls a click on the notice itself.
const clicked = "DEFAULT_ACTION"

// newDesk has Wails show notices.
func newDesk(window context.Context, answered func(id, key string)) (desk, error) {
	if err := runtime.InitializeNotifications(window); err != nil {
		return nil, err
	}
	if ok, err := runtime.RequestNotificationAuthorization(window); err != nil || !ok {
		return nil, errors.Join(errors.New("nobody allowed them"), err)
	}
	runtime.OnNotificationResponse(window, func(r runtime.NotificationResult) {
		if r.Error != nil {
			return
		}
		id, key := r.Response.ID, r.Response.ActionIdentifier
		switch {
		case key == clicked:
			key = ""
		case key == "" || r.Response.CategoryID == "":
			return
		}
		_ = runtime.RemoveNotificationCategory(window, id)
		answered(id, key)
	})
	return system{window}, nil
}

type system struct{ window context.Context }

// Show has a category of its own for each notice: their buttons differ.
func (d system) Show(n *Notice) error {
	told := runtime.NotificationOptions{ID: n.ID, Title: n.Title, Body: n.Body}
	if len(n.Buttons) == 0 {
		return runtime.SendNotification(d.window, told)
	}
	category := runtime.NotificationCategory{ID: n.ID}
	for i, b := range n.Buttons {
		category.Actions = append(category.Actions, runtime.NotificationAction{ID: keyOf(i), Title: b.Label})
	}
	if err := runtime.RegisterNotificationCategory(d.window, category); err != nil {
		return err
	}
	told.CategoryID = n.ID
	return runtime.SendNotificationWithActions(d.window, told)
}

func (d system) Withdraw(id string) {
	_ = runtime.RemoveNotification(d.window, id)
	_ = runtime.RemoveDeliveredNotification(d.window, id)
	_ = runtime.RemoveNotificationCategory(d.window, id)
}

func (d system) Close() { runtime.CleanupNotifications(d.window) }
