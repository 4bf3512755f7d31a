//go:build desktop

package desktop

import (
	goruntime "runtime"

	"github.com/wailsapp/wails/v2/pkg/menu"
	"github.com/wailsapp/wails/v2/pkg/menu/keys"
	"github.com/wailsapp/wails/v2/pkg/runtime"
)

// menu builds the menus. On a Mac the ones that every program has come first: without them not even copy and paste work
// by the keyboard.
func (w *Window) menu() *menu.Menu {
	m := menu.NewMenu()
	if goruntime.GOOS == "darwin" {
		m.Append(menu.AppMenu())
		m.Append(menu.EditMenu())
	}
	if w.o.Menus == nil {
		return m
	}
	for _, sub := range w.o.Menus() {
		list := m.AddSubmenu(sub.Label)
		for _, it := range sub.Items {
			if it.Label == "" {
				list.AddSeparator()
				continue
			}
			var key *keys.Accelerator
			if it.Key != "" {
				key = keys.CmdOrCtrl(it.Key)
			}
			list.AddText(it.Label, key, func(*menu.CallbackData) {
				switch {
				case it.Do != "":
					w.do(it.Do)
				case it.Open != "":
					if ctx, _, err := w.open(); err == nil {
						runtime.BrowserOpenURL(ctx, it.Open)
					}
				default:
					w.goTo(it.Path)
				}
			})
		}
	}
	return m
}
