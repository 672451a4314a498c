-- +goose Up

-- What people were asked before a call ran, and said.
CREATE TABLE approvals (
    id      INTEGER PRIMARY KEY, -- the oldest first
    name    TEXT    NOT NULL UNIQUE,
    desk    TEXT    NOT NULL,    -- of the process that asked
    agent   TEXT    NOT NULL,
    session TEXT    NOT NULL,    -- its name; empty for none
    caller  TEXT    NOT NULL,    -- the id of whom the run acts for
    status  TEXT    NOT NULL,
    created INTEGER NOT NULL,
    ended   INTEGER,             -- NULL while it is open
    body    TEXT    NOT NULL     -- all of it, as JSON
) STRICT;
CREATE INDEX approvals_created ON approvals (created, id);
CREATE INDEX approvals_open    ON approvals (desk) WHERE ended IS NULL;

-- Standing permissions for one exact call.
CREATE TABLE grants (
    id      INTEGER PRIMARY KEY,
    name    TEXT    NOT NULL UNIQUE,
    person  TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    tool    TEXT    NOT NULL,
    key     BLOB    NOT NULL,    -- of the arguments
    admin   INTEGER NOT NULL,    -- an admin gave it
    created INTEGER NOT NULL,
    used    INTEGER,
    uses    INTEGER NOT NULL DEFAULT 0,
    body    TEXT    NOT NULL,    -- the rest, as JSON
    UNIQUE (person, agent, tool, key, admin)
) STRICT;

PRAGMA user_version = 9;
