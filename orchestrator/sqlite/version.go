package sqlite

import "github.com/mattn/go-sqlite3"

// Version says which SQLite keeps the store.
func (*DB) Version() string {
	v, _, _ := sqlite3.Version()
	return "SQLite " + v
}
