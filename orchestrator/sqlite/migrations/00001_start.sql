-- Runs and conversations have an integer key beside their id, so that an event row and its indexes stay small. A row
-- with only a key and an id stands for one that events name and nobody has put yet. Times are milliseconds since 1970,
-- UTC; 0 is the zero time.

-- +goose Up
CREATE TABLE counters (
	name  TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE settings (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE conversations (
	key       INTEGER PRIMARY KEY,
	id        TEXT NOT NULL UNIQUE,
	title     TEXT,
	recipient TEXT,
	created   INTEGER,
	updated   INTEGER,
	pinned    INTEGER,
	state     TEXT,
	last_text TEXT
);
CREATE INDEX conversations_list ON conversations (pinned, updated, id) WHERE title IS NOT NULL;

CREATE TABLE runs (
	key          INTEGER PRIMARY KEY,
	id           TEXT NOT NULL UNIQUE,
	scope        TEXT,
	principal    TEXT,
	conversation INTEGER,
	context      TEXT,
	recipient    TEXT,
	state        TEXT,
	open         INTEGER,
	updated      INTEGER,
	created      INTEGER,
	engine       BLOB
);
-- One index for every list of runs: each more is a page more in every commit.
CREATE INDEX runs_list ON runs (scope, principal, updated, id, state, context) WHERE state <> '';
CREATE INDEX runs_open ON runs (scope) WHERE open = 1;
CREATE INDEX runs_conversation ON runs (conversation) WHERE conversation IS NOT NULL;

-- The log. seq is given by the one writer and never given twice, also after an erase (see counters).
CREATE TABLE events (
	seq          INTEGER PRIMARY KEY,
	run          INTEGER NOT NULL,
	conversation INTEGER,
	kind         TEXT NOT NULL,
	at           INTEGER NOT NULL,
	body         BLOB,
	blob         BLOB
);
CREATE INDEX events_run ON events (run);
CREATE INDEX events_conversation ON events (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX events_blob ON events (blob) WHERE blob IS NOT NULL;

CREATE TABLE receipts (
	key       INTEGER PRIMARY KEY,
	scope     TEXT NOT NULL,
	principal TEXT NOT NULL,
	message   TEXT NOT NULL,
	digest    BLOB NOT NULL,
	run       TEXT NOT NULL,
	after     INTEGER NOT NULL,
	at        INTEGER NOT NULL,
	UNIQUE (scope, principal, message)
);

CREATE TABLE steps (
	key           INTEGER PRIMARY KEY,
	run           INTEGER NOT NULL,
	id            TEXT NOT NULL,
	agent         TEXT NOT NULL,
	attempt       INTEGER NOT NULL,
	message       TEXT NOT NULL,
	state         TEXT NOT NULL,
	child_task    TEXT NOT NULL,
	child_context TEXT NOT NULL,
	updated       INTEGER NOT NULL,
	UNIQUE (run, id)
);

CREATE TABLE contexts (
	owner     TEXT NOT NULL,
	agent     TEXT NOT NULL,
	context   TEXT NOT NULL,
	task      TEXT NOT NULL,
	last_task TEXT NOT NULL,
	PRIMARY KEY (owner, agent)
) WITHOUT ROWID;

CREATE TABLE asks (
	key          INTEGER PRIMARY KEY,
	id           TEXT NOT NULL UNIQUE,
	run          INTEGER NOT NULL,
	step         TEXT NOT NULL,
	conversation INTEGER,
	principal    TEXT NOT NULL,
	agent        TEXT NOT NULL,
	kind         TEXT NOT NULL,
	prompt       TEXT NOT NULL,
	schema       BLOB,
	choices      BLOB,
	links        BLOB,
	state        TEXT NOT NULL,
	answer       BLOB,
	opened       INTEGER NOT NULL,
	closed       INTEGER NOT NULL
);
CREATE INDEX asks_run ON asks (run);
CREATE INDEX asks_open ON asks (principal) WHERE state = 'open';

CREATE TABLE items (
	id           INTEGER PRIMARY KEY AUTOINCREMENT,
	conversation INTEGER NOT NULL,
	run          INTEGER,
	kind         TEXT NOT NULL,
	agent        TEXT NOT NULL,
	at           INTEGER NOT NULL,
	text         TEXT NOT NULL,
	data         BLOB
);
CREATE INDEX items_conversation ON items (conversation);

-- What is indexed is made in Go (words.go): lower case without accents, East Asian text as overlapping pairs, and the
-- item's conversation as a word of its own.
CREATE VIRTUAL TABLE items_fts USING fts5 (
	text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0', prefix = '1 2 3 4'
);

CREATE TABLE agents (
	key        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	name       TEXT NOT NULL,
	trust      TEXT NOT NULL,
	card_url   TEXT NOT NULL,
	card_json  BLOB,
	card       BLOB,
	card_hash  TEXT NOT NULL,
	interface  BLOB NOT NULL,
	dialect    TEXT NOT NULL,
	notes      BLOB,
	hue        INTEGER NOT NULL,
	local      INTEGER NOT NULL,
	idempotent INTEGER NOT NULL,
	added      INTEGER NOT NULL,
	checked    INTEGER NOT NULL,
	fault      BLOB
);

-- The approved agents.
CREATE VIRTUAL TABLE agents_fts USING fts5 (
	name, description, skills, tags, examples,
	content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 0'
);

CREATE TABLE grants (
	agent  TEXT NOT NULL,
	origin TEXT NOT NULL,
	given  INTEGER NOT NULL,
	PRIMARY KEY (agent, origin)
) WITHOUT ROWID;

CREATE TABLE tokens (
	id          TEXT PRIMARY KEY,
	name        TEXT NOT NULL,
	hash        BLOB NOT NULL UNIQUE,
	agents      BLOB,
	read_only   INTEGER NOT NULL,
	credentials INTEGER NOT NULL,
	rate        INTEGER NOT NULL,
	created     INTEGER NOT NULL,
	used        INTEGER NOT NULL,
	revoked     INTEGER NOT NULL
) WITHOUT ROWID;

-- What was on the wire, for the inspector. Bounded by size and age.
CREATE TABLE wire (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	size     INTEGER NOT NULL,
	run      INTEGER,
	task     TEXT NOT NULL,
	at       INTEGER NOT NULL,
	inbound  INTEGER NOT NULL,
	peer     TEXT NOT NULL,
	method   TEXT NOT NULL,
	dialect  TEXT NOT NULL,
	url      TEXT NOT NULL,
	status   INTEGER NOT NULL,
	took     INTEGER NOT NULL, -- microseconds
	first    INTEGER NOT NULL,
	last     INTEGER NOT NULL,
	error    TEXT NOT NULL,
	header   BLOB,
	request  BLOB,
	response BLOB
);
CREATE INDEX wire_run ON wire (run) WHERE run IS NOT NULL;
CREATE INDEX wire_task ON wire (task) WHERE task <> '';

INSERT INTO counters (name, value) VALUES ('wire.bytes', 0);
-- +goose StatementBegin
CREATE TRIGGER wire_added AFTER INSERT ON wire BEGIN
	UPDATE counters SET value = value + new.size WHERE name = 'wire.bytes';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER wire_removed AFTER DELETE ON wire BEGIN
	UPDATE counters SET value = value - old.size WHERE name = 'wire.bytes';
END;
-- +goose StatementEnd
