-- +goose Up
-- How it is known what an agent speaks: '' by its card, 'answer', 'person'.
ALTER TABLE agents ADD COLUMN known TEXT NOT NULL DEFAULT '';
