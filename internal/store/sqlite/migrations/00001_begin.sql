-- Times are Unix nanoseconds, NULL where nothing happened yet. JSON is stored
-- as the text that Go's encoder makes of the types named beside it.

-- +goose Up

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE sessions (
    id           INTEGER PRIMARY KEY,
    agent        TEXT    NOT NULL,
    name         TEXT    NOT NULL, -- the id that people and programs use
    title        TEXT    NOT NULL,
    origin       TEXT    NOT NULL,
    caller       TEXT    NOT NULL, -- who began it
    caller_name  TEXT    NOT NULL,
    caller_role  TEXT    NOT NULL,
    caller_human INTEGER NOT NULL,
    created      INTEGER NOT NULL,
    updated      INTEGER NOT NULL,
    turns        INTEGER NOT NULL DEFAULT 0,
    rounds       INTEGER NOT NULL DEFAULT 0,
    status       TEXT    NOT NULL, -- of the last turn
    input        INTEGER NOT NULL DEFAULT 0,
    cached       INTEGER NOT NULL DEFAULT 0,
    cache_write  INTEGER NOT NULL DEFAULT 0,
    output       INTEGER NOT NULL DEFAULT 0,
    reasoning    INTEGER NOT NULL DEFAULT 0,
    UNIQUE (agent, name)
) STRICT;
CREATE INDEX sessions_updated ON sessions (updated);

-- What the rounds of a session left (tool.State). It is a table of its own
-- because it can be large and changes less often than the session.
CREATE TABLE state (
    session INTEGER PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
    data    TEXT NOT NULL
) STRICT;

CREATE TABLE snapshots (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    name    TEXT    NOT NULL,
    text    TEXT    NOT NULL,
    PRIMARY KEY (session, name)
) STRICT;

CREATE TABLE turns (
    id           INTEGER PRIMARY KEY,
    session      INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    number       INTEGER NOT NULL,
    run          TEXT    NOT NULL UNIQUE,
    status       TEXT    NOT NULL,
    error        TEXT    NOT NULL DEFAULT '',
    model        TEXT    NOT NULL,
    origin       TEXT    NOT NULL,
    caller       TEXT    NOT NULL,
    caller_name  TEXT    NOT NULL,
    caller_role  TEXT    NOT NULL,
    caller_human INTEGER NOT NULL,
    started      INTEGER NOT NULL,
    ended        INTEGER,
    input        INTEGER NOT NULL DEFAULT 0,
    cached       INTEGER NOT NULL DEFAULT 0,
    cache_write  INTEGER NOT NULL DEFAULT 0,
    output       INTEGER NOT NULL DEFAULT 0,
    reasoning    INTEGER NOT NULL DEFAULT 0,
    message      TEXT    NOT NULL, -- llm.Message
    UNIQUE (session, number)
) STRICT;
CREATE INDEX turns_started ON turns (started);

CREATE TABLE rounds (
    id          INTEGER PRIMARY KEY,
    turn        INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE,
    number      INTEGER NOT NULL, -- within the session
    started     INTEGER,
    first_token INTEGER,
    replied     INTEGER,
    ended       INTEGER,          -- NULL until the round is settled
    finish      TEXT NOT NULL,
    reply       TEXT NOT NULL,    -- llm.Reply without its message and finish
    before      TEXT,             -- []llm.Message
    message     TEXT NOT NULL,    -- llm.Message
    request     TEXT NOT NULL,    -- agent.RequestFacts
    UNIQUE (turn, number)
) STRICT;

-- One row per call, made with the round; status is NULL until the call ended.
-- What the model wrote stands in the round's message.
CREATE TABLE calls (
    id      INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    round   INTEGER NOT NULL REFERENCES rounds ON DELETE CASCADE,
    idx     INTEGER NOT NULL, -- among the calls of the round, from 0
    wire    TEXT    NOT NULL, -- the id that providers see
    tool    TEXT    NOT NULL,
    status  TEXT,
    started INTEGER,
    ended   INTEGER,
    text    TEXT, -- the content, when it is one piece of text, …
    origin  TEXT, -- … and where that came from
    parts   TEXT, -- the content otherwise: []llm.Part
    more    TEXT, -- what else is known of the outcome
    args    TEXT, -- final arguments; '=' when they are as the model wrote them
    details TEXT, -- '=' when they are the text; '^' when they are what the ref keeps
    UNIQUE (round, idx),
    UNIQUE (session, wire)
) STRICT;

-- The words of messages (rowid 2 × turn) and answers (2 × round + 1), written
-- when their turn ends.
CREATE VIRTUAL TABLE words USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2"
);

-- Bytes under refs. Content is kept once, as long as a living ref has it.
CREATE TABLE contents (
    id     INTEGER PRIMARY KEY,
    sum    TEXT NOT NULL UNIQUE, -- digest of what is packed
    packed BLOB NOT NULL
) STRICT;

-- Times of refs are Unix milliseconds: some lie further ahead than nanoseconds
-- reach. A ref whose content is gone stays for a while, to say so.
CREATE TABLE refs (
    id      INTEGER PRIMARY KEY, -- the oldest first
    ref     TEXT    NOT NULL UNIQUE,
    kind    TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    session TEXT    NOT NULL,
    type    TEXT    NOT NULL,
    tool    TEXT    NOT NULL,
    args    TEXT    NOT NULL,
    sum     TEXT    NOT NULL,
    size    INTEGER NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER,
    gone    TEXT    NOT NULL DEFAULT '', -- why the content is no longer kept
    ended   INTEGER
) STRICT;
CREATE INDEX refs_living ON refs (kind, id) WHERE gone = '';
CREATE INDEX refs_sum ON refs (sum) WHERE gone = '';
CREATE INDEX refs_session ON refs (session);

CREATE TABLE users (
    id      TEXT PRIMARY KEY,
    name    TEXT    NOT NULL,
    role    TEXT    NOT NULL,
    created INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
    sum     BLOB PRIMARY KEY, -- SHA-256 of the token; the token itself is nowhere
    id      TEXT    NOT NULL UNIQUE,
    user    TEXT    NOT NULL REFERENCES users ON DELETE CASCADE,
    note    TEXT    NOT NULL,
    role    TEXT    NOT NULL, -- '' for the user's own
    created INTEGER NOT NULL,
    expires INTEGER
) STRICT;
CREATE INDEX tokens_user ON tokens (user);

PRAGMA application_id = 1131176311;
PRAGMA user_version = 1;
