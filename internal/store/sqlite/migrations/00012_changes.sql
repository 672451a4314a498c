-- +goose Up

-- What changed a session's state beside its run since that last stored it, with
-- the times, as JSON: it stands above what the calls of a round did that was under
-- way and is never settled.
ALTER TABLE state ADD COLUMN changes TEXT;

PRAGMA user_version = 12;
