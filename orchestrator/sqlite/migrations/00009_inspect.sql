-- +goose Up
-- The answered asks of a person, newest first.
CREATE INDEX asks_closed ON asks (principal, closed, id) WHERE state <> 'open';
