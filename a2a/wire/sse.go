package wire

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"sync"

	"parley/a2a"
)

// SSEEvent is one event of a text/event-stream.
type SSEEvent struct {
	Name string // of the event: line; "" = message
	ID   string
	Data []byte // lines joined by \n; valid until the next event
}

// ReadSSE reads a stream as the HTML standard says, leniently: CR, LF and CRLF, missing space after the colon, comments,
// a byte order mark, a last event without an empty line behind it. A last line without an end was cut off: it and its event
// are dropped. An event without data is skipped; an id stays in force until another one comes. Lines and events over a2a.Limits.SSELine and SSEEvent end it with an *a2a.Error of kind
// KindTooLarge.
func ReadSSE(r io.Reader) iter.Seq2[SSEEvent, error] {
	return func(yield func(SSEEvent, error) bool) {
		in := readers.Get().(*bufio.Reader)
		in.Reset(r)
		defer func() {
			in.Reset(nil)
			readers.Put(in)
		}()
		lines := lineReader{r: in}
		var e SSEEvent
		var data []byte
		has := false
		first := true
		for {
			line, err := lines.next()
			if err != nil && err != io.EOF {
				yield(SSEEvent{}, err)
				return
			}
			if err == io.EOF && len(line) > 0 {
				return
			}
			if first {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
				first = false
			}
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "data":
				if has {
					data = append(data, '\n')
				}
				data = append(data, value...)
				if has = true; len(data) > a2a.Limits.SSEEvent {
					yield(SSEEvent{}, a2a.Errorf(a2a.KindTooLarge, "the agent sent an event of more than %d bytes", a2a.Limits.SSEEvent))
					return
				}
			case "event":
				e.Name = string(value)
			case "id":
				if bytes.IndexByte(value, 0) < 0 {
					e.ID = string(value)
				}
			}
			if len(line) == 0 || err == io.EOF {
				if e.Data = data; has && !yield(e, nil) {
					return
				}
				e.Name, data, has = "", data[:0], false
			}
			if err == io.EOF {
				return
			}
		}
	}
}

// readers are what streams are read through. The connection has a larger buffer in front of them, so that a small one costs
// no read from the network; what waits in a silent stream is this one.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 1<<10) }}

// lineReader splits at CR, LF and CRLF.
type lineReader struct {
	r    *bufio.Reader
	long []byte // a line that did not fit into the buffer
	cr   bool   // the line before ended with CR: an LF now belongs to it
}

// next returns a line without its end, valid until the next call. io.EOF may come with a last line.
func (l *lineReader) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		if _, err := l.r.Peek(1); err != nil {
			return l.long, err
		}
		buf, _ := l.r.Peek(l.r.Buffered())
		if l.cr {
			l.cr = false
			if buf[0] == '\n' {
				l.r.Discard(1)
				continue
			}
		}
		n := bytes.IndexAny(buf, "\r\n")
		if n >= 0 {
			l.cr = buf[n] == '\r'
			line := buf[:n]
			if len(l.long) > 0 {
				l.long = append(l.long, line...)
				line = l.long
			}
			l.r.Discard(n + 1)
			return line, l.tooLong(len(line))
		}
		l.long = append(l.long, buf...)
		l.r.Discard(len(buf))
		if err := l.tooLong(len(l.long)); err != nil {
			return nil, err
		}
	}
}

func (l *lineReader) tooLong(n int) error {
	if n > a2a.Limits.SSELine {
		return a2a.Errorf(a2a.KindTooLarge, "the agent sent a line of more than %d bytes", a2a.Limits.SSELine)
	}
	return nil
}
