-- +goose Up

-- What one run used is asked for by its id alone.
CREATE INDEX spent_run ON spent (run);

PRAGMA user_version = 8;
