-- Completions are found by what they are listed by.
ALTER TABLE tag ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;
UPDATE tag SET owner = COALESCE((SELECT owner FROM response WHERE key = tag.response), 0);
CREATE INDEX tag_value ON tag (owner, name, value, response);

-- What is gone for everybody and is removed piece by piece. kind: 0 the log of a response, 1 the entries of a deleted conversation.
CREATE TABLE garbage (kind INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;
-- Deleted responses that nothing needs: their items and chunks go first, then they themselves, so that no new row has their key before.
CREATE INDEX response_garbage ON response (key) WHERE deleted = 1 AND children = 0;

DROP TRIGGER response_removed;
CREATE TRIGGER response_removed AFTER DELETE ON response BEGIN
    UPDATE owner SET bytes = bytes - old.bytes WHERE key = old.owner;
    DELETE FROM body WHERE response = old.key;
    DELETE FROM item WHERE response = old.key;
    DELETE FROM chunk WHERE response = old.key;
    DELETE FROM garbage WHERE kind = 0 AND key = old.key;
    UPDATE response SET children = children - 1 WHERE key = old.parent;
    UPDATE conversation SET running = NULL WHERE running = old.key;
END;
DROP TRIGGER conversation_removed;
CREATE TRIGGER conversation_removed AFTER DELETE ON conversation BEGIN
    UPDATE owner SET bytes = bytes - old.bytes WHERE key = old.owner;
    INSERT INTO garbage (kind, key) VALUES (1, old.key);
END;
