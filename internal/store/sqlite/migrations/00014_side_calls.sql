-- +goose Up

-- Calls in short that no model wrote: those that a call's tool made, such as a
-- script, and those that people made by hand. No transcript has them.
CREATE TABLE side_calls (
    id      INTEGER PRIMARY KEY, -- the oldest first
    call    INTEGER REFERENCES calls ON DELETE CASCADE, -- whose tool made it; NULL of calls by hand
    agent   TEXT    NOT NULL,
    session TEXT    NOT NULL,    -- its name; of calls by hand there may be none of that name
    caller  TEXT    NOT NULL,    -- the id of who began the session, or called by hand
    copied  INTEGER NOT NULL,    -- a fork began with it
    parent  TEXT    NOT NULL,    -- the tool that made it; empty for none
    tool    TEXT    NOT NULL,
    status  TEXT    NOT NULL,
    started INTEGER NOT NULL,
    ended   INTEGER NOT NULL,
    body    TEXT    NOT NULL     -- the outcome in short, as JSON
) STRICT;
CREATE INDEX side_calls_call  ON side_calls (call);
CREATE INDEX side_calls_tool  ON side_calls (agent, tool);
CREATE INDEX side_calls_since ON side_calls (agent, started);

PRAGMA user_version = 14;
