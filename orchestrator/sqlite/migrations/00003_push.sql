-- +goose Up
-- Webhooks that callers registered for their tasks, and how far each has been told. body is the configuration, opaque
-- here; what is secret in it is sealed by whoever stores it.
CREATE TABLE push (
	uid       TEXT PRIMARY KEY,
	scope     TEXT NOT NULL,
	principal TEXT NOT NULL,
	task      TEXT NOT NULL,
	id        TEXT NOT NULL,
	body      BLOB NOT NULL,
	created   INTEGER NOT NULL,
	seq       INTEGER NOT NULL,
	state     TEXT NOT NULL, -- '', done, dead, gone
	attempts  INTEGER NOT NULL DEFAULT 0,
	next      INTEGER NOT NULL DEFAULT 0,
	status    INTEGER NOT NULL DEFAULT 0,
	error     TEXT NOT NULL DEFAULT '',
	UNIQUE (task, id)
) WITHOUT ROWID;
CREATE INDEX push_open ON push (uid) WHERE state <> 'done';
