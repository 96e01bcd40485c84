-- What installing asks, and the frame around what it runs; docs/sql.md and schema.sql have the rest.

-- One installation at a time; never waits for ever. The key spells "holdfast".
-- name: begin
SET LOCAL lock_timeout = '8s';
SET LOCAL statement_timeout = 0;
DO $holdfast$ BEGIN PERFORM pg_advisory_xact_lock(1752132708, 1717662580); END $holdfast$

-- CREATE SCHEMA IF NOT EXISTS asks for the right to create one even when it is there. By its comment uninstall knows whose it is.
-- name: schema
DO $holdfast$ BEGIN
IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = '{ns}') THEN
CREATE SCHEMA {ns}; COMMENT ON SCHEMA {ns} IS 'holdfast'; END IF;
END $holdfast$

-- Around the tables. Those of another form are refused: a script that was printed can't look first.
-- name: tables_begin
DO $holdfast$ BEGIN
IF NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = '{ns}'::regnamespace AND relname = 'meta') THEN
-- name: tables_end
INSERT INTO {ns}.meta (name, value) VALUES ('schema', '{form}');
ELSIF (SELECT value FROM {ns}.meta WHERE name = 'schema') IS DISTINCT FROM '{form}' THEN
RAISE EXCEPTION 'The tables in schema {ns} were made by another version of holdfast; they were left as they are.';
END IF; END $holdfast$

-- The encoding; how many tables there are with names of ours, and one of them; whether meta looks like ours, and may be read; who
-- asks; whether SQL keeps the name of the schema for itself; a function with a name of ours, if there is one; how
-- many of the tables are there, without the views. From the catalog, which anyone may read, and without failing: it may
-- run in an application's transaction.
-- name: look
SELECT current_setting('server_encoding'), count(t.oid), min(t.relname::text COLLATE "C"),
       (SELECT count(*) FROM pg_catalog.pg_attribute a
         WHERE a.attrelid = m.oid AND a.attname IN ('name', 'value') AND NOT a.attisdropped),
       coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(m.oid, 'SELECT'), false), current_user::text,
       EXISTS (SELECT FROM pg_catalog.pg_get_keywords() WHERE word = '{ns}' AND catcode IN ('R', 'T'))
           OR '{ns}' = 'information_schema',
       (SELECT min(p.proname::text COLLATE "C") FROM pg_catalog.pg_proc p
         WHERE p.pronamespace = n.oid
           AND p.proname IN ('check', 'save', 'remove', 'expect', 'write', 'end_dead', 'refuse_stale',
               'lock_anchor', 'say_holders', 'say_time')),
       count(t.oid) FILTER (WHERE t.relname NOT IN ('locks', 'versions'))
  FROM (SELECT 1) AS one
  LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = '{ns}'
  LEFT JOIN pg_catalog.pg_class m ON m.relnamespace = n.oid AND m.relname = 'meta'
  LEFT JOIN pg_catalog.pg_class t ON t.relnamespace = n.oid
        AND t.relname IN ('meta', 'type', 'session', 'resource', 'lock', 'request', 'lost', 'event', 'token', 'save', 'locks', 'versions')
 GROUP BY n.oid, m.oid
-- name: form
SELECT value FROM {ns}.meta WHERE name = 'schema'

-- Guards, whose triggers would fail without the tables: whether there can be any; one of them.
-- name: guards_there
SELECT CASE WHEN pg_catalog.to_regclass('{ns}.guard') IS NULL THEN '' ELSE 'yes' END
-- name: guarded
SELECT min(table_name) FROM {ns}.guard

-- Before removing: nobody takes a lock meanwhile.
-- name: hold
LOCK TABLE {ns}.meta, {ns}.resource, {ns}.session, {ns}.lock IN ACCESS EXCLUSIVE MODE
-- name: live
SELECT count(*) FROM {ns}.lock l JOIN {ns}.session s ON s.id = l.session
 WHERE s.ended_us IS NULL AND s.expires_us > extract(epoch FROM clock_timestamp()) * 1000000
   AND (l.ends_us IS NULL OR l.ends_us > extract(epoch FROM clock_timestamp()) * 1000000)
