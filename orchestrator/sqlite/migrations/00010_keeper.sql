-- +goose Up
-- How long an agent took to answer the last test, in milliseconds; the card it serves in place of the approved one; and
-- whether its asks notify anybody.
ALTER TABLE agents ADD COLUMN latency INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN changed BLOB;
ALTER TABLE agents ADD COLUMN muted INTEGER NOT NULL DEFAULT 0;
