-- The surface: what applications in any language use (docs/sql.md). It is made anew by every
-- install; grants on it stay.

-- What makes the keys of advisory locks, which any role may take, and of other numbers unknown to
-- who may not read the tables.
INSERT INTO {ns}.meta (name, value)
VALUES ('secret', md5(concat(random(), random(), random(), clock_timestamp())))
    ON CONFLICT DO NOTHING;

-- The locks that are live now. No key, no hash, no request id.
CREATE OR REPLACE VIEW {ns}.locks AS
SELECT l.type, l.id, l.mode, l.fence,
       timestamptz 'epoch' + l.since_us * interval '1 microsecond' AS since,
       timestamptz 'epoch' + least(l.ends_us, s.expires_us) * interval '1 microsecond' AS expires,
       l.purpose, l.session, s."user", s.name
  FROM {ns}.lock l JOIN {ns}.session s ON s.id = l.session
 CROSS JOIN (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us) AS now
 WHERE s.ended_us IS NULL AND s.expires_us > now.us AND (l.ends_us IS NULL OR l.ends_us > now.us);

-- What was saved last of each resource, deleted ones too (gone).
CREATE OR REPLACE VIEW {ns}.versions AS
SELECT r.type, r.id, r.version, r.saved_fence AS fence,
       timestamptz 'epoch' + r.saved_us * interval '1 microsecond' AS saved, r.gone,
       r.saved_session AS session, r.saved_user AS "user", r.saved_name AS name
  FROM {ns}.resource r WHERE r.version > 0;

-- Everybody may call a new function; that is taken back here and once, since what was granted
-- later is to stay. What follows replaces these.
DO $holdfast$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['"check"(text, text, text, bigint)',
        'save(text, text, bigint, text, text, bigint)',
        'remove(text, text, bigint, text, text, bigint)', 'expect(text, text, bigint)']
    LOOP
        CONTINUE WHEN to_regprocedure('{ns}.' || one) IS NOT NULL;
        EXECUTE format('CREATE FUNCTION {ns}.%s RETURNS bigint LANGUAGE plpgsql AS ''BEGIN END''',
            one);
        EXECUTE format('REVOKE ALL ON FUNCTION {ns}.%s FROM PUBLIC', one);
    END LOOP;
END $holdfast$;

-- ---- what the functions below share; not to be called by others ----

-- A time as a person reads it: with its date, unless that is today's.
CREATE OR REPLACE FUNCTION {ns}.say_time(at_us bigint, now_us bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $holdfast$
SELECT to_char(t.at, CASE WHEN t.at::date = t.now::date THEN 'HH24:MI "UTC"'
                          ELSE 'YYYY-MM-DD HH24:MI "UTC"' END)
  FROM (SELECT timestamp 'epoch' + $1 * interval '1 microsecond' AS at,
               timestamp 'epoch' + $2 * interval '1 microsecond' AS now) t
$holdfast$;

-- The sentence that names who else holds it; NULL: nobody does. Of several readers the last to go
-- frees it.
CREATE OR REPLACE FUNCTION {ns}.say_holders(type text, id text, session text, now_us bigint)
RETURNS text LANGUAGE plpgsql VOLATILE AS $holdfast$
#variable_conflict use_variable
DECLARE
    other record;
BEGIN
    SELECT l.mode, s.name, l.purpose, l.since_us,
           max(least(l.ends_us, s.expires_us)) OVER () AS until_us, count(*) OVER () - 1 AS more
      INTO other
      FROM {ns}.lock l JOIN {ns}.session s ON s.id = l.session
     WHERE l.type = type COLLATE "C" AND l.id = id COLLATE "C"
       AND l.session IS DISTINCT FROM session COLLATE "C"
       AND s.ended_us IS NULL AND s.expires_us > now_us
       AND (l.ends_us IS NULL OR l.ends_us > now_us)
     ORDER BY l.fence LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN format('%s/%s is being %s by %s%s since %s%s; it frees at %s or when %s.', type, id,
        CASE other.mode WHEN 'shared' THEN 'read' ELSE 'edited' END, other.name,
        CASE WHEN other.more = 1 THEN ' and 1 other'
             WHEN other.more > 1 THEN format(' and %s others', other.more) END,
        {ns}.say_time(other.since_us, now_us),
        CASE WHEN other.purpose <> '' THEN format(' ("%s")', other.purpose) END,
        {ns}.say_time(other.until_us, now_us),
        CASE WHEN other.more > 0 THEN 'all of them have closed it'
             ELSE format('%s closes it', other.name) END);
END
$holdfast$;

-- Refuses if the version is another than the one expected (NULL: none, it was absent).
CREATE OR REPLACE FUNCTION {ns}.refuse_stale(anchor {ns}.resource, expected bigint, now_us bigint)
RETURNS void LANGUAGE plpgsql STABLE AS $holdfast$
DECLARE
    resource CONSTANT text := format('%s/%s', anchor.type, anchor.id);
    there CONSTANT boolean := anchor.version > 0 AND NOT anchor.gone;
    saved text;
BEGIN
    IF there AND anchor.version = expected OR NOT there AND expected IS NULL THEN
        RETURN;
    END IF;
    saved := {ns}.say_time(anchor.saved_us, now_us);
    RAISE EXCEPTION USING ERRCODE = '23H02',
        MESSAGE = CASE
            WHEN anchor.version = 0 THEN format(
                '%s was never saved (you read version %s).', resource, expected)
            WHEN anchor.gone THEN format('%s was deleted by %s at %s (you read version %s, it is now %s).',
                resource, anchor.saved_name, saved, expected, anchor.version)
            WHEN expected IS NULL THEN format(
                '%s is there already: %s saved it at %s, and it is now version %s.', resource,
                anchor.saved_name, saved, anchor.version)
            ELSE format('%s was changed by %s at %s (you read version %s, it is now %s).', resource,
                anchor.saved_name, saved, expected, anchor.version) END,
        HINT = format('Roll back. Load %s anew, and save with the version that it has then.',
            resource);
END
$holdfast$;

-- The anchor, locked: alone, or with others who only rely on it. One that is not there is made;
-- its name is locked as a store locks it, so that no store waits for it. Names that no store
-- would take are refused.
CREATE OR REPLACE FUNCTION {ns}.lock_anchor(type text, id text, shared boolean)
RETURNS {ns}.resource LANGUAGE plpgsql VOLATILE AS $holdfast$
#variable_conflict use_variable
DECLARE
    anchor {ns}.resource;
    flaw CONSTANT text := CASE
        WHEN type IS NULL OR type = '' THEN 'The type is empty.'
        WHEN octet_length(type) > 64 THEN 'The type is longer than 64 bytes.'
        WHEN type COLLATE "C" !~ '^[a-z][a-z0-9_.-]*$' THEN
            'The type may only hold a-z, 0-9, _, . and -, and begins with a letter.'
        WHEN id IS NULL OR id = '' THEN 'The id is empty.'
        WHEN octet_length(id) > 1024 THEN 'The id is longer than 1024 bytes.'
        WHEN id ~ E'[\\x01-\\x1f\\x7f-\\x9f]' THEN 'The id holds control characters.' END;
BEGIN
    IF flaw IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = flaw;
    END IF;
    LOOP
        IF shared THEN
            SELECT * INTO anchor FROM {ns}.resource r
             WHERE r.type = type COLLATE "C" AND r.id = id COLLATE "C" FOR SHARE;
        ELSE
            SELECT * INTO anchor FROM {ns}.resource r
             WHERE r.type = type COLLATE "C" AND r.id = id COLLATE "C" FOR UPDATE;
        END IF;
        EXIT WHEN FOUND;
        PERFORM pg_advisory_xact_lock(hashtextextended(concat((SELECT m.value FROM {ns}.meta m
            WHERE m.name = 'secret'), type, '/', id), hashtext('{ns}')));
        -- On an older snapshot, which does not show one that was made since, this fails with 40001.
        INSERT INTO {ns}.resource (type, id, fence, rev) VALUES (type, id, 0, 0)
            ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN anchor;
END
$holdfast$;

-- Takes the dead locks out of the way of who saves, as acquire does: each leaves an event, and a
-- session that lives is told on its beats. Returns the anchor with how the last of them ended.
CREATE OR REPLACE FUNCTION {ns}.end_dead(anchor {ns}.resource, session text, name text,
    now_us bigint) RETURNS {ns}.resource LANGUAGE plpgsql VOLATILE AS $holdfast$
#variable_conflict use_variable
DECLARE
    dead record;
BEGIN
    FOR dead IN
        SELECT l.session, l.fence, l.ends_us, s."user",
               coalesce(s.ended_us IS NULL AND s.expires_us > now_us, false) AS lives
          FROM {ns}.lock l LEFT JOIN {ns}.session s ON s.id = l.session
         WHERE l.type = anchor.type AND l.id = anchor.id
           AND (s.id IS NULL OR s.ended_us IS NOT NULL OR s.expires_us <= now_us
                OR l.ends_us <= now_us)
         ORDER BY l.fence
    LOOP
        DELETE FROM {ns}.lock l
         WHERE l.type = anchor.type AND l.id = anchor.id AND l.session = dead.session;
        INSERT INTO {ns}.event (at_us, kind, type, resource_id, session, "user", fence)
        VALUES (now_us, 'expired', anchor.type, anchor.id, dead.session, dead."user", dead.fence);
        IF dead.lives AND dead.session IS DISTINCT FROM session THEN
            INSERT INTO {ns}.lost (session, type, id, fence, at_us, why, by_name)
            VALUES (dead.session, anchor.type, anchor.id, dead.fence, dead.ends_us, 'expired', name)
            ON CONFLICT ON CONSTRAINT lost_pkey DO UPDATE
               SET fence = excluded.fence, at_us = excluded.at_us, why = excluded.why,
                   by_name = excluded.by_name, reason = excluded.reason;
        END IF;
        anchor.rev := anchor.rev + 1;
        anchor.ended_session := dead.session;
        anchor.ended_fence := dead.fence;
        anchor.ended_us := now_us;
        anchor.ended_request := NULL;
    END LOOP;
    RETURN anchor;
END
$holdfast$;

-- A save (gone: a deletion) by the law of every store: the anchor is locked first, then the
-- clock is read, then locks and version are looked at. A session that looks dead is locked and
-- looked at again: a beat may be under way, or have come after this transaction began; then it
-- fails with 40001.
CREATE OR REPLACE FUNCTION {ns}.write(type text, id text, version bigint, "user" text, session text,
    fence bigint, gone boolean) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $holdfast$
#variable_conflict use_variable
DECLARE
    resource CONSTANT text := format('%s/%s', type, id);
    anchor {ns}.resource;
    policy text;
    sessions text[];
    looked_at text[] := '{}';
    look_dead text[];
    now_us bigint;
    saver_user text := "user";
    saver_name text := "user";
    lives boolean;
    my_mode text;
    my_fence bigint;
    flaw text;
    refusal text;
BEGIN
    flaw := CASE
        WHEN version < 0 THEN 'The version is negative: they count from 1.'
        WHEN gone AND version IS NULL THEN
            format('%s is expected to be absent, which can''t be deleted.', resource)
        WHEN session IS NULL AND fence <> 0 THEN
            'The save names a fence, which only a session has: name the session too.'
        WHEN session IS NULL AND ("user" IS NULL OR "user" = '') THEN
            'The user is missing: name who saves, or a session.'
        WHEN octet_length("user") > 255 THEN 'The user is longer than 255 bytes.'
        WHEN "user" ~ E'[\\x01-\\x1f\\x7f-\\x9f]' THEN 'The user holds control characters.' END;
    IF flaw IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = flaw;
    END IF;

    -- Policies do not change meanwhile.
    IF NOT pg_try_advisory_xact_lock_shared(hashtextextended('types', hashtext('{ns}'))) THEN
        PERFORM 1 FROM {ns}.meta m WHERE m.name = 'types' FOR KEY SHARE;
    END IF;
    policy := (SELECT t.policy FROM {ns}.type t WHERE t.type = type COLLATE "C");
    anchor := {ns}.lock_anchor(type, id, false);
    sessions := ARRAY(SELECT l.session FROM {ns}.lock l
                       WHERE l.type = type COLLATE "C" AND l.id = id COLLATE "C") || session;
    LOOP
        now_us := extract(epoch FROM clock_timestamp()) * 1000000;
        look_dead := ARRAY(SELECT s.id FROM {ns}.session s
                            WHERE s.id = ANY (sessions) AND s.id <> ALL (looked_at)
                              AND s.ended_us IS NULL AND s.expires_us <= now_us);
        EXIT WHEN look_dead = '{}';
        PERFORM 1 FROM {ns}.session s WHERE s.id = ANY (look_dead) ORDER BY s.id FOR SHARE;
        looked_at := looked_at || look_dead;
    END LOOP;

    IF session IS NOT NULL THEN
        SELECT s."user", s.name, s.ended_us IS NULL AND s.expires_us > now_us
          INTO saver_user, saver_name, lives
          FROM {ns}.session s WHERE s.id = session COLLATE "C";
        IF lives AND "user" <> saver_user THEN
            RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format(
                'The session is of the user %s, and the save names %s: name the same, or none.',
                saver_user, "user");
        END IF;
        SELECT l.mode, l.fence INTO my_mode, my_fence FROM {ns}.lock l
         WHERE l.type = type COLLATE "C" AND l.id = id COLLATE "C"
           AND l.session = session COLLATE "C"
           AND (l.ends_us IS NULL OR l.ends_us > now_us);
    END IF;
    IF session IS NOT NULL AND lives IS NOT TRUE THEN
        refusal := 'Your editing session has expired; reload the record.';
    ELSIF my_mode = 'shared' THEN
        refusal := format('The session holds %s only to read; acquire it exclusively to save.',
            resource);
    ELSIF my_fence <> fence AND fence <> 0 THEN
        refusal := format('Fence %s of %s is of another grant; that of the live one is %s.', fence,
            resource, my_fence);
    ELSIF my_fence IS NULL THEN
        refusal := {ns}.say_holders(type, id, session, now_us);
        IF refusal IS NULL
           AND (policy IN ('exclusive-write', 'exclusive-read', 'read-write') OR fence <> 0) THEN
            refusal := CASE WHEN session IS NULL
                THEN format('The policy of %s is %s: whoever saves needs an exclusive lock; '
                    'acquire %s in a session, and save by it.', type, policy, resource)
                ELSE format('The session does not hold %s; acquire it first.', resource) END;
        END IF;
    END IF;
    IF refusal IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '23H01', MESSAGE = refusal,
            DETAIL = format('%s asked to save %s.', coalesce('Session ' || session, "user"),
                resource),
            HINT = format('Roll back. Acquire %s, load it anew, and save by that session.',
                resource);
    END IF;
    IF version = 0 AND my_fence IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format(
            'Nothing says what %s was when it was read: name its version, or NULL if it was '
            'absent, or hold its lock.', resource);
    END IF;
    IF version IS DISTINCT FROM 0 THEN
        PERFORM {ns}.refuse_stale(anchor, version, now_us);
    END IF;

    anchor := {ns}.end_dead(anchor, session, CASE WHEN session IS NOT NULL THEN saver_name END,
        now_us);
    -- The request id of the save that this one covers is kept for a day.
    INSERT INTO {ns}.save (type, id, request, version, fence, saved_us, gone, covered_us)
    SELECT anchor.type, anchor.id, anchor.saved_request, anchor.version, anchor.saved_fence,
           anchor.saved_us, anchor.gone, now_us
     WHERE anchor.saved_request <> '' AND anchor.saved_us + 86400000000 > now_us
    ON CONFLICT ON CONSTRAINT save_pkey DO UPDATE
       SET version = excluded.version, fence = excluded.fence, saved_us = excluded.saved_us,
           gone = excluded.gone, covered_us = excluded.covered_us;
    anchor.fence := greatest(now_us, 1 + greatest(anchor.fence,
        (SELECT m.value::bigint FROM {ns}.meta m WHERE m.name = 'fence_floor')));
    UPDATE {ns}.resource r
       SET fence = anchor.fence, rev = anchor.rev + 1, ended_session = anchor.ended_session,
           ended_fence = anchor.ended_fence, ended_request = anchor.ended_request,
           ended_us = anchor.ended_us, version = anchor.version + 1, saved_fence = anchor.fence,
           saved_us = now_us, saved_session = session, saved_user = saver_user,
           saved_name = saver_name, saved_request = NULL, gone = gone
     WHERE r.type = anchor.type AND r.id = anchor.id;
    INSERT INTO {ns}.event (at_us, kind, type, resource_id, session, "user", fence)
    VALUES (now_us, CASE WHEN gone THEN 'deleted' ELSE 'saved' END, type, id, session, saver_user,
            anchor.fence);
    RETURN anchor.fence;
END
$holdfast$;

REVOKE ALL ON FUNCTION {ns}.say_time(bigint, bigint), {ns}.say_holders(text, text, text, bigint),
    {ns}.refuse_stale({ns}.resource, bigint, bigint), {ns}.lock_anchor(text, text, boolean),
    {ns}.end_dead({ns}.resource, text, text, bigint),
    {ns}.write(text, text, bigint, text, text, bigint, boolean) FROM PUBLIC;

-- ---- what applications call; with the rights of the owner: a role needs EXECUTE, no table ----

-- Called first in a transaction that saves: does this session hold type/id exclusively now, with
-- this fence? If not, it raises SQLSTATE 23H01 with a sentence for a person. If so, it returns
-- the fence, and nobody takes the lock away until the transaction ends: the anchor is locked
-- first, then the clock is read, then the lock is looked at. The anchor is written too, so that
-- whoever acquires it later, in a transaction whose snapshot is older than this save, gets 40001
-- and not the lock with an old record.
CREATE OR REPLACE FUNCTION {ns}."check"(type text, id text, session text, fence bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $holdfast$
#variable_conflict use_variable
DECLARE
    resource CONSTANT text := format('%s/%s', type, id);
    now_us bigint;
    mine record;
    refusal text;
BEGIN
    IF fence IS NULL OR fence <= 0 THEN
        RAISE EXCEPTION USING ERRCODE = '23H01',
            MESSAGE = format('A fence is needed to save %s; pass the one that acquire answered.',
                resource);
    END IF;
    PERFORM {ns}.lock_anchor(type, id, false);
    now_us := extract(epoch FROM clock_timestamp()) * 1000000;
    SELECT l.mode, l.fence, l.ends_us, s.ended_us, s.expires_us INTO mine
      FROM {ns}.lock l JOIN {ns}.session s ON s.id = l.session
     WHERE l.type = type COLLATE "C" AND l.id = id COLLATE "C" AND l.session = session COLLATE "C";
    IF mine.expires_us <= now_us THEN
        -- A beat may be under way, or have come after this transaction began: it is waited for, or
        -- makes this one fail with 40001.
        SELECT s.ended_us, s.expires_us INTO mine.ended_us, mine.expires_us
          FROM {ns}.session s WHERE s.id = session COLLATE "C" FOR SHARE;
        now_us := extract(epoch FROM clock_timestamp()) * 1000000;
    END IF;

    IF mine.ended_us IS NULL AND mine.expires_us > now_us
       AND (mine.ends_us IS NULL OR mine.ends_us > now_us) THEN
        IF mine.mode = 'exclusive' AND mine.fence = fence THEN
            UPDATE {ns}.resource r SET rev = r.rev + 1
             WHERE r.type = type COLLATE "C" AND r.id = id COLLATE "C";
            RETURN fence;
        END IF;
        refusal := CASE WHEN mine.fence = fence
            THEN format('The session holds %s only to read; acquire it exclusively to save.',
                resource)
            ELSE format('Fence %s of %s is of another grant; that of the live one is %s.', fence,
                resource, mine.fence) END;
    ELSE
        refusal := coalesce({ns}.say_holders(type, id, session, now_us),
            'Your editing session has expired; reload the record.');
    END IF;
    RAISE EXCEPTION USING ERRCODE = '23H01', MESSAGE = refusal,
        DETAIL = format('Session %s asked to save %s with fence %s.', session, resource, fence),
        HINT = format('Roll back. Acquire %s, load it anew, and save with the fence of that.',
            resource);
END
$holdfast$;

-- Called first in a transaction that saves: counts the version of type/id up and returns the
-- fence of this save, if it is still the version that was read (NULL: it was not there; 0: not
-- said, the lock is the check). If it is another, SQLSTATE 23H02; if a lock is missing or
-- someone else's, 23H01; each with a sentence for a person. The user is who saves; with a
-- session that session's, and NULL will do.
CREATE OR REPLACE FUNCTION {ns}.save(type text, id text, version bigint, "user" text,
    session text DEFAULT NULL, fence bigint DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $holdfast$
BEGIN
    RETURN {ns}.write(type, id, version, "user", session, fence, false);
END
$holdfast$;

-- The same for a record that the transaction deletes: its number, who and when are kept for a
-- year.
CREATE OR REPLACE FUNCTION {ns}.remove(type text, id text, version bigint, "user" text,
    session text DEFAULT NULL, fence bigint DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $holdfast$
BEGIN
    RETURN {ns}.write(type, id, version, "user", session, fence, true);
END
$holdfast$;

-- A premise: type/id is still at this version (NULL: it is not there), and stays so until the
-- transaction ends. If it is another, SQLSTATE 23H02. Returns the version, or NULL.
CREATE OR REPLACE FUNCTION {ns}.expect(type text, id text, version bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $holdfast$
BEGIN
    IF version <= 0 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format(
            'There is no version %s: they count from 1, and NULL means absent.', version);
    END IF;
    PERFORM {ns}.refuse_stale({ns}.lock_anchor(type, id, true), version,
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    RETURN version;
END
$holdfast$;
