-- +goose Up
-- Workflow files that are kept under a name, and which run carries out which of them.
CREATE TABLE workflows (
	id          TEXT PRIMARY KEY,
	name        TEXT NOT NULL,
	description TEXT NOT NULL,
	source      BLOB NOT NULL,
	exposed     INTEGER NOT NULL,
	demo        INTEGER NOT NULL,
	added       INTEGER NOT NULL,
	updated     INTEGER NOT NULL
) WITHOUT ROWID;

ALTER TABLE runs ADD COLUMN workflow TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_workflow ON runs (workflow) WHERE workflow <> '';

-- Whether a caller may have workflows carried out, its own files included.
ALTER TABLE tokens ADD COLUMN workflows INTEGER NOT NULL DEFAULT 0;
