//go:build desktop

package desktop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/logger"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/runtime"
)

// Available tells whether this build has a window.
const Available = true

// Run opens a window on url, a page of the loopback server, and returns when the person closed it, the process is asked
// to end (Run takes these signals over), or ctx is done. It must be called on the main goroutine, once.
func Run(ctx context.Context, url string, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	abandon := o.Abandon
	if abandon == nil {
		abandon = func() { os.Exit(1) }
	}
	// WebKit draws nothing at all with some graphics drivers unless this is set before it starts.
	if _, set := os.LookupEnv("WEBKIT_DISABLE_DMABUF_RENDERER"); !set {
		os.Setenv("WEBKIT_DISABLE_DMABUF_RENDERER", "1")
	}

	closed := make(chan struct{})
	defer close(closed)
	var closing atomic.Bool // closing a window twice crashes
	err := wails.Run(&options.App{
		Title:                    cmp.Or(o.Title, "Parley"),
		Width:                    1280,
		Height:                   860,
		MinWidth:                 380,
		MinHeight:                480,
		AssetServer:              &assetserver.Options{Handler: jump(url)},
		Linux:                    &linux.Options{WebviewGpuPolicy: linux.WebviewGpuPolicyNever, ProgramName: "parley"},
		EnableDefaultContextMenu: true, // copy and paste by the mouse
		Logger:                   logs{cmp.Or(o.Logger, slog.New(slog.DiscardHandler))},
		OnBeforeClose: func(context.Context) (prevent bool) {
			closing.Store(true)
			return false
		},
		OnStartup: func(window context.Context) {
			signal.Reset(os.Interrupt, syscall.SIGTERM) // Wails would close the window, too
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			select {
			case <-closed:
				stop()
				return
			case <-ctx.Done():
				stop() // another one ends the process at once
			}
			if closing.Swap(true) {
				return
			}
			last := time.AfterFunc(cmp.Or(o.Grace, 5*time.Second), abandon)
			runtime.Quit(window)
			<-closed
			last.Stop()
		},
	})
	if err != nil {
		return fmt.Errorf("open the window: %w", err)
	}
	return nil
}

// jump is the page the window starts on. It leaves for the server by script: a redirect of the asset server is not
// followed, and an address to start from cannot be given.
func jump(url string) http.Handler {
	quoted, _ := json.Marshal(url) // escapes <, > and & too: safe inside a script element
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>Parley</title><script>location.replace(%s)</script>", quoted)
	})
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
