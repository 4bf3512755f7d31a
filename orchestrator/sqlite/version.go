package sqlite

import "github.com/mattn/go-sqlite3"

// Version is the version of SQLite in this program.
func Version() string {
	v, _, _ := sqlite3.Version()
	return v
}
