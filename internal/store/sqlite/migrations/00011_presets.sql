-- +goose Up

-- Calls that people wrote down: saved queries, presets of tools.
CREATE TABLE presets (
    id          INTEGER PRIMARY KEY, -- the order in which they were added
    tool        TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    args        TEXT    NOT NULL,    -- as JSON
    author      TEXT    NOT NULL,
    created     INTEGER NOT NULL,
    approved_by TEXT    NOT NULL DEFAULT '', -- empty while nobody has
    approved    INTEGER,
    UNIQUE (tool, name)
) STRICT;

PRAGMA user_version = 11;
