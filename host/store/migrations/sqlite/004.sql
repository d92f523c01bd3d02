-- What a background response needs that waits: a host that serves the model, and reads requests of the version. Any host takes one without a model, which is older than this.
ALTER TABLE response ADD COLUMN model TEXT;
ALTER TABLE response ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
-- What hosts serve, and when one last said so, in the time of leases.
CREATE TABLE served (model TEXT NOT NULL, version INTEGER NOT NULL, seen INTEGER NOT NULL, PRIMARY KEY (model, version)) WITHOUT ROWID;

-- Logs of what runs are counted for their owners once it ends.
UPDATE response SET bytes = bytes - log_bytes WHERE ended IS NULL AND log_bytes > 0;
