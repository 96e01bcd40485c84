-- The statements of the stores on a database server, PostgreSQL and MariaDB/MySQL side by side. What stands before a section is
-- for both. {ns} is the schema, or the prefix of the tables; {skip} is SKIP LOCKED where the server has it, {share} a lock for several;
-- {none} a null that compares as bytes, as all text here does: PostgreSQL has less to do so; {level} the level of a transaction, where the connection may have another; {now} what makes a statement wait for nobody on MariaDB (not
-- where it skips: it would fail instead), {calm} the same on an application's connection only, where at SERIALIZABLE every read locks; {soon} there what
-- makes it wait for a second at most: where all who read stand in the way of all who write, nobody who waits for nothing ever writes. Lists are bound as db.h says:
-- unnest($1, $2) or $1(type, id). The time of MySQL is SYSDATE, which an application's SET timestamp does not move, in UTC: a connection of the store's
-- own is in that zone, an application's is put into it, on MariaDB by {calm}.
--
-- OFFSET 0 keeps PostgreSQL's planner from turning a look-up by key into a scan of the whole table: these tables are small one minute and
-- large the next, and its statistics are those of another minute. For the same reason rows are changed by their ctid; anchors by the one
-- that they were locked at, since nobody else can move them then.
--
-- Words that name a row, as {cols lock}, are replaced when this is compiled in (tools/fields.py); C reads and binds with the same masks.

-- name: begin
-- postgres:
BEGIN{level}
-- mysql:
START TRANSACTION
-- name: begin_level
-- mysql:
SET TRANSACTION ISOLATION LEVEL READ COMMITTED
-- name: settings
-- postgres:
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
       set_config('lock_timeout', '400ms', true),
       set_config('statement_timeout', '8s', true), set_config('idle_in_transaction_session_timeout', '8s', true)
-- name: unsynced
-- postgres:
SET LOCAL synchronous_commit TO OFF
-- name: commit
COMMIT
-- name: savepoint
SAVEPOINT holdfast_batch
-- name: savepoint_release
-- postgres:
RELEASE holdfast_batch
-- mysql:
RELEASE SAVEPOINT holdfast_batch
-- name: savepoint_rollback
ROLLBACK TO SAVEPOINT holdfast_batch

-- Whoever takes locks looks at the policies of their types, which must not change meanwhile. PostgreSQL does it with the anchors, by an
-- advisory lock, which writes nothing. Any role may take that lock; if it is taken, the row tells whether policies change. A transaction that
-- changes policies holds both. Where MySQL can skip, no row tells that someone changes them.
-- name: types_share
-- mysql:
{now}SELECT 1 FROM {ns}_meta WHERE name = 'types' LOCK IN SHARE MODE
-- name: types_hold
-- mysql:
SELECT 1 FROM {ns}_meta WHERE name = 'types' {share}
-- name: types_own
-- postgres:
SELECT 1 FROM (SELECT 1 FROM {ns}.meta WHERE name = 'types' FOR UPDATE SKIP LOCKED) m
 WHERE pg_try_advisory_xact_lock(hashtextextended('types', hashtext('{ns}')))
-- mysql:
SELECT 1 FROM {ns}_meta WHERE name = 'types' FOR UPDATE {skip}

-- Locks the anchors, without waiting for anyone. Of one that is not there the name is locked, as an advisory lock. Its key is made with a
-- secret: a role that may not read the tables can't compute it. The third column: 0 it is there and locked, 1 it is not there and nobody else is
-- making it, 2 someone else has it; the fourth: nobody is changing policies; the fifth: where PostgreSQL keeps it. MySQL answers only those it could lock; anchors_there
-- tells which there are.
-- name: anchors
-- postgres:
SELECT u.type, u.id,
       CASE WHEN r.rev IS NOT NULL THEN 0
            WHEN (SELECT true FROM {ns}.resource x WHERE x.type = u.type AND x.id = u.id) THEN 2
            WHEN pg_try_advisory_xact_lock(hashtextextended(
                     concat((SELECT value FROM {ns}.meta WHERE name = 'secret'), u.type, '/', u.id), hashtext('{ns}'))) THEN 1
            ELSE 2 END,
       (SELECT CASE WHEN pg_try_advisory_xact_lock_shared(hashtextextended('types', hashtext('{ns}'))) THEN true
                    ELSE EXISTS (SELECT FROM {ns}.meta WHERE name = 'types' FOR KEY SHARE SKIP LOCKED) END), r.ctid::text,
       {cols r.resource MV}
  FROM unnest($1, $2) u (type, id)
  LEFT JOIN LATERAL (SELECT *, ctid FROM {ns}.resource
                      WHERE type = u.type AND id = u.id FOR UPDATE SKIP LOCKED) r ON true
-- mysql:
SELECT type, id, 0, 1, NULL, {cols resource MV}
  FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id) FOR UPDATE {skip}
-- One that is there and nobody has, for who takes nothing; it does not tell why there is none.
-- name: anchor_held
-- postgres:
SELECT u.type, u.id, 0, 1, r.ctid::text, {cols r.resource MV}
  FROM unnest($1, $2) u (type, id) JOIN {ns}.resource r ON r.type = u.type AND r.id = u.id FOR UPDATE OF r SKIP LOCKED
-- mysql:
SELECT type, id, 0, 1, NULL, {cols resource MV}
  FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id) FOR UPDATE {skip}
-- name: anchors_there
-- mysql:
{calm}SELECT 7, {slots resource NM} FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id)
-- One that an application's snapshot shows, and that was passed over: no row, and it was swept since; a failure, and someone has it.
-- name: anchor_left
-- mysql:
SELECT 1 FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE type = $1 AND id = $2 FOR UPDATE NOWAIT
-- Which of those that are not there someone else is just making, by a look at what is not committed; in a transaction of its own.
-- name: making_level
-- mysql:
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED
-- name: making
-- mysql:
SELECT type, id FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id)

-- The versions of resources, for who only looks; and saves that later ones have covered, by their request ids.
-- name: versions
-- postgres:
SELECT {cols r.resource NV}
  FROM unnest($1, $2) u (type, id) CROSS JOIN LATERAL (SELECT * FROM {ns}.resource WHERE type = u.type AND id = u.id OFFSET 0) r
-- mysql:
{calm}SELECT {cols resource NV}
  FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id)
-- name: past
-- postgres:
SELECT {cols s.save} FROM unnest($1, $2, $3) u (type, id, request)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.save WHERE type = u.type AND id = u.id AND request = u.request OFFSET 0) s
-- mysql:
{calm}SELECT {cols save} FROM {ns}_save FORCE INDEX (PRIMARY) WHERE $1(type, id, request)

-- Nobody else opens a session with that request id.
-- name: opens_try
-- postgres:
SELECT u.request, pg_try_advisory_xact_lock(hashtextextended(
           concat((SELECT value FROM {ns}.meta WHERE name = 'secret'), 'open ', u.request), hashtext('{ns}')))
  FROM unnest($1) u (request)
-- name: opens
-- postgres:
SELECT {cols session} FROM {ns}.session WHERE request = ANY ($1)
-- mysql:
{calm}SELECT {cols session} FROM {ns}_session WHERE $1(request)

-- What nearly every batch needs, in one statement: the locks of the resources $1, $2, the sessions $3, the types $4, and last the time
-- with the highest fence that is no more. The first column tells which. Requests for the resources, and what was lost ($5 session,
-- $6 type, $7 id), are seldom there: PostgreSQL says so with the time, and is asked again
-- if they are; on MySQL they come along, with which anchors there are. On PostgreSQL sessions come first, each once, and locks tell where they are kept. Texts, numbers and bytes each have places of their own.
-- name: rows
-- postgres:
WITH l AS MATERIALIZED (
  SELECT x.* FROM unnest($1, $2) u (type, id)
   CROSS JOIN LATERAL (SELECT *, ctid FROM {ns}.lock WHERE type = u.type AND id = u.id OFFSET 0) x)
SELECT 3, {slots s.session}
  FROM (SELECT session FROM l UNION SELECT unnest($3)) d (id)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = d.id OFFSET 0) s
UNION ALL
SELECT 8, {slots l.lock +l.ctid::text} FROM l
UNION ALL
SELECT 4, {slots t.type} FROM {ns}.type t WHERE t.type = ANY ($4)
UNION ALL
SELECT 6, {fill text}, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       (SELECT value::bigint FROM {ns}.meta WHERE name = 'fence_floor'),
       CASE WHEN EXISTS (SELECT FROM {ns}.request)
            THEN EXISTS (SELECT FROM unnest($1, $2) u (type, id)
                          CROSS JOIN LATERAL (SELECT FROM {ns}.request WHERE type = u.type AND id = u.id OFFSET 0) q)::int::bigint
            ELSE 0 END,
       CASE WHEN EXISTS (SELECT FROM (SELECT DISTINCT session FROM unnest($5, $6, $7) u (session, type, id)) d
                          CROSS JOIN LATERAL (SELECT FROM {ns}.lost WHERE session = d.session OFFSET 0) x)
            THEN EXISTS (SELECT FROM unnest($5, $6, $7) u (session, type, id)
                          CROSS JOIN LATERAL (SELECT FROM {ns}.lost
                                               WHERE session = u.session AND type = u.type AND id = u.id OFFSET 0) l)::int::bigint
            ELSE 0 END,
       {fill int 2}, {fill bytes}
-- mysql:
{calm}SELECT 1, {slots l.lock}, {cols s.session}
  FROM {ns}_lock l FORCE INDEX (PRIMARY) LEFT JOIN {ns}_session s ON s.id = l.session WHERE $1(l.type, l.id)
UNION ALL
SELECT 2, {slots q.request}, {cols s.session}
  FROM {ns}_request q FORCE INDEX (PRIMARY) LEFT JOIN {ns}_session s ON s.id = q.session WHERE $1(q.type, q.id)
UNION ALL
SELECT 3, {slots session}, {null session} FROM {ns}_session FORCE INDEX (PRIMARY) WHERE $3(id)
UNION ALL
SELECT 4, {slots type}, {null session} FROM {ns}_type WHERE $4(type)
UNION ALL
SELECT 5, {slots lost}, {null session} FROM {ns}_lost FORCE INDEX (PRIMARY) WHERE $5(+session, type, id)
UNION ALL
SELECT 7, {slots resource NM}, {null session} FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id)
UNION ALL
SELECT 6, {fill text}, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)), 
       (SELECT CAST(value AS SIGNED) FROM {ns}_meta WHERE name = 'fence_floor'),
       {fill int 4}, {fill bytes}, {null session}

-- The same without requests, types and that fence, for who takes nothing.
-- name: rows_held
-- postgres:
WITH l AS MATERIALIZED (
  SELECT x.* FROM unnest($1, $2) u (type, id)
   CROSS JOIN LATERAL (SELECT *, ctid FROM {ns}.lock WHERE type = u.type AND id = u.id OFFSET 0) x)
SELECT 3, {slots s.session}
  FROM (SELECT session FROM l UNION SELECT unnest($3)) d (id)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = d.id OFFSET 0) s
UNION ALL
SELECT 8, {slots l.lock +l.ctid::text} FROM l
UNION ALL
SELECT 6, {fill text}, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, {fill int 2},
       CASE WHEN EXISTS (SELECT FROM (SELECT DISTINCT session FROM unnest($5, $6, $7) u (session, type, id)) d
                          CROSS JOIN LATERAL (SELECT FROM {ns}.lost WHERE session = d.session OFFSET 0) x)
            THEN EXISTS (SELECT FROM unnest($5, $6, $7) u (session, type, id)
                          CROSS JOIN LATERAL (SELECT FROM {ns}.lost
                                               WHERE session = u.session AND type = u.type AND id = u.id OFFSET 0) l)::int::bigint
            ELSE 0 END,
       {fill int 2}, {fill bytes}
-- mysql:
{calm}SELECT 1, {slots l.lock}, {cols s.session}
  FROM {ns}_lock l FORCE INDEX (PRIMARY) LEFT JOIN {ns}_session s ON s.id = l.session WHERE $1(l.type, l.id)
UNION ALL
SELECT 3, {slots session}, {null session} FROM {ns}_session FORCE INDEX (PRIMARY) WHERE $3(id)
UNION ALL
SELECT 5, {slots lost}, {null session} FROM {ns}_lost FORCE INDEX (PRIMARY) WHERE $5(+session, type, id)
UNION ALL
SELECT 7, {slots resource NM}, {null session} FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id)
UNION ALL
SELECT 6, {fill text}, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)), NULL,
       {fill int 4}, {fill bytes}, {null session}

-- The same for one resource, one session, one type and one loss at most, on a connection of the store's own, which joins by index
-- without being told to: both begin small statements sooner than one with many parts. MySQL has locks for locks_one; a look-up that
-- is a statement is no cheaper there than one that is part of a union, so who takes something takes all of rows.
-- name: locks_one
-- postgres:
SELECT {cols l.lock}, {cols s.session}
  FROM unnest($1, $2) u (type, id) JOIN {ns}.lock l ON l.type = u.type AND l.id = u.id
  LEFT JOIN {ns}.session s ON s.id = l.session
-- name: rest_one
-- postgres:
SELECT {cols s.session},
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       EXISTS (SELECT FROM {ns}.lost WHERE session = u.loser AND type = u.lost_type AND id = u.lost_id),
       (SELECT value::bigint FROM {ns}.meta WHERE name = 'fence_floor'),
       EXISTS (SELECT FROM {ns}.request WHERE type = u.type AND id = u.id), {cols t.type}
  FROM unnest($1, $2, $3, $4, $5, $6, $7) u (type, id, session, of_type, loser, lost_type, lost_id)
  LEFT JOIN {ns}.session s ON s.id = u.session LEFT JOIN {ns}.type t ON t.type = u.of_type
-- The same for who saves: no requests and no losses, but whether this save was done before.
-- name: rest_save
-- postgres:
SELECT {cols s.session},
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       EXISTS (SELECT FROM {ns}.save WHERE type = u.type AND id = u.id AND request = u.past),
       (SELECT value::bigint FROM {ns}.meta WHERE name = 'fence_floor'),
       NULL, {cols t.type}
  FROM unnest($1, $2, $3, $4, $5) u (type, id, past, session, of_type)
  LEFT JOIN {ns}.session s ON s.id = u.session LEFT JOIN {ns}.type t ON t.type = u.of_type
-- For who takes nothing, the time alone: its session comes with the lock it holds. If it holds none, it and what it lost are asked for.
-- name: time_one
-- postgres:
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
-- mysql:
{calm}SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))

-- name: sessions_lock
-- postgres:
SELECT {cols session} FROM {ns}.session WHERE id = ANY ($1) ORDER BY id FOR UPDATE SKIP LOCKED
-- mysql:
SELECT {cols session} FROM {ns}_session FORCE INDEX (PRIMARY) WHERE $1(id) FOR UPDATE {skip}
-- In an application's transaction, where MySQL else shows a session as the snapshot has it: as it is now. Others may look too.
-- name: sessions_now
-- mysql:
SELECT {cols session} FROM {ns}_session FORCE INDEX (PRIMARY) WHERE $1(id) {share}
-- name: sessions_load
-- postgres:
SELECT {cols session} FROM {ns}.session WHERE id = ANY ($1)
-- mysql:
{calm}SELECT {cols session} FROM {ns}_session FORCE INDEX (PRIMARY) WHERE $1(id)
-- name: locks
-- postgres:
SELECT {cols l.lock}, {cols s.session}
  FROM unnest($1, $2) u (type, id)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.lock WHERE type = u.type AND id = u.id OFFSET 0) l
  LEFT JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = l.session OFFSET 0) s ON true
-- mysql:
{calm}SELECT {cols l.lock}, {cols s.session}
  FROM {ns}_lock l FORCE INDEX (PRIMARY) LEFT JOIN {ns}_session s ON s.id = l.session WHERE $1(l.type, l.id)
-- name: requests
-- postgres:
SELECT {cols q.request}, {cols s.session}
  FROM unnest($1, $2) u (type, id)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.request WHERE type = u.type AND id = u.id OFFSET 0) q
  LEFT JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = q.session OFFSET 0) s ON true
-- mysql:
{calm}SELECT {cols q.request}, {cols s.session}
  FROM {ns}_request q FORCE INDEX (PRIMARY) LEFT JOIN {ns}_session s ON s.id = q.session WHERE $1(q.type, q.id)
-- Of sessions: what they hold, who asks for it, what they lost.
-- name: session_locks
-- postgres:
SELECT {cols lock}
  FROM (SELECT * FROM {ns}.lock WHERE session = ANY ($1) OFFSET 0) l ORDER BY type, id LIMIT $2
-- mysql:
{calm}SELECT {cols lock}
  FROM {ns}_lock FORCE INDEX (lock_by_session) WHERE $1(session) ORDER BY type, id LIMIT $2
-- In an application's transaction MySQL shows what there is only to who locks it; PostgreSQL shows its snapshot and nothing else.
-- name: session_locks_now
-- mysql:
{now}SELECT {cols lock}
  FROM {ns}_lock FORCE INDEX (lock_by_session) WHERE $1(session) ORDER BY type, id LIMIT $2 LOCK IN SHARE MODE
-- Of sessions that only beat: the locks that may be over or asked for, and how many there are in all, in a row without a name.
-- name: beat_locks
-- postgres:
SELECT {cols l.lock}
  FROM (SELECT * FROM {ns}.lock WHERE session = ANY ($1) OFFSET 0) l
 WHERE l.ends_us IS NOT NULL
    OR (EXISTS (SELECT FROM {ns}.request) AND EXISTS (SELECT FROM {ns}.request WHERE type = l.type AND id = l.id OFFSET 0))
UNION ALL
SELECT {null lock session=session fence=count(*)}
  FROM (SELECT session FROM {ns}.lock WHERE session = ANY ($1) OFFSET 0) n GROUP BY session
-- mysql:
{calm}SELECT {cols l.lock}
  FROM {ns}_lock l FORCE INDEX (lock_by_session)
 WHERE $1(l.session) AND (l.ends_us IS NOT NULL
    OR (EXISTS (SELECT 1 FROM {ns}_request) AND EXISTS (SELECT 1 FROM {ns}_request q WHERE q.type = l.type AND q.id = l.id)))
UNION ALL
SELECT {null lock session=session fence=COUNT(*)}
  FROM {ns}_lock FORCE INDEX (lock_by_session) WHERE $1(session) GROUP BY session
-- name: snapshot
-- postgres:
SELECT 1 WHERE current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
-- name: session_requests
-- postgres:
SELECT DISTINCT {cols q.request}, {cols s.session}
  FROM (SELECT * FROM {ns}.lock WHERE session = ANY ($1) OFFSET 0) l
 CROSS JOIN LATERAL (SELECT * FROM {ns}.request WHERE type = l.type AND id = l.id OFFSET 0) q
  LEFT JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = q.session OFFSET 0) s ON true WHERE l.fence IS NOT NULL
-- mysql:
{calm}SELECT DISTINCT {cols q.request}, {cols s.session}
  FROM {ns}_lock l FORCE INDEX (lock_by_session)
 STRAIGHT_JOIN {ns}_request q FORCE INDEX (PRIMARY) ON q.type = l.type AND q.id = l.id
  LEFT JOIN {ns}_session s ON s.id = q.session WHERE $1(l.session)
-- name: lost_of
-- postgres:
SELECT {cols lost} FROM {ns}.lost WHERE session = ANY ($1)
-- mysql:
{calm}SELECT {cols lost} FROM {ns}_lost FORCE INDEX (PRIMARY) WHERE $1(session)
-- name: lost_one
-- postgres:
SELECT {cols l.lost}
  FROM unnest($1, $2, $3) u (session, type, id)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.lost WHERE session = u.session AND type = u.type AND id = u.id OFFSET 0) l
-- mysql:
{calm}SELECT {cols lost}
  FROM {ns}_lost FORCE INDEX (PRIMARY) WHERE $1(+session, type, id)
-- name: types
-- postgres:
SELECT {cols type} FROM {ns}.type WHERE type = ANY ($1)
-- mysql:
SELECT {cols type} FROM {ns}_type WHERE $1(type)
-- The store's time, and the highest fence of any anchor that is no more. Asked last: the time is read after the rows are locked.
-- name: clock
-- postgres:
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       (SELECT value::bigint FROM {ns}.meta WHERE name = 'fence_floor')
-- mysql:
{calm}SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)),
       (SELECT CAST(value AS SIGNED) FROM {ns}_meta WHERE name = 'fence_floor')

-- In an application's transaction, whose snapshot may be old: what it does not show may be there, and what it shows may have changed.
-- Making the missing rows fails or makes fewer if they are there; then all is undone. Locking a row that has changed fails.
-- name: probe
SAVEPOINT holdfast_probe
-- What others are just making is not waited for long; the end of the probe takes this back.
-- name: probe_patience
-- postgres:
SET LOCAL lock_timeout TO 100
-- name: probe_end
ROLLBACK TO SAVEPOINT holdfast_probe
-- On MySQL a row that is there counts twice. IGNORE would lock a row that was just deleted, and is still there to InnoDB, as shared; when
-- the probe is taken back and the row goes, MariaDB keeps that as a lock on the gap, at READ COMMITTED too. It keeps no exclusive lock.
-- name: probe_anchors
-- postgres:
INSERT INTO {ns}.resource {insert resource NM} ON CONFLICT DO NOTHING
-- mysql:
{now}INSERT INTO {ns}_resource {insert resource NM} ON DUPLICATE KEY UPDATE rev = rev + 1
-- name: probe_sessions
-- postgres:
INSERT INTO {ns}.session {insert session} ON CONFLICT DO NOTHING
-- mysql:
{now}INSERT INTO {ns}_session {insert session}
ON DUPLICATE KEY UPDATE rev = rev + 1
-- name: probe_types
-- postgres:
INSERT INTO {ns}.type {insert type} ON CONFLICT DO NOTHING
-- name: probe_sessions_seen
-- postgres:
SELECT 1 FROM {ns}.session WHERE id = ANY ($1) FOR SHARE SKIP LOCKED
-- name: probe_types_seen
-- postgres:
SELECT 1 FROM {ns}.type WHERE type = ANY ($1) FOR SHARE SKIP LOCKED
-- name: types_now
-- mysql:
{now}SELECT {cols type} FROM {ns}_type WHERE $1(type) LOCK IN SHARE MODE

-- Saving.
-- name: sessions_insert
-- postgres:
INSERT INTO {ns}.session {insert session}
-- mysql:
{now}INSERT INTO {ns}_session {insert session}
-- name: sessions_update
-- postgres:
UPDATE {ns}.session s SET {set session KM} FROM {unnest session KM}
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.session WHERE id = u.id OFFSET 0) x WHERE s.ctid = x.ctid
-- mysql:
{soon}INSERT INTO {ns}_session {insert session}
{conflict session M}
-- name: anchors_insert
-- postgres:
INSERT INTO {ns}.resource {insert resource NM}
-- mysql:
{now}INSERT INTO {ns}_resource {insert resource NM}
-- name: anchors_update
-- postgres:
UPDATE {ns}.resource r
   SET {set resource M} FROM {unnest resource M +place}
 WHERE r.ctid = u.place::tid
-- mysql:
{soon}INSERT INTO {ns}_resource {insert resource NM} {conflict resource M}
-- The same with the version, by a save. The last column of the second: where PostgreSQL keeps it.
-- name: saved_insert
-- postgres:
INSERT INTO {ns}.resource {insert resource}
-- mysql:
{now}INSERT INTO {ns}_resource {insert resource}
-- name: saved_update
-- postgres:
UPDATE {ns}.resource r
   SET {set resource MV} FROM {unnest resource MV +place}
 WHERE r.ctid = u.place::tid
-- mysql:
{soon}INSERT INTO {ns}_resource {insert resource}
{conflict resource MV}
-- name: past_save
-- postgres:
INSERT INTO {ns}.save {insert save} {conflict save}
-- mysql:
{now}REPLACE INTO {ns}_save {insert save}
-- name: locks_insert
-- postgres:
INSERT INTO {ns}.lock {insert lock}
-- mysql:
{now}INSERT INTO {ns}_lock {insert lock}
-- name: locks_update
-- postgres:
UPDATE {ns}.lock l
   SET {set lock} FROM {unnest lock}
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.lock
                      WHERE type = u.type AND id = u.id AND session || '' = u.session OFFSET 0) x
 WHERE l.ctid = x.ctid
-- mysql:
{soon}INSERT INTO {ns}_lock {insert lock}
{conflict lock}
-- Those of which it is known where PostgreSQL keeps them: nobody moves a lock while its anchor is ours.
-- name: locks_drop
-- postgres:
DELETE FROM {ns}.lock l USING {unnest lock KN +place}
 WHERE l.ctid = u.place::tid
-- name: locks_delete
-- postgres:
DELETE FROM {ns}.lock l USING {unnest lock KN}
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.lock
                      WHERE type = u.type AND id = u.id AND session || '' = u.session OFFSET 0) x
 WHERE l.ctid = x.ctid
-- mysql:
{now}DELETE l FROM $1[type, id, session] u STRAIGHT_JOIN {ns}_lock l FORCE INDEX (PRIMARY)
    ON l.type = u.type AND l.id = u.id AND l.session = u.session
-- One resource was taken, or given back, which is what most batches do: all that is written, in one statement: the anchor, the lock,
-- and then the event.
-- name: take_one
-- postgres:
WITH anchor AS (
    UPDATE {ns}.resource r
       SET {set resource M} FROM {unnest resource M +place}
     WHERE r.ctid = u.place::tid),
lock AS (
    INSERT INTO {ns}.lock {insert lock})
INSERT INTO {ns}.event {insert event}
-- name: give_one
-- postgres:
WITH anchor AS (
    UPDATE {ns}.resource r
       SET {set resource M} FROM {unnest resource M +place}
     WHERE r.ctid = u.place::tid),
lock AS (
    DELETE FROM {ns}.lock l USING {unnest lock KN}
     WHERE l.type = u.type AND l.id = u.id AND l.session || '' = u.session)
INSERT INTO {ns}.event {insert event}
-- The same of a save: the anchor, the save that it covers, if there is one, and then the event.
-- name: save_one
-- postgres:
WITH anchor AS (
    UPDATE {ns}.resource r
       SET {set resource MV} FROM {unnest resource MV +place}
     WHERE r.ctid = u.place::tid),
past AS (
    INSERT INTO {ns}.save {insert save} WHERE u.request IS NOT NULL {conflict save})
INSERT INTO {ns}.event {insert event}
-- The same for one row: MySQL is much faster so.
-- name: anchors_update_one
-- mysql:
{soon}UPDATE {ns}_resource {update resource NM}
-- name: locks_delete_one
-- mysql:
{now}DELETE FROM {ns}_lock {where lock KN}
-- name: requests_save
-- postgres:
INSERT INTO {ns}.request {insert request} {conflict request}
-- mysql:
{now}INSERT INTO {ns}_request {insert request} {conflict request}
-- name: requests_delete
-- postgres:
DELETE FROM {ns}.request q USING {unnest request KN}
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.request
                      WHERE type = u.type AND id = u.id AND session || '' = u.session OFFSET 0) x
 WHERE q.ctid = x.ctid
-- mysql:
{soon}DELETE q FROM $1[type, id, session] u STRAIGHT_JOIN {ns}_request q FORCE INDEX (PRIMARY)
    ON q.type = u.type AND q.id = u.id AND q.session = u.session
-- name: lost_save
-- postgres:
INSERT INTO {ns}.lost {insert lost} {conflict lost}
-- mysql:
{now}INSERT INTO {ns}_lost {insert lost} {conflict lost}
-- name: lost_delete
-- postgres:
DELETE FROM {ns}.lost l USING {unnest lost KN}
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.lost WHERE session = u.session AND type = u.type AND id = u.id OFFSET 0) x
 WHERE l.ctid = x.ctid
-- mysql:
{soon}DELETE l FROM $1[session, type, id] u STRAIGHT_JOIN {ns}_lost l FORCE INDEX (PRIMARY)
    ON l.session = u.session AND l.type = u.type AND l.id = u.id
-- name: events_insert
-- postgres:
INSERT INTO {ns}.event {insert event}
-- mysql:
{soon}INSERT INTO {ns}_event {insert event}

-- What stands alone. $1 is the time; $2 to $4 the cursor; $5 how many; $6 type, $7 session, $8 user (null: any).
-- name: list
-- postgres:
SELECT {cols l.lock KNS}, {cols s.session S}
  FROM {ns}.lock l JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = l.session OFFSET 0) s ON true
 WHERE (l.type, l.id, l.session) > ($2, $3, $4)
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6) AND ($7 IS NULL OR l.session = $7) AND ($8 IS NULL OR s."user" = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- mysql:
{calm}SELECT {cols l.lock KNS}, {cols s.session S}
  FROM {ns}_lock l FORCE INDEX (PRIMARY) STRAIGHT_JOIN {ns}_session s ON s.id = l.session
 WHERE (l.type > $2 OR (l.type = $2 AND l.id > $3) OR (l.type = $2 AND l.id = $3 AND l.session > $4))
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6) AND ($7 IS NULL OR l.session = $7) AND ($8 IS NULL OR s.user = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- name: list_type
-- postgres:
SELECT {cols l.lock KNS}, {cols s.session S}
  FROM {ns}.lock l JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = l.session OFFSET 0) s ON true
 WHERE l.type = $6 AND (l.type, l.id, l.session) > ($2, $3, $4)
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($7 IS NULL OR l.session = $7) AND ($8 IS NULL OR s."user" = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- mysql:
{calm}SELECT {cols l.lock KNS}, {cols s.session S}
  FROM {ns}_lock l FORCE INDEX (PRIMARY) STRAIGHT_JOIN {ns}_session s ON s.id = l.session
 WHERE l.type = $6 AND (l.type > $2 OR (l.type = $2 AND l.id > $3) OR (l.type = $2 AND l.id = $3 AND l.session > $4))
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($7 IS NULL OR l.session = $7) AND ($8 IS NULL OR s.user = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- name: list_session
-- postgres:
SELECT {cols l.lock KNS}, {cols s.session S}
  FROM (SELECT * FROM {ns}.lock WHERE session = $7 OFFSET 0) l JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = l.session OFFSET 0) s ON true
 WHERE (l.type, l.id, l.session) > ($2, $3, $4)
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6) AND ($8 IS NULL OR s."user" = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- mysql:
{calm}SELECT {cols l.lock KNS}, {cols s.session S}
  FROM {ns}_session s STRAIGHT_JOIN {ns}_lock l ON l.session = s.id
 WHERE s.id = $7 AND (l.type > $2 OR (l.type = $2 AND l.id > $3) OR (l.type = $2 AND l.id = $3 AND l.session > $4))
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6) AND ($8 IS NULL OR s.user = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- name: list_user
-- postgres:
SELECT {cols l.lock KNS}, {cols s.session S}
  FROM (SELECT * FROM {ns}.session WHERE "user" = $8 OFFSET 0) s
  JOIN LATERAL (SELECT * FROM {ns}.lock WHERE session = s.id OFFSET 0) l ON true
 WHERE (l.type, l.id, l.session) > ($2, $3, $4)
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- mysql:
{calm}SELECT {cols l.lock KNS}, {cols s.session S}
  FROM {ns}_session s STRAIGHT_JOIN {ns}_lock l ON l.session = s.id
 WHERE s.user = $8 AND (l.type > $2 OR (l.type = $2 AND l.id > $3) OR (l.type = $2 AND l.id = $3 AND l.session > $4))
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- name: sessions
-- postgres:
SELECT {cols session S} FROM {ns}.session
 WHERE id > $2 AND ended_us IS NULL AND expires_us > $1 AND ($4 IS NULL OR "user" = $4) ORDER BY id LIMIT $3
-- mysql:
{calm}SELECT {cols session S} FROM {ns}_session FORCE INDEX (PRIMARY, session_by_user)
 WHERE id > $2 AND ended_us IS NULL AND expires_us > $1 AND ($4 IS NULL OR user = $4) ORDER BY id LIMIT $3
-- How many sessions live (no type) and how many locks of each type.
-- name: live
-- postgres:
SELECT NULL::text COLLATE "C" AS type, count(*) FROM {ns}.session WHERE ended_us IS NULL AND expires_us > $1
UNION ALL
SELECT l.type, count(*)
  FROM {ns}.lock l JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = l.session OFFSET 0) s ON true
 WHERE s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
 GROUP BY l.type ORDER BY type
-- mysql:
{calm}SELECT NULL AS type, count(*) AS live FROM {ns}_session FORCE INDEX (session_by_end)
 WHERE ended_us IS NULL AND expires_us > $1
UNION ALL
SELECT l.type, count(*) FROM {ns}_lock l FORCE INDEX (PRIMARY) STRAIGHT_JOIN {ns}_session s ON s.id = l.session
 WHERE s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
 GROUP BY l.type ORDER BY type
-- One session, if it lives, and its locks; the sessions that a token opened, and no locks.
-- name: live_session
-- postgres:
SELECT 1, (SELECT count(*) FROM (SELECT ends_us FROM {ns}.lock WHERE session = $2 OFFSET 0) l WHERE l.ends_us IS NULL OR l.ends_us > $1)
  FROM {ns}.session WHERE id = $2 AND ended_us IS NULL AND expires_us > $1
-- mysql:
{calm}SELECT 1, (SELECT count(*) FROM {ns}_lock l FORCE INDEX (lock_by_session)
            WHERE l.session = s.id AND (l.ends_us IS NULL OR l.ends_us > $1))
  FROM {ns}_session s WHERE s.id = $2 AND s.ended_us IS NULL AND s.expires_us > $1
-- name: live_token
-- postgres:
SELECT count(*), 0 FROM {ns}.session WHERE token = $2 AND ended_us IS NULL AND expires_us > $1
-- mysql:
{calm}SELECT count(*), 0 FROM {ns}_session FORCE INDEX (session_by_end) WHERE token = $2 AND ended_us IS NULL AND expires_us > $1
-- name: types_all
-- postgres:
SELECT {cols type} FROM {ns}.type ORDER BY type
-- mysql:
{calm}SELECT {cols type} FROM {ns}_type ORDER BY type
-- name: type_save
-- postgres:
INSERT INTO {ns}.type {values type} {conflict type}
-- mysql:
{soon}INSERT INTO {ns}_type {values type} {conflict type}
-- name: type_live
-- postgres:
SELECT EXISTS (SELECT 1 FROM {ns}.lock l JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = l.session OFFSET 0) s ON true
                WHERE l.type = $1 AND s.ended_us IS NULL AND s.expires_us > $2
                  AND (l.ends_us IS NULL OR l.ends_us > $2))
-- mysql:
{calm}SELECT EXISTS (SELECT 1 FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
                WHERE l.type = $1 AND s.ended_us IS NULL AND s.expires_us > $2
                  AND (l.ends_us IS NULL OR l.ends_us > $2))
-- name: type_live_now
-- mysql:
{now}SELECT 1 FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
 WHERE l.type = $1 AND s.ended_us IS NULL AND s.expires_us > $2 AND (l.ends_us IS NULL OR l.ends_us > $2)
 LIMIT 1 LOCK IN SHARE MODE

-- Events get their numbers after their commit, from whoever reads: only committed rows are seen here, and only one numbers at a time,
-- so no reader passes over one that commits late.
-- name: events
-- postgres:
SELECT seq, {cols event} FROM {ns}.event WHERE seq > $1 ORDER BY seq LIMIT $2
-- mysql:
{calm}SELECT seq, {cols event} FROM {ns}_event WHERE seq > $1 ORDER BY seq LIMIT $2
-- name: events_first
-- postgres:
SELECT greatest((SELECT min(seq) FROM {ns}.event WHERE seq IS NOT NULL),
                (SELECT value::bigint FROM {ns}.meta WHERE name = 'events_from'))
-- mysql:
{calm}SELECT greatest(coalesce((SELECT min(seq) FROM {ns}_event), 1),
                coalesce((SELECT CAST(value AS SIGNED) FROM {ns}_meta WHERE name = 'events_from'), 1))
-- name: events_last
-- postgres:
SELECT value::bigint FROM {ns}.meta WHERE name = 'events_to'
-- mysql:
{calm}SELECT CAST(value AS SIGNED) FROM {ns}_meta WHERE name = 'events_to'
-- name: events_new
-- postgres:
SELECT id FROM {ns}.event WHERE seq IS NULL ORDER BY id LIMIT $1
-- mysql:
SELECT id FROM (SELECT id FROM {ns}_event FORCE INDEX (event_by_seq) WHERE seq IS NULL LIMIT $1) e ORDER BY id
-- name: events_newest
-- postgres:
SELECT id FROM {ns}.event WHERE seq IS NULL ORDER BY id DESC LIMIT 1
-- mysql:
SELECT max(id) FROM {ns}_event FORCE INDEX (event_by_seq) WHERE seq IS NULL
-- name: events_try
-- postgres:
SELECT 1 FROM {ns}.meta WHERE name = 'events_to' FOR UPDATE SKIP LOCKED
-- mysql:
SELECT 1 FROM {ns}_meta WHERE name = 'events_to' FOR UPDATE {skip}
-- name: events_number
-- postgres:
UPDATE {ns}.event e SET seq = u.seq FROM unnest($1, $2) u (id, seq)
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.event WHERE id = u.id OFFSET 0) x WHERE e.ctid = x.ctid
-- mysql:
{soon}INSERT INTO {ns}_event (id, seq, at_us, kind) VALUES $1* ON DUPLICATE KEY UPDATE seq = VALUES(seq)

-- Tokens, always with the same columns.
-- name: token_same
-- postgres:
SELECT {cols token} FROM {ns}.token WHERE id = $1 OR sha256 = $2 OR request = $3
-- mysql:
SELECT {cols token} FROM {ns}_token WHERE id = $1 OR sha256 = $2 OR request = $3
-- name: token_find
-- postgres:
SELECT {cols token} FROM {ns}.token WHERE sha256 = $1
-- mysql:
{calm}SELECT {cols token} FROM {ns}_token WHERE sha256 = $1
-- name: token_look
-- postgres:
SELECT {cols token} FROM {ns}.token WHERE id = $1
-- mysql:
{calm}SELECT {cols token} FROM {ns}_token WHERE id = $1
-- name: token_own
-- postgres:
SELECT {cols token} FROM {ns}.token WHERE id = $1 FOR UPDATE NOWAIT
-- mysql:
{now}SELECT {cols token} FROM {ns}_token WHERE id = $1 FOR UPDATE
-- name: token_admins
-- postgres:
SELECT {cols token} FROM {ns}.token WHERE revoked_us IS NULL AND roles LIKE '%admin%' ORDER BY id FOR UPDATE NOWAIT
-- mysql:
{now}SELECT {cols token} FROM {ns}_token WHERE revoked_us IS NULL AND roles LIKE '%admin%' ORDER BY id FOR UPDATE
-- name: tokens
-- postgres:
SELECT {cols token} FROM {ns}.token WHERE id > $1 ORDER BY id LIMIT $2
-- mysql:
{calm}SELECT {cols token} FROM {ns}_token WHERE id > $1 ORDER BY id LIMIT $2
-- name: token_insert
-- postgres:
INSERT INTO {ns}.token {values token}
-- mysql:
{soon}INSERT INTO {ns}_token {values token}
-- name: token_revoke
-- postgres:
UPDATE {ns}.token {update token KM}
-- mysql:
{soon}UPDATE {ns}_token {update token KM}

-- Sweeping.
-- name: sweep_dead
-- postgres:
SELECT id, expires_us FROM {ns}.session
 WHERE ended_us IS NULL AND expires_us <= $1 AND (expires_us, id) > ($2, $3) ORDER BY expires_us, id LIMIT 1
-- mysql:
SELECT id, expires_us FROM {ns}_session
 WHERE ended_us IS NULL AND expires_us <= $1 AND expires_us >= $2 AND (expires_us > $2 OR id > $3)
 ORDER BY expires_us, id LIMIT 1
-- Locks of live sessions whose own bound has come, and any that an acquire left behind while its session was being closed.
-- name: sweep_spent
-- postgres:
SELECT l.type, l.id, l.session, l.ends_us
  FROM {ns}.lock l JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = l.session OFFSET 0) s ON true
 WHERE l.ends_us IS NOT NULL AND l.ends_us <= $1 AND s.ended_us IS NULL AND s.expires_us > $1
 ORDER BY l.ends_us, l.type, l.id, l.session LIMIT $2
-- mysql:
SELECT l.type, l.id, l.session, l.ends_us FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
 WHERE l.ends_us IS NOT NULL AND l.ends_us <= $1 AND s.ended_us IS NULL AND s.expires_us > $1
 ORDER BY l.ends_us, l.type, l.id, l.session LIMIT $2
-- name: sweep_left
-- postgres:
SELECT l.type, l.id FROM (SELECT * FROM {ns}.session WHERE ended_us <= $1 ORDER BY ended_us LIMIT $2) s
  JOIN LATERAL (SELECT * FROM {ns}.lock WHERE session = s.id OFFSET 0) l ON true ORDER BY l.type, l.id LIMIT $2
-- mysql:
SELECT l.type, l.id
  FROM (SELECT id FROM {ns}_session FORCE INDEX (session_by_end) WHERE ended_us <= $1 ORDER BY ended_us LIMIT $2) s
 STRAIGHT_JOIN {ns}_lock l FORCE INDEX (lock_by_session) ON l.session = s.id ORDER BY l.type, l.id LIMIT $2
-- However many there are, MySQL looks at the oldest 10,000 only, since it sorts all it looks at.
-- name: sweep_old
-- postgres:
SELECT id FROM {ns}.session s
 WHERE ended_us <= $1 AND (SELECT true FROM {ns}.lock WHERE session = s.id LIMIT 1) IS NULL
 ORDER BY ended_us, id LIMIT $2
-- mysql:
SELECT id FROM {ns}_session s FORCE INDEX (session_by_end)
 WHERE ended_us <= $1
   AND ended_us <= IFNULL((SELECT ended_us FROM {ns}_session FORCE INDEX (session_by_end) WHERE ended_us <= $1
                            ORDER BY ended_us LIMIT 1 OFFSET 10000), $1)
   AND (SELECT 1 FROM {ns}_lock FORCE INDEX (lock_by_session) WHERE session = s.id LIMIT 1) IS NULL
 ORDER BY ended_us, id LIMIT $2
-- name: sessions_delete
-- postgres:
DELETE FROM {ns}.session WHERE id = ANY ($1)
-- mysql:
{soon}DELETE s FROM $1[id] u STRAIGHT_JOIN {ns}_session s FORCE INDEX (PRIMARY)
    ON s.id = u.id
-- name: sessions_lost_delete
-- postgres:
DELETE FROM {ns}.lost WHERE session = ANY ($1)
-- mysql:
{soon}DELETE l FROM $1[session] u STRAIGHT_JOIN {ns}_lost l FORCE INDEX (PRIMARY)
    ON l.session = u.session
-- name: sessions_requests_delete
-- postgres:
DELETE FROM {ns}.request WHERE session = ANY ($1)
-- mysql:
{soon}DELETE q FROM $1[session] u STRAIGHT_JOIN {ns}_request q FORCE INDEX (request_by_session)
    ON q.session = u.session
-- Saves that were covered, the oldest first.
-- name: sweep_past
-- postgres:
DELETE FROM {ns}.save s USING (SELECT ctid FROM {ns}.save WHERE covered_us <= $1
                                 ORDER BY covered_us, type, id, request LIMIT $2 FOR UPDATE SKIP LOCKED) x WHERE s.ctid = x.ctid
-- mysql:
{soon}DELETE FROM {ns}_save WHERE covered_us <= $1 ORDER BY covered_us, type, id, request LIMIT $2
-- What was saved stays, but for what was deleted before $5.
-- name: sweep_anchors
-- postgres:
SELECT type, id,
       (fence <= $1 AND coalesce(ended_us, 0) <= $1 AND (version = 0 OR (gone AND saved_us <= $5))
        AND (SELECT true FROM {ns}.lock l WHERE l.type = r.type AND l.id = r.id LIMIT 1) IS NULL
        AND (SELECT true FROM {ns}.request q WHERE q.type = r.type AND q.id = r.id LIMIT 1) IS NULL)::int
  FROM {ns}.resource r WHERE (type, id) > ($2, $3) ORDER BY type, id LIMIT $4
-- mysql:
SELECT type, id,
       fence <= $1 AND coalesce(ended_us, 0) <= $1 AND (version = 0 OR (gone AND saved_us <= $5))
       AND (SELECT 1 FROM {ns}_lock l FORCE INDEX (PRIMARY) WHERE l.type = r.type AND l.id = r.id LIMIT 1) IS NULL
       AND (SELECT 1 FROM {ns}_request q FORCE INDEX (PRIMARY) WHERE q.type = r.type AND q.id = r.id LIMIT 1) IS NULL
  FROM {ns}_resource r FORCE INDEX (PRIMARY)
 WHERE (type > $2 OR (type = $2 AND id > $3)) ORDER BY type, id LIMIT $4
-- Once they are locked: which of them are free still.
-- name: sweep_free
-- postgres:
SELECT r.type, r.id, r.fence FROM unnest($1, $2) u (type, id)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.resource WHERE type = u.type AND id = u.id OFFSET 0) r
 WHERE r.fence <= $3 AND coalesce(r.ended_us, 0) <= $3 AND (r.version = 0 OR (r.gone AND r.saved_us <= $4))
   AND (SELECT true FROM {ns}.lock l WHERE l.type = r.type AND l.id = r.id LIMIT 1) IS NULL
   AND (SELECT true FROM {ns}.request q WHERE q.type = r.type AND q.id = r.id LIMIT 1) IS NULL
-- mysql:
SELECT r.type, r.id, r.fence FROM {ns}_resource r FORCE INDEX (PRIMARY)
 WHERE $1(r.type, r.id) AND r.fence <= $3 AND coalesce(r.ended_us, 0) <= $3 AND (r.version = 0 OR (r.gone AND r.saved_us <= $4))
   AND (SELECT 1 FROM {ns}_lock l FORCE INDEX (PRIMARY) WHERE l.type = r.type AND l.id = r.id LIMIT 1) IS NULL
   AND (SELECT 1 FROM {ns}_request q FORCE INDEX (PRIMARY) WHERE q.type = r.type AND q.id = r.id LIMIT 1) IS NULL
-- name: anchors_delete
-- postgres:
DELETE FROM {ns}.resource r USING unnest($1, $2) u (type, id)
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.resource WHERE type = u.type AND id = u.id OFFSET 0) x WHERE r.ctid = x.ctid
-- mysql:
{soon}DELETE r FROM $1[type, id] u STRAIGHT_JOIN {ns}_resource r FORCE INDEX (PRIMARY)
    ON r.type = u.type AND r.id = u.id
-- name: floor_raise
-- postgres:
INSERT INTO {ns}.meta AS m (name, value) VALUES ('fence_floor', $1)
ON CONFLICT (name) DO UPDATE SET value = greatest(m.value::bigint, excluded.value::bigint)::text
-- mysql:
{soon}INSERT INTO {ns}_meta (name, value) VALUES ('fence_floor', $1)
ON DUPLICATE KEY UPDATE value = greatest(CAST(value AS SIGNED), CAST(VALUES(value) AS SIGNED))
-- name: meta_get
-- postgres:
SELECT value FROM {ns}.meta WHERE name = $1
-- mysql:
SELECT value FROM {ns}_meta WHERE name = $1
-- name: meta_set
-- postgres:
INSERT INTO {ns}.meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
-- mysql:
{soon}INSERT INTO {ns}_meta (name, value) VALUES ($1, $2) ON DUPLICATE KEY UPDATE value = VALUES(value)
-- name: meta_raise
-- postgres:
INSERT INTO {ns}.meta AS m (name, value) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET value = greatest(m.value::bigint, excluded.value::bigint)::text
-- mysql:
{soon}INSERT INTO {ns}_meta (name, value) VALUES ($1, $2)
ON DUPLICATE KEY UPDATE value = greatest(CAST(value AS SIGNED), CAST(VALUES(value) AS SIGNED))
-- name: sweep_events
-- postgres:
SELECT id, seq, at_us, kind FROM {ns}.event WHERE seq > $1 AND seq < $2 ORDER BY seq LIMIT $3
-- mysql:
SELECT id, seq, at_us, kind FROM {ns}_event FORCE INDEX (event_by_seq)
 WHERE seq > $1 AND seq < $2 ORDER BY seq LIMIT $3
-- name: events_delete
-- postgres:
DELETE FROM {ns}.event WHERE id = ANY ($1)
-- mysql:
{soon}DELETE e FROM $1[id] u STRAIGHT_JOIN {ns}_event e FORCE INDEX (PRIMARY)
    ON e.id = u.id
