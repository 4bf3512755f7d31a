package steps

import (
	"encoding/json"

	"parley/a2a"
	"parley/orchestrator"
)

// Final is the metadata of the message with which a task fails for that reason: of a final one it says so, of others there
// is none. Who has called us need not try again then, and says the same to who has called it: orchestrators that call one
// another, in a circle even, would each try anew what the last of them cannot do.
func Final(f *orchestrator.Fault) a2a.Metadata {
	if !f.Final {
		return nil
	}
	return a2a.Metadata(`{"` + a2a.FinalKey + `":true}`)
}

// never reports whether an agent that answers so never does what it was asked: not today, and not another time. Of
// UnsupportedOperation that is not certain: agents, and we too, say it of a task that takes no message now or has ended.
func never(e *a2a.Error) bool {
	return e.Final() || e.Kind == a2a.KindMethodNotFound || e.Kind == a2a.KindExtensionRequired
}

// saysFinal reports whether metadata says so.
func saysFinal(m a2a.Metadata) bool {
	var v struct {
		Final bool `json:"urn:parley:final"`
	}
	return len(m) > 0 && json.Unmarshal(m, &v) == nil && v.Final
}
