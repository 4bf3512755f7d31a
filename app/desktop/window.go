//go:build desktop

package desktop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/logger"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/options/mac"
	"github.com/wailsapp/wails/v2/pkg/runtime"
)

// Available tells whether this build has a window.
const Available = true

// Window is the window of the program. Its methods may be called at any time from any goroutine; before it is open, and
// after it was closed, they return ErrNone.
type Window struct {
	o       Options
	closing atomic.Bool // closing a window twice crashes

	mu   sync.Mutex
	ctx  context.Context // of the open window
	base *url.URL        // of the server whose pages it shows
	zoom float64
	desk desk              // nil: the desktop shows no notifications
	told map[string]Notice // by ID, that may still be answered
}

// New returns a window that is not open.
func New(o *Options) *Window {
	w := &Window{zoom: 1, told: map[string]Notice{}}
	if o != nil {
		w.o = *o
	}
	if w.o.Logger == nil {
		w.o.Logger = slog.New(slog.DiscardHandler)
	}
	if w.o.Abandon == nil {
		w.o.Abandon = func() { os.Exit(1) }
	}
	return w
}

// Run opens the window on start, a page of the loopback server, and returns when the person closed it, the process is
// asked to end (Run takes these signals over), or ctx is done. It must be called on the main goroutine, once.
func (w *Window) Run(ctx context.Context, start string) error {
	base, err := url.Parse(start)
	if err != nil {
		return fmt.Errorf("open the window: %w", err)
	}
	// WebKit draws nothing at all with some graphics drivers unless this is set before it starts.
	if _, set := os.LookupEnv("WEBKIT_DISABLE_DMABUF_RENDERER"); !set {
		os.Setenv("WEBKIT_DISABLE_DMABUF_RENDERER", "1")
	}
	at, known := readPlace(w.o.Place)
	state := options.Normal
	if at.Maximised {
		state = options.Maximised
	}
	closed := make(chan struct{})
	defer close(closed)
	err = wails.Run(&options.App{
		Title:                    cmp.Or(w.o.Title, "Parley"),
		Width:                    at.Width,
		Height:                   at.Height,
		MinWidth:                 least.Width,
		MinHeight:                least.Height,
		WindowStartState:         state,
		AssetServer:              &assetserver.Options{Handler: jump(start)},
		Menu:                     w.menu(),
		Linux:                    &linux.Options{WebviewGpuPolicy: linux.WebviewGpuPolicyNever, ProgramName: "parley"},
		Mac:                      &mac.Options{OnUrlOpen: w.link},
		EnableDefaultContextMenu: true, // copy and paste by the mouse
		Logger:                   logs{w.o.Logger},
		OnBeforeClose: func(window context.Context) (prevent bool) {
			w.closing.Store(true)
			w.keepPlace(window)
			return false
		},
		OnStartup: func(window context.Context) {
			w.opened(window, base, at, known)
			signal.Reset(os.Interrupt, syscall.SIGTERM) // Wails would close the window, too
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			select {
			case <-closed:
				stop()
				return
			case <-ctx.Done():
				stop() // another one ends the process at once
			}
			if w.closing.Swap(true) {
				return
			}
			last := time.AfterFunc(cmp.Or(w.o.Grace, 5*time.Second), w.o.Abandon)
			runtime.Quit(window)
			<-closed
			last.Stop()
		},
		OnShutdown: func(window context.Context) {
			w.mu.Lock()
			w.ctx = nil
			desk := w.desk
			w.desk = nil
			w.mu.Unlock()
			if desk != nil {
				desk.Close()
			}
		},
	})
	if err != nil {
		return fmt.Errorf("open the window: %w", err)
	}
	return nil
}

// opened takes note of the open window, and puts it where it was.
func (w *Window) opened(window context.Context, base *url.URL, at place, known bool) {
	w.mu.Lock()
	w.ctx, w.base = window, base
	w.mu.Unlock()
	go func() { // a Mac asks the person first
		desk, err := newDesk(window, w.answered)
		if err != nil {
			w.o.Logger.Info("the desktop shows no notifications", "err", err)
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.ctx == nil { // it was closed meanwhile
			desk.Close()
			return
		}
		w.desk = desk
	}()
	if !known || at.Maximised {
		return
	}
	if screens, err := runtime.ScreenGetAll(window); err == nil {
		for _, s := range screens {
			if s.IsCurrent {
				at = at.within(s.Size.Width, s.Size.Height)
			}
		}
	}
	runtime.WindowSetPosition(window, at.X, at.Y)
}

// keepPlace remembers where the window is.
func (w *Window) keepPlace(window context.Context) {
	if w.o.Place == "" {
		return
	}
	at, _ := readPlace(w.o.Place)
	if at.Maximised = runtime.WindowIsMaximised(window); !at.Maximised && runtime.WindowIsNormal(window) {
		at.X, at.Y = runtime.WindowGetPosition(window)
		at.Width, at.Height = runtime.WindowGetSize(window)
	}
	if err := at.write(w.o.Place); err != nil {
		w.o.Logger.Info("the place of the window was not kept", "err", err)
	}
}

// open returns the open window, and the server it shows.
func (w *Window) open() (context.Context, *url.URL, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil || w.closing.Load() {
		return nil, nil, ErrNone
	}
	return w.ctx, w.base, nil
}

// SetTitle names the window.
func (w *Window) SetTitle(title string) {
	if ctx, _, err := w.open(); err == nil {
		runtime.WindowSetTitle(ctx, title)
	}
}

// Show brings the window to the front and goes to a page of ours; "" stays where it is.
func (w *Window) Show(path string) error {
	ctx, _, err := w.open()
	if err != nil {
		return err
	}
	runtime.WindowUnminimise(ctx)
	runtime.WindowShow(ctx)
	if path != "" {
		w.goTo(path)
	}
	return nil
}

func (w *Window) goTo(path string) {
	if ctx, base, err := w.open(); err == nil {
		runtime.WindowExecJS(ctx, "location.assign("+quoted(inside(base, path))+")")
	}
}

// link shows what a link that the system hands over means.
func (w *Window) link(link string) {
	if w.o.Link != nil {
		_ = w.Show(w.o.Link(link)) // there is one: it was handed the link
	}
}

// AskSave asks where a file of that name is to be saved, among the person's downloads first; "" when they would rather not.
func (w *Window) AskSave(title, name string) (string, error) {
	ctx, _, err := w.open()
	if err != nil {
		return "", err
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(filepath.Join(dir, "Downloads")); err == nil && info.IsDir() {
		dir = filepath.Join(dir, "Downloads")
	}
	return runtime.SaveFileDialog(ctx, runtime.SaveDialogOptions{
		Title: title, DefaultDirectory: dir, DefaultFilename: name, CanCreateDirectories: true,
	})
}

// do carries out what a menu says.
func (w *Window) do(a Action) {
	ctx, _, err := w.open()
	if err != nil {
		return
	}
	switch a {
	case Reload:
		runtime.WindowExecJS(ctx, "location.reload()")
	case Fullscreen:
		if runtime.WindowIsFullscreen(ctx) {
			runtime.WindowUnfullscreen(ctx)
		} else {
			runtime.WindowFullscreen(ctx)
		}
	case Quit:
		runtime.Quit(ctx)
	case ZoomIn, ZoomOut, ZoomReset:
		w.mu.Lock()
		switch a {
		case ZoomIn:
			w.zoom = min(w.zoom+0.1, 3)
		case ZoomOut:
			w.zoom = max(w.zoom-0.1, 0.5)
		default:
			w.zoom = 1
		}
		zoom := w.zoom
		w.mu.Unlock()
		runtime.WindowExecJS(ctx, fmt.Sprintf("document.documentElement.style.zoom=%q", fmt.Sprintf("%.1f", zoom)))
	}
}

// jump is the page the window starts on. It leaves for the server by script: a redirect of the asset server is not
// followed, and an address to start from cannot be given.
func jump(address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>Parley</title><script>location.replace(%s)</script>", quoted(address))
	})
}

// quoted is s as a literal of JavaScript, safe inside a script element too: <, > and & are escaped.
func quoted(s string) string {
	b, _ := json.Marshal(s) // a string
	return string(b)
}

// logs passes what Wails has to say to our log.
type logs struct{ *slog.Logger }

func (l logs) Print(m string)   { l.Logger.Info(m) }
func (l logs) Trace(m string)   { l.Logger.Debug(m) }
func (l logs) Debug(m string)   { l.Logger.Debug(m) }
func (l logs) Info(m string)    { l.Logger.Info(m) }
func (l logs) Warning(m string) { l.Logger.Warn(m) }
func (l logs) Error(m string)   { l.Logger.Error(m) }
func (l logs) Fatal(m string)   { l.Logger.Error(m); os.Exit(1) }

var _ logger.Logger = logs{}
