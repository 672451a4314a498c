-- +goose Up

-- Where a fork comes from: the name of another session of its agent, which may
-- be gone by now, and the last of its turns that the fork begins with.
ALTER TABLE sessions ADD COLUMN fork_of TEXT;
ALTER TABLE sessions ADD COLUMN fork_turn INTEGER;

-- The run of the turn that this one is a copy of, as a fork begins with. Its
-- own value of run is only there to be unique.
ALTER TABLE turns ADD COLUMN copied TEXT;

-- Sessions that may read a ref besides the one that made it: forks of that.
CREATE TABLE ref_shares (
    ref     TEXT NOT NULL REFERENCES refs (ref) ON DELETE CASCADE,
    session TEXT NOT NULL,
    PRIMARY KEY (ref, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX ref_shares_session ON ref_shares (session);

PRAGMA user_version = 5;
