-- The tables of SQLite's schema 5.
CREATE TABLE host (name text COLLATE "C" PRIMARY KEY, settings text NOT NULL, seen bigint NOT NULL);

CREATE TABLE reasoning (response bigint PRIMARY KEY, host text COLLATE "C" NOT NULL, asked bigint NOT NULL, outcome bigint);
CREATE INDEX reasoning_host ON reasoning (host) WHERE outcome IS NULL;

-- The numbers of a JSON array, as SQLite's function of this name gives them.
CREATE FUNCTION json_each(text) RETURNS TABLE (value bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    'SELECT value::bigint FROM json_array_elements_text($1::json)';
