//go:build !desktop

package desktop

import (
	"context"
	"errors"
)

// Available tells whether this build has a window.
const Available = false

// Window is never open in this build.
type Window struct{}

// New returns a window that cannot be opened.
func New(*Options) *Window { return &Window{} }

// Run reports that this build has no window.
func (*Window) Run(context.Context, string) error {
	return errors.New("this build has no window: open the address in a browser, or build with \"make desktop\"")
}

// SetTitle does nothing.
func (*Window) SetTitle(string) {}

// Show returns ErrNone.
func (*Window) Show(string) error { return ErrNone }

// Notify returns ErrNone.
func (*Window) Notify(*Notice) error { return ErrNone }

// Withdraw does nothing.
func (*Window) Withdraw(string) {}

// AskSave returns ErrNone.
func (*Window) AskSave(string, string) (string, error) { return "", ErrNone }
