-- kind: 0 response, 1 chat completion, which continues nothing, has no log, and can be read once it has ended well.
ALTER TABLE response ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
CREATE INDEX response_completion ON response (owner) WHERE kind = 1;

-- What completions are listed by.
CREATE TABLE tag (response INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL);
CREATE UNIQUE INDEX tag_name ON tag (response, name);
CREATE TRIGGER response_untagged AFTER DELETE ON response BEGIN
    DELETE FROM tag WHERE response = old.key;
END;
