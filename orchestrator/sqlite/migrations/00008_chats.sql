-- +goose Up
-- What a person calls a chat; '' while the words it began with name it.
ALTER TABLE conversations ADD COLUMN name TEXT NOT NULL DEFAULT '';
