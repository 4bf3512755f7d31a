package postgres

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"parley/orchestrator"
)

// note is what a process tells the others of a transaction, at its commit.
type note struct {
	From    string // the process
	Events  bool   // there are new ones
	Changes changes
	Runs    []string `json:",omitempty"` // that were erased
	Chats   []string `json:",omitempty"` // conversations that were
}

// changes are hints, each once.
type changes []orchestrator.Change

// noteSize is below what the server takes in one notification.
const noteSize = 7500

// channel is where the processes of one schema hear of one another.
func (db *DB) channel() string {
	sum := sha256.Sum256([]byte(db.schema))
	return fmt.Sprintf("parley_%x", sum[:8])
}

// queue sends a note with the transaction, in as many parts as it takes.
func (n *note) queue(b *pgx.Batch, db *DB) {
	known := map[orchestrator.Change]bool{}
	part := &note{From: db.feed.name, Events: n.Events}
	size := 0
	send := func() {
		if !part.Events && size == 0 {
			return
		}
		j, _ := json.Marshal(part) // of strings
		b.Queue(`SELECT pg_notify($1, $2)`, db.channel(), string(j))
		part, size = &note{From: db.feed.name}, 0
	}
	// add makes room for s in the part. What is larger than a part is no id of ours, and only a hint is lost.
	add := func(s ...string) bool {
		j, _ := json.Marshal(s)
		if len(j) > noteSize {
			return false
		}
		if size+len(j) > noteSize {
			send()
		}
		size += len(j) + 1
		return true
	}
	for _, c := range n.Changes {
		if !known[c] && add(c.ConversationID, c.AgentID, c.RunID, c.AskID, c.WorkflowID, c.TokenID, c.Setting) {
			known[c] = true
			part.Changes = append(part.Changes, c)
		}
	}
	for _, id := range n.Runs {
		if add(id) {
			part.Runs = append(part.Runs, id)
		}
	}
	for _, id := range n.Chats {
		if add(id) {
			part.Chats = append(part.Chats, id)
		}
	}
	send()
}

// MarshalJSON writes each change as the list of its fields.
func (c changes) MarshalJSON() ([]byte, error) {
	all := make([][7]string, len(c))
	for i, x := range c {
		all[i] = [7]string{x.ConversationID, x.AgentID, x.RunID, x.AskID, x.WorkflowID, x.TokenID, x.Setting}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *changes) UnmarshalJSON(j []byte) error {
	var all [][7]string
	if err := json.Unmarshal(j, &all); err != nil {
		return err
	}
	for _, x := range all {
		*c = append(*c, orchestrator.Change{ConversationID: x[0], AgentID: x[1], RunID: x[2], AskID: x[3], WorkflowID: x[4], TokenID: x[5], Setting: x[6]})
	}
	return nil
}
