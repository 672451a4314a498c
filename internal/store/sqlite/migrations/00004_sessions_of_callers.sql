-- +goose Up

-- A person's list of sessions, the last updated first: without it, it is
-- looked for among everybody's.
CREATE INDEX sessions_caller ON sessions (caller, updated);

PRAGMA user_version = 4;
