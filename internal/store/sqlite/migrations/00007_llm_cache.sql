-- +goose Up

-- Answers of models by the digest of their request, for a few minutes each.
-- Times are Unix milliseconds.
CREATE TABLE llm_cache (
    id      INTEGER PRIMARY KEY, -- the oldest first
    key     BLOB    NOT NULL UNIQUE,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    size    INTEGER NOT NULL, -- of answer in bytes
    answer  BLOB    NOT NULL
) STRICT;
-- Making room looks at no answer.
CREATE INDEX llm_cache_expires ON llm_cache (expires, size);

PRAGMA user_version = 7;
