-- +goose Up
-- Who signed an agent's card, and the keys a person trusts for it.
ALTER TABLE agents ADD COLUMN signature BLOB;
