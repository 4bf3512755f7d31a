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

-- Webhooks of ours that agents were told of. token is a hash.
CREATE TABLE hooks (
	id      TEXT PRIMARY KEY,
	agent   TEXT NOT NULL,
	run     TEXT NOT NULL,
	task    TEXT NOT NULL, -- the agent's own id of it; '' until it is known
	token   BLOB NOT NULL,
	created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX hooks_run ON hooks (run);
