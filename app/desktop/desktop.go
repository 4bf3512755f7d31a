// Package desktop is the window of Parley. The window is a web view on the loopback server of this very process, so it
// shows what a browser shows, under the same rules: nothing is bound into the page, and the page asks the server for
// whatever needs the machine.
//
// Only a build with the tag desktop has a window; Available tells. This package alone imports Wails.
package desktop

import (
	"log/slog"
	"time"
)

// Options say how the window behaves. The zero value works.
type Options struct {
	Title  string       // "" = Parley
	Logger *slog.Logger // nil discards

	// A native dialog holds the window's main loop and nothing can close it from outside. When ctx has been done for
	// Grace (0 = 5s) and the window is still there, Abandon is called; it must end the process. nil = os.Exit(1).
	Grace   time.Duration
	Abandon func()
}
