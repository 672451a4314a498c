-- +goose Up

-- Every model call and what it used, whatever became of its answer and of its
-- session. A fork's copies are no calls.
CREATE TABLE spent (
    id          INTEGER PRIMARY KEY, -- rises with time; no row is ever taken out
    at          INTEGER NOT NULL,    -- when the call ended; its day is that of UTC
    agent       TEXT    NOT NULL,
    session     INTEGER REFERENCES sessions ON DELETE SET NULL,
    run         TEXT    NOT NULL,
    person      TEXT    NOT NULL,    -- the caller's id
    origin      TEXT    NOT NULL,
    provider    TEXT    NOT NULL,
    model       TEXT    NOT NULL,
    input       INTEGER NOT NULL,
    cached      INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    counted     INTEGER NOT NULL,    -- whether the provider said so; else the five are 0
    usd         REAL,                -- at the prices of that time; NULL when unknown
    -- About what a call used that was not counted, for budgets: tokens in and
    -- out, and US dollars.
    guess       INTEGER NOT NULL DEFAULT 0,
    guess_usd   REAL
) STRICT;
CREATE INDEX spent_at ON spent (at);
CREATE INDEX spent_session ON spent (session) WHERE session IS NOT NULL;

-- What turns and sessions cost; NULL when that is not known of some call.
ALTER TABLE turns ADD COLUMN usd REAL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN usd REAL DEFAULT 0;

-- What was called until now, as far as it is still there. What it cost was not
-- kept, and the prices of today may be others. Of turns whose session is gone
-- the first copy that a fork has tells.
WITH told AS (
    SELECT id, session, run, caller, origin, started FROM turns WHERE copied IS NULL AND NOT seeded
    UNION ALL
    SELECT id, NULL, copied, caller, origin, started
    FROM (SELECT *, row_number() OVER (PARTITION BY copied ORDER BY id) AS place FROM turns WHERE copied IS NOT NULL AND NOT seeded) c
    WHERE place = 1 AND NOT EXISTS (SELECT 1 FROM turns o WHERE o.run = c.copied)
), called AS (
    SELECT r.id, ifnull(ifnull(r.replied, r.started), t.started) AS at, s.agent, t.session, t.run, t.caller, t.origin,
        json_extract(r.request, '$.target.provider') AS provider, ifnull(json_extract(r.request, '$.target.model'), '') AS model,
        ifnull(json_extract(r.reply, '$.usage.input'), 0) AS input, ifnull(json_extract(r.reply, '$.usage.cached'), 0) AS cached,
        ifnull(json_extract(r.reply, '$.usage.cache_write'), 0) AS cache_write, ifnull(json_extract(r.reply, '$.usage.output'), 0) AS output,
        ifnull(json_extract(r.reply, '$.usage.reasoning'), 0) AS reasoning
    FROM told t JOIN turns x ON x.id = t.id JOIN sessions s ON s.id = x.session JOIN rounds r ON r.turn = t.id
    WHERE r.finish <> 'host'
)
INSERT INTO spent (at, agent, session, run, person, origin, provider, model, input, cached, cache_write, output, reasoning, counted)
SELECT at, agent, session, run, caller, origin, provider, model, input, cached, cache_write, output, reasoning, input + output > 0
FROM called WHERE ifnull(provider, '') <> '' ORDER BY at, id;

UPDATE turns SET usd = NULL WHERE NOT seeded AND EXISTS (SELECT 1 FROM rounds r WHERE r.turn = turns.id AND r.finish <> 'host');
UPDATE sessions SET usd = NULL WHERE EXISTS (SELECT 1 FROM turns t WHERE t.session = sessions.id AND t.copied IS NULL AND t.usd IS NULL);

PRAGMA user_version = 6;
