//go:build !sqlite_fts5 && !fts5

package sqlite

// Search needs FTS5, which the SQLite driver leaves out unless it is asked. Without the tag the build stops here.
var _ = Parley_must_be_built_with__go_build_tags_sqlite_fts5
