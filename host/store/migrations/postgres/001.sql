-- The tables of SQLite's schema 4, which says what each column is. Numbers are bigint throughout, since both databases share their
-- statements; texts are compared by their bytes. What a version may do that knows less than the newest is said in table "schema".
CREATE FUNCTION max(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT GREATEST($1, $2)';

-- One row: the newest migration, and the oldest version of the schema whose statements still read and write these tables.
CREATE TABLE schema (version bigint NOT NULL, readable_since bigint NOT NULL);

CREATE TABLE owner (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    bytes bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE response (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    status bigint NOT NULL,
    background bigint NOT NULL,
    deleted bigint NOT NULL DEFAULT 0,
    parent bigint,
    parent_id text COLLATE "C",
    children bigint NOT NULL DEFAULT 0,
    depth bigint NOT NULL,
    context bigint NOT NULL,
    conversation text COLLATE "C",
    root bigint,
    base bigint NOT NULL DEFAULT 0,
    created bigint NOT NULL,
    ended bigint,
    used bigint NOT NULL,
    host text COLLATE "C",
    epoch bigint NOT NULL DEFAULT 0,
    lease bigint NOT NULL DEFAULT 0,
    tries bigint NOT NULL DEFAULT 0,
    events bigint NOT NULL DEFAULT 0,
    log_bytes bigint NOT NULL DEFAULT 0,
    logged bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL,
    kind bigint NOT NULL DEFAULT 0,
    model text COLLATE "C",
    version bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX response_id ON response (owner, id);
CREATE INDEX response_parent ON response (parent) WHERE parent IS NOT NULL;
-- Without the lease, which each renewal changes: so a row is written again beside itself, and no index with it.
CREATE INDEX response_live ON response (owner) WHERE ended IS NULL;
CREATE INDEX response_owner_leaf ON response (owner, used) WHERE ended IS NOT NULL AND children = 0;
CREATE INDEX response_leaf ON response (used) WHERE ended IS NOT NULL AND children = 0;
CREATE INDEX response_log ON response (ended) WHERE ended IS NOT NULL AND logged = 1;
CREATE INDEX response_completion ON response (owner) WHERE kind = 1;
CREATE INDEX response_garbage ON response (key) WHERE deleted = 1 AND children = 0;

CREATE TABLE body (response bigint PRIMARY KEY, request bytea NOT NULL, result bytea NOT NULL);

CREATE TABLE item (
    response bigint NOT NULL,
    side bigint NOT NULL,
    pos bigint NOT NULL,
    owner bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (response, side, pos)
);
CREATE INDEX item_id ON item (owner, id, response, side, pos);

CREATE TABLE chunk (
    response bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (response, first)
);

CREATE TABLE conversation (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    created bigint NOT NULL,
    used bigint NOT NULL,
    metadata bytea NOT NULL,
    next bigint NOT NULL DEFAULT 0,
    running bigint,
    items bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL
);
CREATE UNIQUE INDEX conversation_id ON conversation (owner, id);
CREATE INDEX conversation_owner_used ON conversation (owner, used) WHERE running IS NULL;
CREATE INDEX conversation_used ON conversation (used) WHERE running IS NULL;
CREATE INDEX conversation_running ON conversation (running) WHERE running IS NOT NULL;

CREATE TABLE entry (
    conversation bigint NOT NULL,
    pos bigint NOT NULL,
    owner bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (conversation, pos)
);
CREATE INDEX entry_id ON entry (owner, id, conversation, pos);

-- rowid is what SQLite calls the order in which rows came.
CREATE TABLE tag (
    rowid bigint GENERATED ALWAYS AS IDENTITY,
    response bigint NOT NULL,
    owner bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    PRIMARY KEY (response, name)
);
CREATE INDEX tag_value ON tag (owner, name, value, response);

CREATE TABLE garbage (kind bigint NOT NULL, key bigint NOT NULL, PRIMARY KEY (kind, key));

CREATE TABLE served (
    model text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    seen bigint NOT NULL,
    PRIMARY KEY (model, version)
);

CREATE FUNCTION count_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    grown bigint := CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE NEW.bytes END - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE OLD.bytes END;
BEGIN
    IF grown <> 0 THEN
        UPDATE owner SET bytes = bytes + grown WHERE key = COALESCE(NEW.owner, OLD.owner);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER response_counted AFTER INSERT OR UPDATE OF bytes OR DELETE ON response FOR EACH ROW EXECUTE FUNCTION count_bytes();
CREATE TRIGGER conversation_counted AFTER INSERT OR UPDATE OF bytes OR DELETE ON conversation FOR EACH ROW EXECUTE FUNCTION count_bytes();

CREATE FUNCTION response_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM body WHERE response = OLD.key;
    DELETE FROM item WHERE response = OLD.key;
    DELETE FROM chunk WHERE response = OLD.key;
    DELETE FROM tag WHERE response = OLD.key;
    DELETE FROM garbage WHERE kind = 0 AND key = OLD.key;
    UPDATE response SET children = children - 1 WHERE key = OLD.parent;
    UPDATE conversation SET running = NULL WHERE running = OLD.key;
    RETURN NULL;
END $$;
CREATE TRIGGER response_removed AFTER DELETE ON response FOR EACH ROW EXECUTE FUNCTION response_removed();

CREATE FUNCTION conversation_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO garbage (kind, key) VALUES (1, OLD.key);
    RETURN NULL;
END $$;
CREATE TRIGGER conversation_removed AFTER DELETE ON conversation FOR EACH ROW EXECUTE FUNCTION conversation_removed();
