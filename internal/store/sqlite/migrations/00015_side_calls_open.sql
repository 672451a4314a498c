-- +goose Up

-- A call that no model wrote is stored before it runs, so that it is known of
-- whatever becomes of the process.
ALTER TABLE side_calls ADD COLUMN open TEXT; -- the process that runs it; NULL once it has ended
ALTER TABLE side_calls ADD COLUMN root TEXT; -- while it is open, which call of a model or by hand it is or is made by
CREATE INDEX side_calls_open ON side_calls (open, root) WHERE open IS NOT NULL;

-- One index for each way of asking, or a tool that is called often makes each
-- answer slow.
DROP INDEX side_calls_tool;
CREATE INDEX side_calls_tool    ON side_calls (agent, tool, started) WHERE NOT copied;
CREATE INDEX side_calls_caller  ON side_calls (agent, caller, tool, started) WHERE NOT copied;
CREATE INDEX side_calls_session ON side_calls (agent, session, tool, started);
CREATE INDEX side_calls_hand    ON side_calls (agent, tool) WHERE call IS NULL;

PRAGMA user_version = 15;
