package sqlite

import "fmt"

// runID and conversationID stand in a statement's arguments for the key of a row; "" becomes NULL.
type (
	runID          string
	conversationID string
)

var keyTables = [2]string{"conversations", "runs"}

// keys maps the ids of a table to its integer keys. What is used is remembered, in two generations so that the memory is
// bounded: a full one takes the place of the one before it.
type keys struct {
	find, add  string
	next       int64
	young, old map[string]int64
	fresh      map[int64]string // keys given in the open transaction whose row is not there yet
}

const keptKeys = 1 << 14

func newKeys(c *conn, table string) (keys, error) {
	last, _, err := c.integer(fmt.Sprintf(`SELECT max(key) FROM %s`, table))
	return keys{
		find:  fmt.Sprintf(`SELECT key FROM %s WHERE id = ?`, table),
		add:   fmt.Sprintf(`INSERT INTO %s (key, id) VALUES (?, ?) ON CONFLICT DO NOTHING`, table),
		next:  last + 1,
		young: map[string]int64{}, old: map[string]int64{}, fresh: map[int64]string{},
	}, err
}

// key returns the key of a run or conversation, as an argument for a statement.
func (w *writer) key(id any) (any, error) {
	switch id := id.(type) {
	case conversationID:
		return w.keys[0].key(w.c, string(id))
	case runID:
		return w.keys[1].key(w.c, string(id))
	}
	panic("sqlite: a key of nothing")
}

func (k *keys) key(c *conn, id string) (any, error) {
	if id == "" {
		return nil, nil
	}
	if key, ok := k.young[id]; ok {
		return key, nil
	}
	key, ok := k.old[id]
	if !ok {
		var err error
		if key, ok, err = c.integer(k.find, id); err != nil {
			return nil, err
		}
	}
	if !ok {
		key = k.next
		k.next++
		k.fresh[key] = id
	}
	if len(k.young) >= keptKeys {
		k.old, k.young = k.young, map[string]int64{}
	}
	k.young[id] = key
	return key, nil
}

// flush gives each key that has no row yet a row of nothing but its id.
func (k *keys) flush(c *conn) error {
	for key, id := range k.fresh {
		if _, err := c.exec(k.add, key, id); err != nil {
			return err
		}
	}
	clear(k.fresh)
	return nil
}

func (k *keys) forget() {
	clear(k.young)
	clear(k.old)
	clear(k.fresh)
}
