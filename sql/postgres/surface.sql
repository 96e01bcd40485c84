-- The surface: what applications in any language use (docs/sql.md). It is made anew by every install; grants on it stay.

-- The fences of leases, which have no rows.
CREATE SEQUENCE IF NOT EXISTS {ns}.lease_fence;

-- The locks that are live now. No key, no hash, no request id.
CREATE OR REPLACE VIEW {ns}.locks AS
SELECT l.type, l.id, l.mode, l.fence,
       timestamptz 'epoch' + l.since_us * interval '1 microsecond' AS since,
       timestamptz 'epoch' + least(l.ends_us, s.expires_us) * interval '1 microsecond' AS expires,
       l.purpose, l.session, s."user", s.name
  FROM {ns}.lock l JOIN {ns}.session s ON s.id = l.session
 CROSS JOIN (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us) AS now
 WHERE s.ended_us IS NULL AND s.expires_us > now.us AND (l.ends_us IS NULL OR l.ends_us > now.us);

-- Called first in a transaction that saves: does this session hold type/id exclusively now, with this fence? If not, it raises
-- SQLSTATE 23H01 with a sentence for a person. If so, it returns the fence, and nobody takes the lock away until the transaction ends: the anchor is locked
-- first, then the clock is read, then the lock is looked at. Runs with the rights of its owner: a role needs EXECUTE, no table.
-- Everybody may call a new function; that is taken back here and once, since what was granted later is to stay.
DO $holdfast$ BEGIN
IF (SELECT p.prorettype FROM pg_catalog.pg_proc p WHERE p.oid = to_regprocedure('{ns}."check"(text, text, text, bigint)')) = 'void'::regtype THEN
    DROP FUNCTION {ns}."check"(text, text, text, bigint); -- an older one
END IF;
IF to_regprocedure('{ns}."check"(text, text, text, bigint)') IS NULL THEN
    CREATE FUNCTION {ns}."check"(type text, id text, session text, fence bigint) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN END';
    REVOKE ALL ON FUNCTION {ns}."check"(text, text, text, bigint) FROM PUBLIC;
END IF;
END $holdfast$;
CREATE OR REPLACE FUNCTION {ns}."check"(type text, id text, session text, fence bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $check$
#variable_conflict use_variable
DECLARE
    resource CONSTANT text := format('%s/%s', type, id);
    now_us bigint;
    mine record;
    other record;
    refusal text;
BEGIN
    IF fence IS NULL OR fence <= 0 THEN
        RAISE EXCEPTION USING ERRCODE = '23H01',
            MESSAGE = format('A fence is needed to save %s; pass the one that acquire answered.', resource);
    END IF;
    PERFORM 1 FROM {ns}.resource r WHERE r.type = type COLLATE "C" AND r.id = id COLLATE "C" FOR SHARE;
    now_us := extract(epoch FROM clock_timestamp()) * 1000000;
    SELECT l.mode, l.fence, l.ends_us, s.ended_us, s.expires_us INTO mine
      FROM {ns}.lock l JOIN {ns}.session s ON s.id = l.session
     WHERE l.type = type COLLATE "C" AND l.id = id COLLATE "C" AND l.session = session COLLATE "C";
    IF mine.expires_us <= now_us THEN
        -- A beat may be under way, or have come after this transaction began: it is waited for, or makes this one fail with 40001.
        SELECT s.ended_us, s.expires_us INTO mine.ended_us, mine.expires_us
          FROM {ns}.session s WHERE s.id = session COLLATE "C" FOR SHARE;
        now_us := extract(epoch FROM clock_timestamp()) * 1000000;
    END IF;

    IF mine.ended_us IS NULL AND mine.expires_us > now_us AND (mine.ends_us IS NULL OR mine.ends_us > now_us) THEN
        IF mine.mode = 'exclusive' AND mine.fence = fence THEN
            RETURN fence;
        END IF;
        refusal := CASE WHEN mine.fence = fence
            THEN format('The session holds %s only to read; acquire it exclusively to save.', resource)
            ELSE format('Fence %s of %s is of another grant; that of the live one is %s.', fence, resource, mine.fence) END;
    ELSE
        -- Of several readers the last to go frees it.
        SELECT l.mode, s.name, l.purpose, l.since_us, max(least(l.ends_us, s.expires_us)) OVER () AS expires_us, count(*) OVER () - 1 AS more
          INTO other
          FROM {ns}.lock l JOIN {ns}.session s ON s.id = l.session
         WHERE l.type = type COLLATE "C" AND l.id = id COLLATE "C" AND l.session IS DISTINCT FROM session COLLATE "C"
           AND s.ended_us IS NULL AND s.expires_us > now_us AND (l.ends_us IS NULL OR l.ends_us > now_us)
         ORDER BY l.fence LIMIT 1;
        IF FOUND THEN
            refusal := (SELECT format('%s is being %s by %s%s since %s%s; it frees %s.',
                    resource, CASE other.mode WHEN 'shared' THEN 'read' ELSE 'edited' END, other.name,
                    CASE WHEN other.more = 1 THEN ' and 1 other' WHEN other.more > 1 THEN format(' and %s others', other.more) END,
                    to_char(t.since, CASE WHEN t.since::date = t.now::date THEN t.short ELSE t.long END),
                    CASE WHEN other.purpose <> '' THEN format(' ("%s")', other.purpose) END,
                    format(CASE WHEN other.more > 0 THEN 'at %s or when all of them have closed it' ELSE 'at %s or when %s closes it' END,
                        to_char(t.until, CASE WHEN t.until::date = t.now::date THEN t.short ELSE t.long END), other.name))
                FROM (SELECT timestamp 'epoch' + other.since_us * interval '1 microsecond' AS since,
                             timestamp 'epoch' + other.expires_us * interval '1 microsecond' AS until,
                             timestamp 'epoch' + now_us * interval '1 microsecond' AS now,
                             'HH24:MI "UTC"' AS short, 'YYYY-MM-DD HH24:MI "UTC"' AS long) AS t);
        ELSE
            refusal := 'Your editing session has expired; reload the record.';
        END IF;
    END IF;
    RAISE EXCEPTION USING ERRCODE = '23H01', MESSAGE = refusal,
        DETAIL = format('Session %s asked to save %s with fence %s.', session, resource, fence),
        HINT = format('Roll back. Acquire %s, load it anew, and save with the fence that was answered.', resource);
END
$check$;
