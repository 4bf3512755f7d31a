package orchestratortest

import (
	"context"
	"sync"
	"sync/atomic"
)

type ctx = context.Context

// atomicCount counts how many are at something at a time.
type atomicCount struct{ now, most atomic.Int64 }

func (c *atomicCount) up() {
	n := c.now.Add(1)
	for {
		most := c.most.Load()
		if n <= most || c.most.CompareAndSwap(most, n) {
			return
		}
	}
}

func (c *atomicCount) down() { c.now.Add(-1) }

// onces makes agents that act once on a message id, and counts what they did.
type onces struct {
	mu   sync.Mutex
	did  map[string]int // by message id
	acts int
}

// once is a script that has its effect once for each message id, and answers each delivery.
func (o *onces) once(then Script) Script {
	return func(x *Turn) {
		o.mu.Lock()
		if o.did == nil {
			o.did = map[string]int{}
		}
		if o.did[x.Message.ID]++; o.did[x.Message.ID] == 1 {
			o.acts++
		}
		o.mu.Unlock()
		then(x)
	}
}

func (o *onces) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.acts
}
