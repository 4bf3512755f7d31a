package workflow

import (
	"bytes"
	"encoding/json"

	"parley/orchestrator"
)

// ReadPlan reads a Graph.Spec. The inputs are as expressions see them: whole numbers stay whole. A plan without a spec is
// one that no file was written for.
func ReadPlan(spec json.RawMessage) (*PlanSpec, error) {
	p := &PlanSpec{}
	if len(spec) == 0 {
		return p, nil
	}
	d := json.NewDecoder(bytes.NewReader(spec))
	d.UseNumber()
	if err := d.Decode(p); err != nil {
		return nil, &orchestrator.Fault{Kind: "plan", Where: orchestrator.WhereUs, What: "The plan cannot be read: " + err.Error() + "."}
	}
	for name, v := range p.Inputs {
		p.Inputs[name] = numbers(v)
	}
	return p, nil
}

// Data makes what Outputs gave what expressions see as a step's data.
func Data(outputs map[string]json.RawMessage) (any, error) {
	m := make(map[string]any, len(outputs))
	for name, raw := range outputs {
		v, err := plain(raw)
		if err != nil {
			return nil, err
		}
		m[name] = v
	}
	return m, nil
}
