//go:build !desktop

package desktop

import (
	"context"
	"errors"
)

// Available tells whether this build has a window.
const Available = false

// Run reports that this build has no window.
func Run(context.Context, string, *Options) error {
	return errors.New("this build has no window: open the address in a browser, or build with \"make desktop\"")
}
