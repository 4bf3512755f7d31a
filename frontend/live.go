package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"parley/a2a"
	"parley/orchestrator"
)

const (
	helloWithin = 10 * time.Second
	pingEvery   = 20 * time.Second
	validFor    = time.Second // what Options.Valid said holds
	writeWithin = 5 * time.Second
	sideEvery   = 150 * time.Millisecond
	closeWithin = time.Second // for a browser to answer when the site closes
)

// hello is the one thing a window says: where it stands.
type hello struct {
	Conversation string `json:"conversation"`
	Last         int64  `json:"last"`
	Room         string `json:"room"`
	Seq          int64  `json:"seq"`
	Bundle       string `json:"bundle"` // the script and the style it was drawn with; "" = do not care
	Board        string `json:"board"`  // the address of the page, when it is one that is live by a board
	Have         onPage `json:"have"`   // what it shows of that
}

// socket keeps a window live.
func (s *Site) socket(w http.ResponseWriter, r *http.Request) error {
	if s.opened.Add(1) > int64(a2a.Limits.WebSockets) {
		s.opened.Add(-1)
		return &fail{http.StatusServiceUnavailable, &orchestrator.Fault{
			Kind: "too-many-windows", Where: orchestrator.WhereUs, What: "Too many windows are open.", Do: "Close one and load this page again.",
		}}
	}
	defer s.opened.Add(-1)
	opts := &websocket.AcceptOptions{}
	if s.opts.CheckOrigin != nil {
		if !s.opts.CheckOrigin(r) {
			return &fail{http.StatusForbidden, &orchestrator.Fault{
				Kind: "origin", Where: orchestrator.WhereUs, What: "This page did not come from here.", Do: "Open Parley by its own address.",
			}}
		}
		opts.InsecureSkipVerify = true // checked above
	}
	c, err := websocket.Accept(w, r, opts)
	if err != nil {
		return nil // answered already
	}
	defer c.CloseNow()
	if !s.enter() {
		return nil
	}
	defer s.wg.Done()
	c.SetReadLimit(int64(a2a.Limits.WebSocketMessage))
	// What is under way ends by itself when the site closes, so that the window hears why. A browser that does not answer
	// is left soon after.
	ctx, leave := context.WithCancel(r.Context())
	defer leave()
	defer context.AfterFunc(s.ctx, func() { time.AfterFunc(closeWithin, leave) })()
	h, err := greet(ctx, c)
	ctx = c.CloseRead(ctx)
	if err != nil {
		_ = c.Close(websocket.StatusPolicyViolation, "say where you stand first")
		return nil
	}
	s.log.InfoContext(ctx, "window live", "conversation", h.Conversation)
	err = s.serve(ctx, c, r, h)
	var bye closing
	switch {
	case errors.As(err, &bye):
		_ = c.Close(websocket.StatusGoingAway, string(bye))
	case errors.Is(err, errEnded):
		_ = c.Close(websocket.StatusPolicyViolation, "the session has ended")
	case errors.Is(err, orchestrator.ErrNotFound):
		_ = c.Close(websocket.StatusNormalClosure, "this chat is not here any more")
	}
	return nil
}

func greet(ctx context.Context, c *websocket.Conn) (*hello, error) {
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	typ, b, err := c.Read(ctx)
	if err != nil {
		return nil, err
	}
	h := &hello{}
	if typ != websocket.MessageText {
		return nil, errors.New("not text")
	}
	return h, json.Unmarshal(b, h)
}

// errEnded is why a socket is closed whose session is no longer good.
var errEnded = errors.New("the session has ended")

// serve sends a window its frames until it goes, or until r, which opened it, would not be let in any more: a session may end
// while a window is open, and what happens from a second after that is not for it. One to which nothing happens is closed at
// its next ping.
func (s *Site) serve(ctx context.Context, c *websocket.Conn, r *http.Request, h *hello) error {
	var asked time.Time
	valid := func() bool {
		if s.opts.Valid == nil || time.Since(asked) < validFor {
			return true
		}
		asked = time.Now()
		return s.opts.Valid(r)
	}
	send := func(b []byte) error {
		if !valid() {
			return errEnded
		}
		ctx, cancel := context.WithTimeout(ctx, writeWithin)
		defer cancel()
		return c.Write(ctx, websocket.MessageText, b)
	}
	if h.Bundle != "" && h.Bundle != s.assets.bundle() {
		return send((&frame{Reload: true}).encode()) // it was drawn by another version of the program
	}
	var room *room
	var seq int64
	if h.Conversation != "" {
		var err error
		if room, err = s.rooms.get(ctx, h.Conversation); err != nil {
			if errors.Is(err, orchestrator.ErrNotFound) {
				return errors.Join(err, send((&frame{Reload: true}).encode()))
			}
			return err
		}
		defer s.rooms.put(room)
		seq = h.Seq
		if room.name != h.Room {
			seq = -1
		}
	}
	var live *liveBoard
	if h.Board != "" {
		if live = s.boards.get(h.Board); live != nil {
			defer s.boards.put(live)
		}
	}
	ping := time.NewTicker(s.ping)
	defer ping.Stop()
	side, drawn := int64(0), int64(0)
	for {
		var roomWake <-chan struct{}
		if room != nil {
			frames, head, wake, ok := room.after(seq)
			if !ok || seq < 0 {
				f, err := room.catchUp(h.Last)
				if err != nil {
					return err
				}
				if err := send(f.encode()); err != nil {
					return err
				}
				h.Last, seq = f.Last, f.Seq
				continue
			}
			for _, f := range frames {
				if err := send(f.json); err != nil {
					return err
				}
				h.Last = f.last
			}
			seq, roomWake = head, wake
		}
		b, n, lobbyWake := s.lobby.since(side)
		if b != nil {
			side = n
			if err := send(b); err != nil {
				return err
			}
			continue
		}
		var boardWake <-chan struct{}
		if live != nil {
			var now *board
			now, drawn, boardWake = live.since(drawn)
			if now != nil {
				if ops := now.since(h.Have); len(ops) > 0 {
					if err := send((&frame{Ops: ops}).encode()); err != nil {
						return err
					}
				}
				h.Have = now.seen()
				continue
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		case <-boardWake:
		case <-roomWake:
		case <-lobbyWake:
		case <-ping.C:
			if !valid() {
				return errEnded
			}
			pctx, cancel := context.WithTimeout(ctx, writeWithin)
			err := c.Ping(pctx)
			cancel()
			if err != nil {
				return err
			}
		}
	}
}
