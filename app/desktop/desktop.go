// Package desktop is the window of Parley. The window is a web view on the loopback server of this very process, so it
// shows what a browser shows, under the same rules: nothing is bound into the page, and the page asks the server for
// whatever needs the machine. The server turns to the Window for it.
//
// Only a build with the tag desktop has a window; Available tells. This package alone imports Wails.
package desktop

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"time"
)

// Options say how the window behaves. The zero value works.
type Options struct {
	Title  string        // "" = Parley
	Logger *slog.Logger  // nil discards
	Place  string        // the file that keeps where the window was; "" = it is kept nowhere
	Menus  func() []Menu // asked when the window opens; nil = none

	// Link says which page a link that the system hands over means. nil = none.
	Link func(link string) (path string)

	// A native dialog holds the window's main loop and nothing can close it from outside. When ctx has been done for
	// Grace (0 = 5s) and the window is still there, Abandon is called; it must end the process. nil = os.Exit(1).
	Grace   time.Duration
	Abandon func()
}

// Menu is one menu of the window.
type Menu struct {
	Label string
	Items []Item
}

// Item is one line of a menu; without a label it is a line between others. Exactly one of what it does is set.
type Item struct {
	Label string
	Key   string // held with Ctrl, or Command on a Mac; "" = none

	Path string // goes to a page of ours
	Open string // opens an address in the browser
	Do   Action
}

// Notice is a notification of the desktop. A later one with the same ID takes the place of the earlier one. A click on it
// shows the window at Path.
type Notice struct {
	ID      string
	Title   string
	Body    string
	Path    string
	Buttons []Button // at most 3
}

// Button is one of a notice's. Do is called on a goroutine of its own, once for all buttons of a notice; nil does what a
// click on the notice does.
type Button struct {
	Label string
	Do    func()
}

// Action is what a menu does that is no page.
type Action string

const (
	Reload     Action = "reload"
	ZoomIn     Action = "zoom-in"
	ZoomOut    Action = "zoom-out"
	ZoomReset  Action = "zoom-reset"
	Fullscreen Action = "fullscreen"
	Quit       Action = "quit"
)

// ErrNone is returned by what needs a window while there is none.
var ErrNone = errors.New("there is no window")

// place is where a window was.
type place struct {
	X, Y, Width, Height int
	Maximised           bool
}

// The smallest window that makes sense, and the first one.
var (
	least = place{Width: 380, Height: 480}
	first = place{Width: 1280, Height: 860}
)

// readPlace returns where the window was; what makes no sense is as if it had never been anywhere.
func readPlace(file string) (p place, known bool) {
	b, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(b, &p) != nil || p.Width < least.Width || p.Height < least.Height || p.Width > 1<<15 || p.Height > 1<<15 {
		return first, false
	}
	return p, true
}

// write keeps the place. It is a comfort: a window opens all the same where that did not go well.
func (p place) write(file string) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	temp := file + ".new"
	if err := os.WriteFile(temp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, file)
}

// within returns p moved so that it can be reached on a screen of that size: at least a part of its top is on it.
func (p place) within(width, height int) place {
	if width <= 0 || height <= 0 {
		return p
	}
	p.Width, p.Height = min(p.Width, max(width, least.Width)), min(p.Height, max(height, least.Height))
	p.X, p.Y = max(0, min(p.X, width-p.Width)), max(0, min(p.Y, height-p.Height))
	return p
}

// inside returns the address of a path on the server that shows the page at base. Nothing else is ever shown in the
// window: a path that leads elsewhere is the start.
func inside(base *url.URL, path string) string {
	to, err := base.Parse(path)
	if err != nil || to.Scheme != base.Scheme || to.Host != base.Host || to.User != nil {
		to = &url.URL{Scheme: base.Scheme, Host: base.Host, Path: "/"}
	}
	return to.String()
}
