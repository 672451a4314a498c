-- +goose Up

-- What a token is for: api, session or link.
ALTER TABLE tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'api';
-- The id of the token that a session began with.
ALTER TABLE tokens ADD COLUMN source TEXT REFERENCES tokens (id) ON DELETE CASCADE;
CREATE INDEX tokens_source ON tokens (source) WHERE source IS NOT NULL;

-- Whether the turn is of the conversation that a session began with. No run
-- handled it; its value of run is only there to be unique.
ALTER TABLE turns ADD COLUMN seeded INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 3;
