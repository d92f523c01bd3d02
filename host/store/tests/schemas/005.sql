-- A store of this schema, as `files.rs` filled it. Never edited: it stands for files that exist.
PRAGMA user_version = 5;
PRAGMA application_id = 1399616873;

CREATE TABLE body (response INTEGER PRIMARY KEY, request BLOB NOT NULL, result BLOB NOT NULL);

CREATE TABLE chunk (response INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, body BLOB NOT NULL);

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

CREATE TABLE entry (
    conversation INTEGER NOT NULL, pos INTEGER NOT NULL,
    owner INTEGER NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL
);

CREATE TABLE garbage (kind INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;

CREATE TABLE host (name TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL, seen INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE item (
    response INTEGER NOT NULL, side INTEGER NOT NULL, pos INTEGER NOT NULL,
    owner INTEGER NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL
);

CREATE TABLE owner (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL DEFAULT 0);

CREATE TABLE reasoning (response INTEGER PRIMARY KEY, host TEXT NOT NULL, asked INTEGER NOT NULL, outcome INTEGER);

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
, kind INTEGER NOT NULL DEFAULT 0, model TEXT, version INTEGER NOT NULL DEFAULT 0);

CREATE TABLE served (model TEXT NOT NULL, version INTEGER NOT NULL, seen INTEGER NOT NULL, PRIMARY KEY (model, version)) WITHOUT ROWID;

CREATE TABLE tag (response INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, owner INTEGER NOT NULL DEFAULT 0);

INSERT INTO body VALUES (1, X'', X'');
INSERT INTO body VALUES (2, X'726571756573742062', X'726573756C742062');
INSERT INTO body VALUES (3, X'726571756573742063', X'726573756C742063');
INSERT INTO body VALUES (4, X'726571756573742064', X'726573756C742064');
INSERT INTO body VALUES (5, X'726571756573742065', X'');
INSERT INTO body VALUES (6, X'', X'726573756C742066');
INSERT INTO chunk VALUES (4, 0, 2, X'2100000028B52FFD2021AD000068070000006576656E74203031320200600B6FC50B');
INSERT INTO chunk VALUES (4, 3, 11, X'6500000028B52FFD2065450100A8070000006576656E7420333435363738390831303108002F0683826033B005EC039B812DBC152F');
INSERT INTO conversation VALUES (1, 1, 'v', 1000000000000, 1000000000000, X'6D657461', 3, NULL, 34, 648);
INSERT INTO entry VALUES (1, 0, 1, 'e', X'626F6479206F662065');
INSERT INTO entry VALUES (1, 1, 1, 'c-in', X'626F6479206F6620632D696E');
INSERT INTO entry VALUES (1, 2, 1, 'c-out', X'626F6479206F6620632D6F7574');
INSERT INTO item VALUES (1, 0, 0, 1, 'a-in', X'626F6479206F6620612D696E');
INSERT INTO item VALUES (1, 1, 0, 1, 'a-out', X'626F6479206F6620612D6F7574');
INSERT INTO item VALUES (2, 0, 0, 1, 'b-in', X'626F6479206F6620622D696E');
INSERT INTO item VALUES (2, 1, 0, 1, 'b-out', X'626F6479206F6620622D6F7574');
INSERT INTO item VALUES (3, 0, 0, 1, 'c-in', X'626F6479206F6620632D696E');
INSERT INTO item VALUES (3, 1, 0, 1, 'c-out', X'626F6479206F6620632D6F7574');
INSERT INTO item VALUES (4, 0, 0, 1, 'd-in', X'626F6479206F6620642D696E');
INSERT INTO item VALUES (4, 1, 0, 1, 'd-out', X'626F6479206F6620642D6F7574');
INSERT INTO item VALUES (5, 0, 0, 2, 'e-in', X'626F6479206F6620652D696E');
INSERT INTO item VALUES (6, 0, 0, 1, 'f-0', X'626F6479206F6620662D30');
INSERT INTO item VALUES (6, 1, 0, 1, 'f-out', X'626F6479206F6620662D6F7574');
INSERT INTO owner VALUES (1, 'alice', 3648);
INSERT INTO owner VALUES (2, 'bob', 425);
INSERT INTO response VALUES (1, 1, 'a', 2, 0, 1, NULL, NULL, 1, 1, 25, NULL, NULL, 0, 1000000000000, 1000000000000, 1000000000000, '', 1, 20000, 1, 0, 0, 0, 534, 0, NULL, 0);
INSERT INTO response VALUES (2, 1, 'b', 2, 0, 0, 1, 'a', 0, 2, 50, NULL, NULL, 0, 1000000000000, 1000000000000, 1000000000000, '', 1, 20000, 1, 0, 0, 0, 551, 0, NULL, 0);
INSERT INTO response VALUES (3, 1, 'c', 2, 0, 0, NULL, NULL, 0, 1, 34, 'v', 1, 1, 1000000000000, 1000000000000, 1000000000000, '', 1, 20000, 1, 0, 0, 0, 551, 0, NULL, 0);
INSERT INTO response VALUES (4, 1, 'd', 5, 1, 0, NULL, NULL, 0, 1, 25, NULL, NULL, 0, 1000000000000, 1000000000000, 1000000000000, '', 1, 20000, 1, 12, 167, 1, 718, 0, 'model', 1);
INSERT INTO response VALUES (5, 2, 'e', 1, 0, 0, NULL, NULL, 0, 1, 12, NULL, NULL, 0, 1000000000000, NULL, 1000000000000, '', 1, 20000, 1, 0, 0, 0, 425, 0, NULL, 0);
INSERT INTO response VALUES (6, 1, 'f', 2, 0, 0, NULL, NULL, 0, 1, 24, NULL, NULL, 0, 1000000000000, 1000000000000, 1000000000000, '', 1, 20000, 1, 0, 0, 0, 646, 1, NULL, 0);
INSERT INTO served VALUES ('model', 1, 0);
INSERT INTO served VALUES ('other', 1, 0);
INSERT INTO tag VALUES (6, 'model', 'm', 1);

CREATE UNIQUE INDEX chunk_place ON chunk (response, first);

CREATE TRIGGER conversation_added AFTER INSERT ON conversation BEGIN
    UPDATE owner SET bytes = bytes + new.bytes WHERE key = new.owner;
END;

CREATE TRIGGER conversation_changed AFTER UPDATE OF bytes ON conversation BEGIN
    UPDATE owner SET bytes = bytes + new.bytes - old.bytes WHERE key = new.owner;
END;

CREATE UNIQUE INDEX conversation_id ON conversation (owner, id);

CREATE INDEX conversation_owner_used ON conversation (owner, used) WHERE running IS NULL;

CREATE TRIGGER conversation_removed AFTER DELETE ON conversation BEGIN
    UPDATE owner SET bytes = bytes - old.bytes WHERE key = old.owner;
    INSERT INTO garbage (kind, key) VALUES (1, old.key);
END;

CREATE INDEX conversation_running ON conversation (running) WHERE running IS NOT NULL;

CREATE INDEX conversation_used ON conversation (used) WHERE running IS NULL;

CREATE INDEX entry_id ON entry (owner, id, conversation, pos);

CREATE UNIQUE INDEX entry_place ON entry (conversation, pos);

CREATE INDEX item_id ON item (owner, id, response, side, pos);

CREATE UNIQUE INDEX item_place ON item (response, side, pos);

CREATE INDEX reasoning_host ON reasoning (host) WHERE outcome IS NULL;

CREATE TRIGGER response_added AFTER INSERT ON response BEGIN
    UPDATE owner SET bytes = bytes + new.bytes WHERE key = new.owner;
END;

CREATE TRIGGER response_changed AFTER UPDATE OF bytes ON response BEGIN
    UPDATE owner SET bytes = bytes + new.bytes - old.bytes WHERE key = new.owner;
END;

CREATE INDEX response_completion ON response (owner) WHERE kind = 1;

CREATE INDEX response_garbage ON response (key) WHERE deleted = 1 AND children = 0;

CREATE UNIQUE INDEX response_id ON response (owner, id);

CREATE INDEX response_leaf ON response (used) WHERE ended IS NOT NULL AND children = 0;

CREATE INDEX response_live ON response (owner, lease) WHERE ended IS NULL;

CREATE INDEX response_log ON response (ended) WHERE ended IS NOT NULL AND logged = 1;

CREATE INDEX response_owner_leaf ON response (owner, used) WHERE ended IS NOT NULL AND children = 0;

CREATE INDEX response_parent ON response (parent) WHERE parent IS NOT NULL;

CREATE TRIGGER response_removed AFTER DELETE ON response BEGIN
    UPDATE owner SET bytes = bytes - old.bytes WHERE key = old.owner;
    DELETE FROM body WHERE response = old.key;
    DELETE FROM item WHERE response = old.key;
    DELETE FROM chunk WHERE response = old.key;
    DELETE FROM garbage WHERE kind = 0 AND key = old.key;
    UPDATE response SET children = children - 1 WHERE key = old.parent;
    UPDATE conversation SET running = NULL WHERE running = old.key;
END;

CREATE TRIGGER response_untagged AFTER DELETE ON response BEGIN
    DELETE FROM tag WHERE response = old.key;
END;

CREATE UNIQUE INDEX tag_name ON tag (response, name);

CREATE INDEX tag_value ON tag (owner, name, value, response);
