package frontend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// window is a page with its socket: it applies frames as the page's script does.
type window struct {
	t    testing.TB
	w    *world
	conn *websocket.Conn
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	doc    *html.Node
	at     hello
	ops    [][]op
	said   []string
	reload bool
	lang   string
	err    error
}

// open loads a page and connects its socket.
func (w *world) open(path string) *window {
	w.Helper()
	v := &window{t: w, w: w}
	v.load(path)
	v.connect()
	w.Cleanup(v.close)
	return v
}

func (v *window) load(path string) {
	v.t.Helper()
	p := v.w.get(path).want(v.t, http.StatusOK)
	body := find(p.doc, byTag("body"))[0]
	last, _ := strconv.ParseInt(attr(body, "data-last"), 10, 64)
	seq, _ := strconv.ParseInt(attr(body, "data-seq"), 10, 64)
	v.doc = p.doc
	v.at = hello{Conversation: attr(body, "data-conversation"), Last: last, Room: attr(body, "data-room"), Seq: seq}
}

func (v *window) connect() {
	v.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c, _, err := websocket.Dial(ctx, v.w.srv.URL+"/ws", nil)
	if err != nil {
		cancel()
		v.t.Fatal(err)
	}
	c.SetReadLimit(64 << 20)
	b, _ := json.Marshal(v.at)
	if err := c.Write(ctx, websocket.MessageText, b); err != nil {
		v.t.Fatal(err)
	}
	v.conn, v.stop, v.done = c, cancel, make(chan struct{})
	go v.read(ctx, c, v.done)
}

func (v *window) read(ctx context.Context, c *websocket.Conn, done chan struct{}) {
	defer close(done)
	for {
		_, b, err := c.Read(ctx)
		if err != nil {
			v.mu.Lock()
			v.err = err
			v.mu.Unlock()
			return
		}
		var f frame
		if err := json.Unmarshal(b, &f); err != nil {
			v.t.Errorf("a frame is no JSON: %v", err)
			return
		}
		v.mu.Lock()
		v.apply(&f)
		v.mu.Unlock()
	}
}

func (v *window) cut() {
	v.stop()
	<-v.done
}

func (v *window) close() { v.cut(); v.conn.CloseNow() }

func (v *window) apply(f *frame) {
	if f.Lang != "" {
		v.lang = f.Lang
	}
	if f.Reload {
		v.reload = true
		return
	}
	if f.Room != "" {
		v.at.Room = f.Room
	}
	if f.Seq != 0 {
		v.at.Seq = f.Seq
	}
	if f.Last != 0 {
		v.at.Last = f.Last
	}
	if f.Room != "" && len(f.Ops) > 0 {
		v.ops = append(v.ops, f.Ops)
	}
	for _, o := range f.Ops {
		if o[0] == "s" {
			v.said = append(v.said, o[2])
			continue
		}
		el := byID(v.doc, o[1])
		if el == nil {
			continue
		}
		switch o[0] {
		case "a":
			v.insert(el, nil, o[2])
		case "p":
			v.insert(el, el.FirstChild, o[2])
		case "b":
			v.insert(el.Parent, el, o[2])
		case "r":
			v.insert(el.Parent, el, o[2])
			el.Parent.RemoveChild(el)
		case "i":
			for el.FirstChild != nil {
				el.RemoveChild(el.FirstChild)
			}
			v.insert(el, nil, o[2])
		case "t":
			if el.LastChild != nil && el.LastChild.Type == html.TextNode {
				el.LastChild.Data += o[2]
			} else {
				el.AppendChild(&html.Node{Type: html.TextNode, Data: o[2]})
			}
		case "x":
			el.Parent.RemoveChild(el)
		default:
			v.t.Errorf("unknown op %q", o[0])
		}
	}
}

func (v *window) insert(parent, before *html.Node, s string) {
	ns, err := html.ParseFragment(strings.NewReader(s), &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div})
	if err != nil {
		v.t.Error(err)
	}
	for _, n := range ns {
		parent.InsertBefore(n, before)
	}
}

// shows is what the transcript and the strip above the composer look like, without the ids that differ by room, repeated
// names of days, and heads that a piece of a transcript has for want of the one before.
func (v *window) shows() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return picture(v.doc)
}

func picture(doc *html.Node) string {
	var b strings.Builder
	day := ""
	for _, id := range []string{"title", "flags", "items", "open", "pulse"} {
		n := byID(doc, id)
		if n == nil {
			continue
		}
		fmt.Fprintf(&b, "== %s\n", id)
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if d := attr(c, "data-day"); d != "" {
				if d == day {
					continue
				}
				day = d
			}
			paint(&b, c, 0)
		}
	}
	return b.String()
}

func paint(b *strings.Builder, n *html.Node, depth int) {
	switch n.Type {
	case html.TextNode:
		if s := strings.TrimSpace(n.Data); s != "" {
			fmt.Fprintf(b, "%s%q\n", strings.Repeat(" ", depth), s)
		}
		return
	case html.ElementNode:
	default:
		return
	}
	id := attr(n, "id")
	if strings.HasPrefix(id, "p") && !strings.HasPrefix(id, "pulse") {
		id = ""
	}
	inner := attr(n, "class") == "pass"
	if !inner {
		fmt.Fprintf(b, "%s<%s %s #%s>\n", strings.Repeat(" ", depth), n.Data, attr(n, "class"), id)
		depth++
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		paint(b, c, depth)
	}
}

// until waits until the window shows all of these and none of those that begin with "!".
func (v *window) until(texts ...string) {
	v.t.Helper()
	eventually(v.t, func() error {
		v.mu.Lock()
		defer v.mu.Unlock()
		shown := textOf(byID(v.doc, "main"))
		for _, s := range texts {
			if not, ok := strings.CutPrefix(s, "!"); ok {
				if strings.Contains(shown, not) {
					return fmt.Errorf("the window still shows %q: %s", not, shown)
				}
			} else if !strings.Contains(shown, s) {
				return fmt.Errorf("the window does not show %q: %s", s, shown)
			}
		}
		return nil
	})
}

// same waits until all windows, and a page loaded now, look the same.
func same(t testing.TB, w *world, path string, vs ...*window) {
	t.Helper()
	eventually(t, func() error {
		fresh := picture(w.get(path).doc)
		for i, v := range vs {
			if d := cmp.Diff(fresh, v.shows()); d != "" {
				v.mu.Lock()
				defer v.mu.Unlock()
				return fmt.Errorf("window %d (connection: %v) differs from the page (-page +window):\n%s", i, v.err, d)
			}
		}
		return nil
	})
}
