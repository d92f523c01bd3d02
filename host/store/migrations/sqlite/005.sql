-- The hosts that share the store, what each says of itself in the caller's format, and when it last did, in the time of leases.
CREATE TABLE host (name TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL, seen INTEGER NOT NULL) WITHOUT ROWID;

-- Hosts that are asked to end the reasoning of a response which they run: when, and what came of it; NULL until they say.
CREATE TABLE reasoning (response INTEGER PRIMARY KEY, host TEXT NOT NULL, asked INTEGER NOT NULL, outcome INTEGER);
CREATE INDEX reasoning_host ON reasoning (host) WHERE outcome IS NULL;
