-- +goose Up

-- What a client asked with a turn, as a hash, so that a key which it sends with
-- something else is seen; empty where nobody told one.
ALTER TABLE turns ADD COLUMN asked TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 13;
