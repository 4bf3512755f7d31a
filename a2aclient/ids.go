package a2aclient

import (
	"slices"
	"strconv"
)

// ids recognises events that come twice, by the ids of the stream, and remembers where to resume.
type ids struct {
	last    string
	number  int64    // of last, when ids are rising numbers; 0 otherwise
	floor   int64    // where the stream was resumed: nothing up to there is new
	useless bool     // the same id came with different events
	recent  []seenID // the newest, keptIDs at most
	next    int      // of recent to be replaced, once it is full
}

const keptIDs = 64

type seenID struct {
	id   string
	hash uint64
}

// maxNumber tells positions in a log from times: some agents number their events by the clock, which does not resume.
const maxNumber = 100_000_000_000

// repeated reports whether the event has been seen, and remembers it. An unseen one that tells the whole task says where
// its stream begins: numbers from before mean nothing then.
func (d *ids) repeated(id string, hash uint64, whole bool) bool {
	if d.useless {
		return false
	}
	if whole {
		if slices.Contains(d.recent, seenID{id, hash}) {
			return true
		}
		*d = ids{}
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 || n > maxNumber {
		n = 0
	}
	if n > 0 && n <= d.floor {
		return true
	}
	if n == 0 || n <= d.number {
		for i := range d.recent {
			if d.recent[i].id != id {
				continue
			}
			if d.recent[i].hash == hash {
				return true
			}
			d.useless, d.last, d.number = true, "", 0
			return false
		}
	}
	if len(d.recent) < keptIDs {
		d.recent = append(d.recent, seenID{id, hash})
	} else {
		d.recent[d.next] = seenID{id, hash}
		d.next = (d.next + 1) % keptIDs
	}
	d.last, d.number = id, n
	return false
}

// resume returns the id to resume behind, "" when the ids do not say.
func (d *ids) resume() string {
	if d.number == 0 {
		return ""
	}
	d.floor = d.number
	return d.last
}
