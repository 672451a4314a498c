-- +goose Up

-- Messages that were accepted and wait, oldest first by queued. A session need
-- not exist yet, so it is named as people and programs name it.
CREATE TABLE inbox (
    run          TEXT    PRIMARY KEY,
    agent        TEXT    NOT NULL,
    name         TEXT    NOT NULL, -- of the session
    caller       TEXT    NOT NULL,
    caller_name  TEXT    NOT NULL,
    caller_role  TEXT    NOT NULL,
    caller_human INTEGER NOT NULL,
    origin       TEXT    NOT NULL,
    queued       INTEGER NOT NULL,
    rest         TEXT    NOT NULL -- of the request, as agent/run writes and reads it
) STRICT;

-- A message leaves the inbox when it becomes a turn, in the same transaction,
-- whoever writes the turn. For a turn that never waited this is a look at a
-- table that is almost always empty.
-- +goose StatementBegin
CREATE TRIGGER turns_take_inbox AFTER INSERT ON turns BEGIN
    DELETE FROM inbox WHERE run = NEW.run;
END;
-- +goose StatementEnd

-- Messages that another run took in while it was going: the round before which
-- they joined it.
CREATE TABLE joined (
    run   TEXT    PRIMARY KEY, -- the one that was reserved for the message
    round INTEGER NOT NULL REFERENCES rounds ON DELETE CASCADE
) STRICT;
CREATE INDEX joined_round ON joined (round);

PRAGMA user_version = 2;
