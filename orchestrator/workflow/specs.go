package workflow

import (
	"encoding/json"
	"sync"

	"parley/orchestrator"
)

// Specs keeps what was read of the steps of workflows: the runs of one have the same steps. What is kept is never changed.
// The zero Specs is empty; its methods may be called at once, and nil keeps nothing.
type Specs struct {
	mu  sync.Mutex
	all map[string]*Spec // by their JSON
}

// What is kept at most: steps, and bytes of JSON of one. When there are more, all are forgotten.
const (
	keptSpecs     = 512
	keptSpecBytes = 4 << 10
)

// read reads a Node.Spec. The error is a Fault.
func (k *Specs) read(spec json.RawMessage) (*Spec, error) {
	keep := k != nil && len(spec) <= keptSpecBytes
	if keep {
		k.mu.Lock()
		s := k.all[string(spec)]
		k.mu.Unlock()
		if s != nil {
			return s, nil
		}
	}
	s := &Spec{}
	if err := json.Unmarshal(spec, s); err != nil {
		return nil, &orchestrator.Fault{Kind: "plan", Where: orchestrator.WhereUs, What: "The plan cannot be read: " + err.Error() + "."}
	}
	if keep {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.all == nil || len(k.all) == keptSpecs {
			k.all = map[string]*Spec{}
		}
		k.all[string(spec)] = s
	}
	return s, nil
}

// Name returns what a step is called by its Node.Spec; "" when it has no name of its own.
func (k *Specs) Name(spec json.RawMessage) string {
	s, err := k.read(spec)
	if err != nil {
		return ""
	}
	return s.Name
}
