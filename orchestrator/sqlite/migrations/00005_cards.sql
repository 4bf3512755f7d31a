-- +goose Up
-- Cards are matched in memory, by the planner.
DROP TABLE agents_fts;
