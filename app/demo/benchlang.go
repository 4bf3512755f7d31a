package demo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// benchCommand is the numbers of a "#bench" line.
type benchCommand struct {
	n, b        int
	every, hold time.Duration
}

func parseBench(args []string) (c benchCommand) {
	for _, a := range args {
		switch k, v, _ := strings.Cut(a, "="); k {
		case "n":
			c.n, _ = strconv.Atoi(v)
		case "b":
			c.b, _ = strconv.Atoi(v)
		case "every":
			c.every, _ = time.ParseDuration(v)
		case "for":
			c.hold, _ = time.ParseDuration(v)
		}
	}
	return c
}

// pace calls emit n times, one a tick of a clock that does not drift.
func (c benchCommand) pace(ctx context.Context, emit func(i int) bool) bool {
	start := time.Now()
	for i := range c.n {
		if c.every > 0 {
			if d := time.Until(start.Add(time.Duration(i+1) * c.every)); d > 0 && !sleep(ctx, d) {
				return false
			}
		}
		if !emit(i) {
			return false
		}
	}
	return true
}

var filler = strings.Repeat("lorem ipsum dolor sit amet ", 4096)

// stamped is a text of b bytes that begins with ~T<19 digits of Unix nanoseconds>~.
func stamped(b int) string {
	s := fmt.Appendf(make([]byte, 0, max(b, 22)), "~T%019d~", time.Now().UnixNano())
	return string(append(s, filler[:min(max(b-len(s), 0), len(filler))]...))
}
