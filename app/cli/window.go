package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"parley/app"
	"parley/app/desktop"
)

// newWindow returns the window, not yet open. language is asked then for the one that was chosen.
func newWindow(cfg *app.Config, language func() string) *desktop.Window {
	return desktop.New(&desktop.Options{
		Logger: cfg.Logger, Place: filepath.Join(cfg.Data, "window.json"), Link: func(link string) string {
			path, err := linked(link)
			if err != nil {
				return "/"
			}
			return path
		},
		Menus: func() []desktop.Menu { return menus(app.Say(language())) },
	})
}

// menus are those of the window. The catalogues of the page have their words.
func menus(say func(en string) string) []desktop.Menu {
	all := []desktop.Menu{
		{Label: "Parley", Items: []desktop.Item{
			{Label: "New chat", Key: "n", Path: "/"},
			{Label: "Connect an agent…", Path: "/connect"},
			{},
			{Label: "Settings", Key: ",", Path: "/settings"},
			{},
			{Label: "Quit", Key: "q", Do: desktop.Quit},
		}},
		{Label: "Go", Items: []desktop.Item{
			{Label: "Chats", Key: "1", Path: "/"},
			{Label: "Inbox", Key: "2", Path: "/inbox"},
			{Label: "Agents", Key: "3", Path: "/agents"},
			{Label: "Workflows", Key: "4", Path: "/workflows"},
			{Label: "Tasks", Key: "5", Path: "/tasks"},
			{Label: "Wire", Key: "6", Path: "/wire"},
			{Label: "My agent", Key: "7", Path: "/my-agent"},
		}},
		{Label: "View", Items: []desktop.Item{
			{Label: "Reload", Key: "r", Do: desktop.Reload},
			{},
			{Label: "Larger", Key: "=", Do: desktop.ZoomIn},
			{Label: "Smaller", Key: "-", Do: desktop.ZoomOut},
			{Label: "Normal size", Key: "0", Do: desktop.ZoomReset},
			{},
			{Label: "Full screen", Do: desktop.Fullscreen},
		}},
		{Label: "Help", Items: []desktop.Item{
			{Label: "About A2A", Open: "https://a2a-protocol.org/"},
			{Label: "About Parley", Path: "/settings#about"},
		}},
	}
	for i := range all {
		all[i].Label = say(all[i].Label)
		for j := range all[i].Items {
			all[i].Items[j].Label = say(all[i].Items[j].Label)
		}
	}
	return all
}

// shell does for the page in the window what a web view cannot.
type shell struct{ *desktop.Window }

var _ app.Shell = shell{}

func (shell) OpenURL(address string) error { return openPath(address) }

func (shell) OpenFolder(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s", path)
	}
	return openPath(path)
}

func (s shell) Notify(n *app.Notice) error {
	told := &desktop.Notice{ID: n.ID, Title: n.Title, Body: n.Body, Path: n.Href}
	for _, b := range n.Buttons {
		told.Buttons = append(told.Buttons, desktop.Button(b))
	}
	return s.Window.Notify(told)
}

// linked returns the page of ours that a link of the system's names. A link may come from anywhere, so it only ever shows
// a page; whatever is to be done, the person does there.
//
//	a2a://host[:port]/path            the connect page, with the agent's address filled in
//	parley://connect?address=ADDRESS  the same
//	parley://chat/ID                  a chat
//	parley://inbox, /agents, …        a page
func linked(link string) (string, error) {
	u, err := url.Parse(link)
	if err != nil || len(link) > 4096 || u.User != nil {
		return "", errors.New("this is not a link that Parley knows")
	}
	switch u.Scheme {
	case "a2a":
		if u.Host == "" {
			return "", errors.New("this link names no agent")
		}
		to := url.URL{Scheme: "https", Host: u.Host, Path: u.Path, RawQuery: u.RawQuery}
		return connecting(to.String()), nil
	case "parley":
		rest := strings.Trim(u.Path, "/")
		switch u.Host {
		case "connect":
			return connecting(u.Query().Get("address")), nil
		case "chat":
			if rest == "" || strings.Contains(rest, "/") {
				return "", errors.New("this link names no chat")
			}
			return "/c/" + url.PathEscape(rest), nil
		case "", "new":
			return "/", nil
		case "inbox", "agents", "workflows", "tasks", "settings":
			return "/" + u.Host, nil
		}
	}
	return "", fmt.Errorf("unknown command %.80q, and no link that Parley knows", link)
}

// connecting is the connect page with an address filled in. Nothing is fetched before the person says so.
func connecting(address string) string {
	return "/connect?" + url.Values{"input": {address}}.Encode()
}
