-- +goose Up

-- What models made of texts, by the digest of the text and of all that decides
-- on its vector. Times are Unix milliseconds.
CREATE TABLE embeddings (
    key    BLOB    NOT NULL PRIMARY KEY,
    used   INTEGER NOT NULL, -- to the day
    vector BLOB    NOT NULL  -- numbers of 32 bits, the lowest byte first
) STRICT;
-- Making room looks at no vector.
CREATE INDEX embeddings_used ON embeddings (used, length(vector));

PRAGMA user_version = 10;
