package frontend

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
)

// op is one change of the page: what, the id of an element, HTML or text. They are: a append, p prepend, b before,
// r replace, i replace the content, t append text, x remove, s say to a screen reader.
type op [3]string

// frame is what a window is sent: the changes since the frame before.
type frame struct {
	Room   string `json:"room,omitempty"`
	Seq    int64  `json:"seq,omitempty"`
	Last   int64  `json:"last,omitempty"` // the newest item now shown
	Reload bool   `json:"reload,omitempty"`
	Lang   string `json:"lang,omitempty"` // that was chosen: a window in another one loads its page again
	Ops    []op   `json:"ops"`
}

// encode writes a frame as JSON, once for all windows; HTML stays as it is.
func (f *frame) encode() []byte {
	if f.Ops == nil {
		f.Ops = []op{}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		panic("frontend: " + err.Error()) // strings and numbers always encode
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// How much a feed remembers for windows that are behind; beyond it they get a snapshot.
const (
	feedFrames = 512
	feedBytes  = 2 << 20
)

// feed is numbered frames with many readers. Publishing waits for nobody: readers are cursors.
type feed struct {
	mu     sync.Mutex
	seq    int64 // of the newest frame
	frames []sent
	size   int
	wake   chan struct{}
}

// sent is an encoded frame, and the newest item of whoever has it.
type sent struct {
	json []byte
	last int64
}

func newFeed() *feed { return &feed{wake: make(chan struct{})} }

// publish numbers a frame and appends it.
func (f *feed) publish(fr *frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	fr.Seq = f.seq
	b := fr.encode()
	f.frames = append(f.frames, sent{b, fr.Last})
	f.size += len(b)
	for len(f.frames) > 1 && (len(f.frames) > feedFrames || f.size > feedBytes) {
		f.size -= len(f.frames[0].json)
		f.frames[0] = sent{}
		f.frames = f.frames[1:]
	}
	close(f.wake)
	f.wake = make(chan struct{})
}

// after returns the frames behind seq and what to wait on for more; ok is false when they are not remembered.
func (f *feed) after(seq int64) (frames []sent, head int64, wake <-chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.seq - seq
	if n < 0 || n > int64(len(f.frames)) {
		return nil, f.seq, f.wake, false
	}
	return slices.Clone(f.frames[len(f.frames)-int(n):]), f.seq, f.wake, true
}

func (f *feed) head() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seq
}
