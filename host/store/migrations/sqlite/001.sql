-- Owners by number, and the bytes that are counted for each. Triggers keep the count.
CREATE TABLE owner (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL DEFAULT 0);

-- status: 0 queued, 1 running, 2 completed, 3 incomplete, 4 cancelled, 5 failed. A deleted row stays while children > 0.
CREATE TABLE response (
    key INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    id TEXT NOT NULL,
    status INTEGER NOT NULL,
    background INTEGER NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    parent INTEGER,
    parent_id TEXT,
    children INTEGER NOT NULL DEFAULT 0,
    depth INTEGER NOT NULL,
    context INTEGER NOT NULL,      -- bytes of the items of this and everything before
    conversation TEXT,
    root INTEGER,                  -- conversation that its chain began in
    base INTEGER NOT NULL DEFAULT 0,   -- that conversation's entries before this place are its context
    created INTEGER NOT NULL,
    ended INTEGER,
    used INTEGER NOT NULL,
    host TEXT,
    epoch INTEGER NOT NULL DEFAULT 0,
    lease INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    events INTEGER NOT NULL DEFAULT 0,
    log_bytes INTEGER NOT NULL DEFAULT 0,
    logged INTEGER NOT NULL DEFAULT 0,   -- whether its log is kept
    bytes INTEGER NOT NULL
);
-- Apart from the row, which every chunk rewrites.
CREATE TABLE body (response INTEGER PRIMARY KEY, request BLOB NOT NULL, result BLOB NOT NULL);
CREATE UNIQUE INDEX response_id ON response (owner, id);
CREATE INDEX response_parent ON response (parent) WHERE parent IS NOT NULL;
CREATE INDEX response_live ON response (owner, lease) WHERE ended IS NULL;
CREATE INDEX response_owner_leaf ON response (owner, used) WHERE ended IS NOT NULL AND children = 0;
CREATE INDEX response_leaf ON response (used) WHERE ended IS NOT NULL AND children = 0;
CREATE INDEX response_log ON response (ended) WHERE ended IS NOT NULL AND logged = 1;

-- side: 0 input, 1 output
CREATE TABLE item (
    response INTEGER NOT NULL, side INTEGER NOT NULL, pos INTEGER NOT NULL,
    owner INTEGER NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL
);
CREATE UNIQUE INDEX item_place ON item (response, side, pos);
CREATE INDEX item_id ON item (owner, id, response, side, pos);

CREATE TABLE chunk (response INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, body BLOB NOT NULL);
CREATE UNIQUE INDEX chunk_place ON chunk (response, first);

CREATE TABLE conversation (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    owner INTEGER NOT NULL,
    id TEXT NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER NOT NULL,
    metadata BLOB NOT NULL,
    next INTEGER NOT NULL DEFAULT 0,
    running INTEGER,
    items INTEGER NOT NULL DEFAULT 0,    -- bytes of its entries
    bytes INTEGER NOT NULL
);
CREATE UNIQUE INDEX conversation_id ON conversation (owner, id);
CREATE INDEX conversation_owner_used ON conversation (owner, used) WHERE running IS NULL;
CREATE INDEX conversation_used ON conversation (used) WHERE running IS NULL;

CREATE TABLE entry (
    conversation INTEGER NOT NULL, pos INTEGER NOT NULL,
    owner INTEGER NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL
);
CREATE UNIQUE INDEX entry_place ON entry (conversation, pos);
CREATE INDEX entry_id ON entry (owner, id, conversation, pos);

CREATE TRIGGER response_added AFTER INSERT ON response BEGIN
    UPDATE owner SET bytes = bytes + new.bytes WHERE key = new.owner;
END;
CREATE TRIGGER response_changed AFTER UPDATE OF bytes ON response BEGIN
    UPDATE owner SET bytes = bytes + new.bytes - old.bytes WHERE key = new.owner;
END;
CREATE TRIGGER response_removed AFTER DELETE ON response BEGIN
    UPDATE owner SET bytes = bytes - old.bytes WHERE key = old.owner;
    DELETE FROM body WHERE response = old.key;
    DELETE FROM item WHERE response = old.key;
    DELETE FROM chunk WHERE response = old.key;
    UPDATE response SET children = children - 1 WHERE key = old.parent;
    UPDATE conversation SET running = NULL WHERE running = old.key;
END;
CREATE INDEX conversation_running ON conversation (running) WHERE running IS NOT NULL;
CREATE TRIGGER conversation_added AFTER INSERT ON conversation BEGIN
    UPDATE owner SET bytes = bytes + new.bytes WHERE key = new.owner;
END;
CREATE TRIGGER conversation_changed AFTER UPDATE OF bytes ON conversation BEGIN
    UPDATE owner SET bytes = bytes + new.bytes - old.bytes WHERE key = new.owner;
END;
CREATE TRIGGER conversation_removed AFTER DELETE ON conversation BEGIN
    UPDATE owner SET bytes = bytes - old.bytes WHERE key = old.owner;
    DELETE FROM entry WHERE conversation = old.key;
END;
