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
-- What is read by the same lines of C has the same columns in the same places, hence the NULLs. A session's are always: id, key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, rev, token, request.

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
-- making it, 2 someone else has it; the last but one: nobody is changing policies; the last: where PostgreSQL keeps it. MySQL answers only those it could lock; anchors_there
-- tells which there are.
-- name: anchors
-- postgres:
SELECT u.type, u.id,
       CASE WHEN r.rev IS NOT NULL THEN 0
            WHEN (SELECT true FROM {ns}.resource x WHERE x.type = u.type AND x.id = u.id) THEN 2
            WHEN pg_try_advisory_xact_lock(hashtextextended(
                     concat((SELECT value FROM {ns}.meta WHERE name = 'secret'), u.type, '/', u.id), hashtext('{ns}'))) THEN 1
            ELSE 2 END,
       r.fence, r.rev, r.ended_session, r.ended_fence, r.ended_request, r.ended_us,
       (SELECT CASE WHEN pg_try_advisory_xact_lock_shared(hashtextextended('types', hashtext('{ns}'))) THEN true
                    ELSE EXISTS (SELECT FROM {ns}.meta WHERE name = 'types' FOR KEY SHARE SKIP LOCKED) END), r.ctid::text,
       r.version, r.saved_fence, r.saved_us, r.saved_session, r.saved_user, r.saved_name, r.saved_request, r.gone::int::bigint
  FROM unnest($1, $2) u (type, id)
  LEFT JOIN LATERAL (SELECT *, ctid FROM {ns}.resource
                      WHERE type = u.type AND id = u.id FOR UPDATE SKIP LOCKED) r ON true
-- mysql:
SELECT type, id, 0, fence, rev, ended_session, ended_fence, ended_request, ended_us, 1, NULL,
       version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone
  FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id) FOR UPDATE {skip}
-- One that is there and nobody has, for who takes nothing; it does not tell why there is none.
-- name: anchor_held
-- postgres:
SELECT u.type, u.id, 0, r.fence, r.rev, r.ended_session, r.ended_fence, r.ended_request, r.ended_us, 1, r.ctid::text,
       r.version, r.saved_fence, r.saved_us, r.saved_session, r.saved_user, r.saved_name, r.saved_request, r.gone::int::bigint
  FROM unnest($1, $2) u (type, id) JOIN {ns}.resource r ON r.type = u.type AND r.id = u.id FOR UPDATE OF r SKIP LOCKED
-- mysql:
SELECT type, id, 0, fence, rev, ended_session, ended_fence, ended_request, ended_us, 1, NULL,
       version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone
  FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id) FOR UPDATE {skip}
-- name: anchors_there
-- mysql:
{calm}SELECT type, id, NULL, rev, fence FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id)
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
SELECT r.type, r.id,
       r.version, r.saved_fence, r.saved_us, r.saved_session, r.saved_user, r.saved_name, r.saved_request, r.gone::int::bigint
  FROM unnest($1, $2) u (type, id) CROSS JOIN LATERAL (SELECT * FROM {ns}.resource WHERE type = u.type AND id = u.id OFFSET 0) r
-- mysql:
{calm}SELECT type, id, version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone
  FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id)
-- name: past
-- postgres:
SELECT s.type, s.id, s.request, s.version, s.fence, s.saved_us, s.gone::int::bigint FROM unnest($1, $2, $3) u (type, id, request)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.save WHERE type = u.type AND id = u.id AND request = u.request OFFSET 0) s
-- mysql:
{calm}SELECT type, id, request, version, fence, saved_us, gone FROM {ns}_save FORCE INDEX (PRIMARY) WHERE $1(type, id, request)

-- Nobody else opens a session with that request id.
-- name: opens_try
-- postgres:
SELECT u.request, pg_try_advisory_xact_lock(hashtextextended(
           concat((SELECT value FROM {ns}.meta WHERE name = 'secret'), 'open ', u.request), hashtext('{ns}')))
  FROM unnest($1) u (request)
-- name: opens
-- postgres:
SELECT id, key_sha256, "user", name, idle_us, opened_us, expires_us, ended_us, rev, token, request
  FROM {ns}.session WHERE request = ANY ($1)
-- mysql:
{calm}SELECT id, key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, rev, token, request
  FROM {ns}_session WHERE $1(request)

-- What nearly every batch needs, in one statement: the locks of the resources $1, $2, the sessions $3, the types $4, and last the time
-- with the highest fence that is no more. The first column tells which. Requests for the resources, and what was lost ($5 session,
-- $6 type, $7 id), are seldom there: PostgreSQL says so with the time, and is asked again
-- if they are; on MySQL they come along, with which anchors there are. On PostgreSQL sessions come first, each once, and locks tell where they are kept.
-- name: rows
-- postgres:
WITH l AS MATERIALIZED (
  SELECT x.* FROM unnest($1, $2) u (type, id)
   CROSS JOIN LATERAL (SELECT *, ctid FROM {ns}.lock WHERE type = u.type AND id = u.id OFFSET 0) x)
SELECT 3, {none}, {none}, {none}, NULL::bigint, NULL::bigint, NULL::bigint, {none}, {none}, s.id,
       s.key_sha256, s."user", s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM (SELECT session FROM l UNION SELECT unnest($3)) d (id)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = d.id OFFSET 0) s
UNION ALL
SELECT 8, l.type, l.id, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.request, l.session,
       NULL, {none}, {none}, NULL, NULL, NULL, NULL, NULL, l.ctid::text, {none}
  FROM l
UNION ALL
SELECT 4, t.type, {none}, t.policy, t.ttl_us, t.ttl_max_us, NULL, {none}, {none}, {none},
       NULL, {none}, {none}, NULL, NULL, NULL, NULL, NULL, {none}, {none}
  FROM {ns}.type t WHERE t.type = ANY ($4)
UNION ALL
SELECT 6, {none}, {none}, {none}, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       (SELECT value::bigint FROM {ns}.meta WHERE name = 'fence_floor'),
       CASE WHEN EXISTS (SELECT FROM {ns}.request)
            THEN EXISTS (SELECT FROM unnest($1, $2) u (type, id)
                          CROSS JOIN LATERAL (SELECT FROM {ns}.request WHERE type = u.type AND id = u.id OFFSET 0) q)::int::bigint
            ELSE 0 END,
       {none}, {none}, {none}, NULL, {none}, {none},
       CASE WHEN EXISTS (SELECT FROM (SELECT DISTINCT session FROM unnest($5, $6, $7) u (session, type, id)) d
                          CROSS JOIN LATERAL (SELECT FROM {ns}.lost WHERE session = d.session OFFSET 0) x)
            THEN EXISTS (SELECT FROM unnest($5, $6, $7) u (session, type, id)
                          CROSS JOIN LATERAL (SELECT FROM {ns}.lost
                                               WHERE session = u.session AND type = u.type AND id = u.id OFFSET 0) l)::int::bigint
            ELSE 0 END,
       NULL, NULL, NULL, NULL, {none}, {none}
-- mysql:
{calm}SELECT 1, l.type, l.id, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.request, l.session,
       s.key_sha256, s.user, s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM {ns}_lock l FORCE INDEX (PRIMARY) LEFT JOIN {ns}_session s ON s.id = l.session WHERE $1(l.type, l.id)
UNION ALL
SELECT 2, q.type, q.id, q.message, q.at_us, NULL, NULL, NULL, NULL, q.session,
       s.key_sha256, s.user, s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM {ns}_request q FORCE INDEX (PRIMARY) LEFT JOIN {ns}_session s ON s.id = q.session WHERE $1(q.type, q.id)
UNION ALL
SELECT 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, id,
       key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, rev, token, request
  FROM {ns}_session FORCE INDEX (PRIMARY) WHERE $3(id)
UNION ALL
SELECT 4, type, NULL, policy, ttl_us, ttl_max_us, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM {ns}_type WHERE $4(type)
UNION ALL
SELECT 5, type, id, why, fence, at_us, NULL, by_name, reason, session,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM {ns}_lost FORCE INDEX (PRIMARY) WHERE $5(+session, type, id)
UNION ALL
SELECT 7, type, id, NULL, rev, fence, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id)
UNION ALL
SELECT 6, NULL, NULL, NULL, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)),
       (SELECT CAST(value AS SIGNED) FROM {ns}_meta WHERE name = 'fence_floor'), NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL

-- The same without requests, types and that fence, for who takes nothing.
-- name: rows_held
-- postgres:
WITH l AS MATERIALIZED (
  SELECT x.* FROM unnest($1, $2) u (type, id)
   CROSS JOIN LATERAL (SELECT *, ctid FROM {ns}.lock WHERE type = u.type AND id = u.id OFFSET 0) x)
SELECT 3, {none}, {none}, {none}, NULL::bigint, NULL::bigint, NULL::bigint, {none}, {none}, s.id,
       s.key_sha256, s."user", s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM (SELECT session FROM l UNION SELECT unnest($3)) d (id)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = d.id OFFSET 0) s
UNION ALL
SELECT 8, l.type, l.id, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.request, l.session,
       NULL, {none}, {none}, NULL, NULL, NULL, NULL, NULL, l.ctid::text, {none}
  FROM l
UNION ALL
SELECT 6, {none}, {none}, {none}, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       NULL,
       NULL,
       {none}, {none}, {none}, NULL, {none}, {none},
       CASE WHEN EXISTS (SELECT FROM (SELECT DISTINCT session FROM unnest($5, $6, $7) u (session, type, id)) d
                          CROSS JOIN LATERAL (SELECT FROM {ns}.lost WHERE session = d.session OFFSET 0) x)
            THEN EXISTS (SELECT FROM unnest($5, $6, $7) u (session, type, id)
                          CROSS JOIN LATERAL (SELECT FROM {ns}.lost
                                               WHERE session = u.session AND type = u.type AND id = u.id OFFSET 0) l)::int::bigint
            ELSE 0 END,
       NULL, NULL, NULL, NULL, {none}, {none}
-- mysql:
{calm}SELECT 1, l.type, l.id, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.request, l.session,
       s.key_sha256, s.user, s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM {ns}_lock l FORCE INDEX (PRIMARY) LEFT JOIN {ns}_session s ON s.id = l.session WHERE $1(l.type, l.id)
UNION ALL
SELECT 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, id,
       key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, rev, token, request
  FROM {ns}_session FORCE INDEX (PRIMARY) WHERE $3(id)
UNION ALL
SELECT 5, type, id, why, fence, at_us, NULL, by_name, reason, session,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM {ns}_lost FORCE INDEX (PRIMARY) WHERE $5(+session, type, id)
UNION ALL
SELECT 7, type, id, NULL, rev, fence, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM {ns}_resource FORCE INDEX (PRIMARY) WHERE $1(type, id)
UNION ALL
SELECT 6, NULL, NULL, NULL, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)),
       NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL

-- The same for one resource, one session, one type and one loss at most, on a connection of the store's own, which joins by index
-- without being told to: both begin small statements sooner than one with many parts. MySQL has locks for locks_one; a look-up that
-- is a statement is no cheaper there than one that is part of a union, so who takes something takes all of rows.
-- name: locks_one
-- postgres:
SELECT l.type, l.id, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.request, l.session,
       s.key_sha256, s."user", s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM unnest($1, $2) u (type, id) JOIN {ns}.lock l ON l.type = u.type AND l.id = u.id
  LEFT JOIN {ns}.session s ON s.id = l.session
-- name: rest_one
-- postgres:
SELECT s.id, s.key_sha256, s."user", s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       EXISTS (SELECT FROM {ns}.lost WHERE session = u.loser AND type = u.lost_type AND id = u.lost_id),
       (SELECT value::bigint FROM {ns}.meta WHERE name = 'fence_floor'),
       EXISTS (SELECT FROM {ns}.request WHERE type = u.type AND id = u.id), t.type, t.policy, t.ttl_us, t.ttl_max_us
  FROM unnest($1, $2, $3, $4, $5, $6, $7) u (type, id, session, of_type, loser, lost_type, lost_id)
  LEFT JOIN {ns}.session s ON s.id = u.session LEFT JOIN {ns}.type t ON t.type = u.of_type
-- The same for who saves: no requests and no losses, but whether this save was done before.
-- name: rest_save
-- postgres:
SELECT s.id, s.key_sha256, s."user", s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       EXISTS (SELECT FROM {ns}.save WHERE type = u.type AND id = u.id AND request = u.past),
       (SELECT value::bigint FROM {ns}.meta WHERE name = 'fence_floor'),
       NULL, t.type, t.policy, t.ttl_us, t.ttl_max_us
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
SELECT id, key_sha256, "user", name, idle_us, opened_us, expires_us, ended_us, rev, token, request
  FROM {ns}.session WHERE id = ANY ($1) ORDER BY id FOR UPDATE SKIP LOCKED
-- mysql:
SELECT id, key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, rev, token, request
  FROM {ns}_session FORCE INDEX (PRIMARY) WHERE $1(id) FOR UPDATE {skip}
-- In an application's transaction, where MySQL else shows a session as the snapshot has it: as it is now. Others may look too.
-- name: sessions_now
-- mysql:
SELECT id, key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, rev, token, request
  FROM {ns}_session FORCE INDEX (PRIMARY) WHERE $1(id) {share}
-- name: sessions_load
-- postgres:
SELECT id, key_sha256, "user", name, idle_us, opened_us, expires_us, ended_us, rev, token, request
  FROM {ns}.session WHERE id = ANY ($1)
-- mysql:
{calm}SELECT id, key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, rev, token, request
  FROM {ns}_session FORCE INDEX (PRIMARY) WHERE $1(id)
-- name: locks
-- postgres:
SELECT l.type, l.id, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.request, l.session,
       s.key_sha256, s."user", s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM unnest($1, $2) u (type, id)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.lock WHERE type = u.type AND id = u.id OFFSET 0) l
  LEFT JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = l.session OFFSET 0) s ON true
-- mysql:
{calm}SELECT l.type, l.id, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.request, l.session,
       s.key_sha256, s.user, s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM {ns}_lock l FORCE INDEX (PRIMARY) LEFT JOIN {ns}_session s ON s.id = l.session WHERE $1(l.type, l.id)
-- name: requests
-- postgres:
SELECT q.type, q.id, q.message, q.at_us, NULL, NULL, NULL, NULL, q.session,
       s.key_sha256, s."user", s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM unnest($1, $2) u (type, id)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.request WHERE type = u.type AND id = u.id OFFSET 0) q
  LEFT JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = q.session OFFSET 0) s ON true
-- mysql:
{calm}SELECT q.type, q.id, q.message, q.at_us, NULL, NULL, NULL, NULL, q.session,
       s.key_sha256, s.user, s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM {ns}_request q FORCE INDEX (PRIMARY) LEFT JOIN {ns}_session s ON s.id = q.session WHERE $1(q.type, q.id)
-- Of sessions: what they hold, who asks for it, what they lost.
-- name: session_locks
-- postgres:
SELECT type, id, mode, fence, since_us, ends_us, purpose, request, session
  FROM (SELECT * FROM {ns}.lock WHERE session = ANY ($1) OFFSET 0) l ORDER BY type, id LIMIT $2
-- mysql:
{calm}SELECT type, id, mode, fence, since_us, ends_us, purpose, request, session
  FROM {ns}_lock FORCE INDEX (lock_by_session) WHERE $1(session) ORDER BY type, id LIMIT $2
-- In an application's transaction MySQL shows what there is only to who locks it; PostgreSQL shows its snapshot and nothing else.
-- name: session_locks_now
-- mysql:
{now}SELECT type, id, mode, fence, since_us, ends_us, purpose, request, session
  FROM {ns}_lock FORCE INDEX (lock_by_session) WHERE $1(session) ORDER BY type, id LIMIT $2 LOCK IN SHARE MODE
-- Of sessions that only beat: the locks that may be over or asked for, and how many there are in all, in a row without a name.
-- name: beat_locks
-- postgres:
SELECT l.type, l.id, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.request, l.session
  FROM (SELECT * FROM {ns}.lock WHERE session = ANY ($1) OFFSET 0) l
 WHERE l.ends_us IS NOT NULL
    OR (EXISTS (SELECT FROM {ns}.request) AND EXISTS (SELECT FROM {ns}.request WHERE type = l.type AND id = l.id OFFSET 0))
UNION ALL
SELECT {none}, {none}, {none}, count(*), NULL, NULL, {none}, {none}, session
  FROM (SELECT session FROM {ns}.lock WHERE session = ANY ($1) OFFSET 0) n GROUP BY session
-- mysql:
{calm}SELECT l.type, l.id, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.request, l.session
  FROM {ns}_lock l FORCE INDEX (lock_by_session)
 WHERE $1(l.session) AND (l.ends_us IS NOT NULL
    OR (EXISTS (SELECT 1 FROM {ns}_request) AND EXISTS (SELECT 1 FROM {ns}_request q WHERE q.type = l.type AND q.id = l.id)))
UNION ALL
SELECT NULL, NULL, NULL, COUNT(*), NULL, NULL, NULL, NULL, session
  FROM {ns}_lock FORCE INDEX (lock_by_session) WHERE $1(session) GROUP BY session
-- name: snapshot
-- postgres:
SELECT 1 WHERE current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
-- name: session_requests
-- postgres:
SELECT DISTINCT q.type, q.id, q.message, q.at_us, NULL, NULL, NULL, NULL, q.session,
       s.key_sha256, s."user", s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM (SELECT * FROM {ns}.lock WHERE session = ANY ($1) OFFSET 0) l
 CROSS JOIN LATERAL (SELECT * FROM {ns}.request WHERE type = l.type AND id = l.id OFFSET 0) q
  LEFT JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = q.session OFFSET 0) s ON true WHERE l.fence IS NOT NULL
-- mysql:
{calm}SELECT DISTINCT q.type, q.id, q.message, q.at_us, NULL, NULL, NULL, NULL, q.session,
       s.key_sha256, s.user, s.name, s.idle_us, s.opened_us, s.expires_us, s.ended_us, s.rev, s.token, s.request
  FROM {ns}_lock l FORCE INDEX (lock_by_session)
 STRAIGHT_JOIN {ns}_request q FORCE INDEX (PRIMARY) ON q.type = l.type AND q.id = l.id
  LEFT JOIN {ns}_session s ON s.id = q.session WHERE $1(l.session)
-- name: lost_of
-- postgres:
SELECT type, id, why, fence, at_us, NULL, by_name, reason, session FROM {ns}.lost WHERE session = ANY ($1)
-- mysql:
{calm}SELECT type, id, why, fence, at_us, NULL, by_name, reason, session FROM {ns}_lost FORCE INDEX (PRIMARY) WHERE $1(session)
-- name: lost_one
-- postgres:
SELECT l.type, l.id, l.why, l.fence, l.at_us, NULL, l.by_name, l.reason, l.session
  FROM unnest($1, $2, $3) u (session, type, id)
 CROSS JOIN LATERAL (SELECT * FROM {ns}.lost WHERE session = u.session AND type = u.type AND id = u.id OFFSET 0) l
-- mysql:
{calm}SELECT type, id, why, fence, at_us, NULL, by_name, reason, session
  FROM {ns}_lost FORCE INDEX (PRIMARY) WHERE $1(+session, type, id)
-- name: types
-- postgres:
SELECT type, NULL, policy, ttl_us, ttl_max_us FROM {ns}.type WHERE type = ANY ($1)
-- mysql:
SELECT type, NULL, policy, ttl_us, ttl_max_us FROM {ns}_type WHERE $1(type)
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
INSERT INTO {ns}.resource (type, id, fence, rev) SELECT * FROM unnest($1, $2, $3, $4) ON CONFLICT DO NOTHING
-- mysql:
{now}INSERT INTO {ns}_resource (type, id, fence, rev) VALUES $1* ON DUPLICATE KEY UPDATE rev = rev + 1
-- name: probe_sessions
-- postgres:
INSERT INTO {ns}.session (id, key_sha256, "user", name, idle_us, opened_us, expires_us, rev)
SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING
-- mysql:
{now}INSERT INTO {ns}_session (id, key_sha256, user, name, idle_us, opened_us, expires_us, rev) VALUES $1*
ON DUPLICATE KEY UPDATE rev = rev + 1
-- name: probe_types
-- postgres:
INSERT INTO {ns}.type (type, policy) SELECT * FROM unnest($1, $2) ON CONFLICT DO NOTHING
-- name: probe_sessions_seen
-- postgres:
SELECT 1 FROM {ns}.session WHERE id = ANY ($1) FOR SHARE SKIP LOCKED
-- name: probe_types_seen
-- postgres:
SELECT 1 FROM {ns}.type WHERE type = ANY ($1) FOR SHARE SKIP LOCKED
-- name: types_now
-- mysql:
{now}SELECT type, NULL, policy, ttl_us, ttl_max_us FROM {ns}_type WHERE $1(type) LOCK IN SHARE MODE

-- Saving.
-- name: sessions_insert
-- postgres:
INSERT INTO {ns}.session (id, key_sha256, "user", name, idle_us, opened_us, expires_us, ended_us, rev, token, request)
SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
-- mysql:
{now}INSERT INTO {ns}_session (id, key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, rev, token, request)
VALUES $1*
-- name: sessions_update
-- postgres:
UPDATE {ns}.session s SET expires_us = u.expires_us, ended_us = u.ended_us, rev = u.rev
  FROM unnest($1, $7, $8, $9) u (id, expires_us, ended_us, rev)
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.session WHERE id = u.id OFFSET 0) x WHERE s.ctid = x.ctid
-- mysql:
{soon}INSERT INTO {ns}_session (id, key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, rev, token, request)
VALUES $1*
ON DUPLICATE KEY UPDATE expires_us = VALUES(expires_us), ended_us = VALUES(ended_us), rev = VALUES(rev)
-- name: anchors_insert
-- postgres:
INSERT INTO {ns}.resource (type, id, fence, rev, ended_session, ended_fence, ended_request, ended_us)
SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
-- mysql:
{now}INSERT INTO {ns}_resource (type, id, fence, rev, ended_session, ended_fence, ended_request, ended_us) VALUES $1*
-- name: anchors_update
-- postgres:
UPDATE {ns}.resource r
   SET fence = u.fence, rev = u.rev, ended_session = u.ended_session, ended_fence = u.ended_fence,
       ended_request = u.ended_request, ended_us = u.ended_us
  FROM unnest($3, $4, $5, $6, $7, $8, $9)
       u (fence, rev, ended_session, ended_fence, ended_request, ended_us, place)
 WHERE r.ctid = u.place::tid
-- mysql:
{soon}INSERT INTO {ns}_resource (type, id, fence, rev, ended_session, ended_fence, ended_request, ended_us) VALUES $1*
ON DUPLICATE KEY UPDATE fence = VALUES(fence), rev = VALUES(rev), ended_session = VALUES(ended_session),
   ended_fence = VALUES(ended_fence), ended_request = VALUES(ended_request), ended_us = VALUES(ended_us)
-- The same with the version, by a save. The last column of the second: where PostgreSQL keeps it.
-- name: saved_insert
-- postgres:
INSERT INTO {ns}.resource (type, id, fence, rev, ended_session, ended_fence, ended_request, ended_us,
       version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone)
SELECT u.a, u.b, u.c, u.d, u.e, u.f, u.g, u.h, u.i, u.j, u.k, u.l, u.m, u.n, u.o, u.p <> 0
  FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) u (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
-- mysql:
{now}INSERT INTO {ns}_resource (type, id, fence, rev, ended_session, ended_fence, ended_request, ended_us,
       version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone) VALUES $1*
-- name: saved_update
-- postgres:
UPDATE {ns}.resource r
   SET fence = u.fence, rev = u.rev, ended_session = u.ended_session, ended_fence = u.ended_fence,
       ended_request = u.ended_request, ended_us = u.ended_us, version = u.version, saved_fence = u.saved_fence,
       saved_us = u.saved_us, saved_session = u.saved_session, saved_user = u.saved_user, saved_name = u.saved_name,
       saved_request = u.saved_request, gone = u.gone <> 0
  FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
       u (fence, rev, ended_session, ended_fence, ended_request, ended_us,
          version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone, place)
 WHERE r.ctid = u.place::tid
-- mysql:
{soon}INSERT INTO {ns}_resource (type, id, fence, rev, ended_session, ended_fence, ended_request, ended_us,
       version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone) VALUES $1*
ON DUPLICATE KEY UPDATE fence = VALUES(fence), rev = VALUES(rev), ended_session = VALUES(ended_session),
   ended_fence = VALUES(ended_fence), ended_request = VALUES(ended_request), ended_us = VALUES(ended_us),
   version = VALUES(version), saved_fence = VALUES(saved_fence), saved_us = VALUES(saved_us),
   saved_session = VALUES(saved_session), saved_user = VALUES(saved_user), saved_name = VALUES(saved_name),
   saved_request = VALUES(saved_request), gone = VALUES(gone)
-- name: past_save
-- postgres:
INSERT INTO {ns}.save (type, id, request, version, fence, saved_us, gone, covered_us)
SELECT u.a, u.b, u.c, u.d, u.e, u.f, u.g <> 0, u.h FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) u (a, b, c, d, e, f, g, h)
ON CONFLICT (type, id, request) DO UPDATE
   SET version = excluded.version, fence = excluded.fence, saved_us = excluded.saved_us, gone = excluded.gone,
       covered_us = excluded.covered_us
-- mysql:
{now}REPLACE INTO {ns}_save (type, id, request, version, fence, saved_us, gone, covered_us) VALUES $1*
-- name: locks_insert
-- postgres:
INSERT INTO {ns}.lock (type, id, session, mode, fence, since_us, ends_us, purpose, request)
SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
-- mysql:
{now}INSERT INTO {ns}_lock (type, id, session, mode, fence, since_us, ends_us, purpose, request) VALUES $1*
-- name: locks_update
-- postgres:
UPDATE {ns}.lock l
   SET mode = u.mode, fence = u.fence, since_us = u.since_us, ends_us = u.ends_us, purpose = u.purpose,
       request = u.request
  FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
       u (type, id, session, mode, fence, since_us, ends_us, purpose, request)
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.lock
                      WHERE type = u.type AND id = u.id AND session || '' = u.session OFFSET 0) x
 WHERE l.ctid = x.ctid
-- mysql:
{soon}INSERT INTO {ns}_lock (type, id, session, mode, fence, since_us, ends_us, purpose, request) VALUES $1*
ON DUPLICATE KEY UPDATE mode = VALUES(mode), fence = VALUES(fence), since_us = VALUES(since_us),
   ends_us = VALUES(ends_us), purpose = VALUES(purpose), request = VALUES(request)
-- Those of which it is known where PostgreSQL keeps them: nobody moves a lock while its anchor is ours.
-- name: locks_drop
-- postgres:
DELETE FROM {ns}.lock l USING unnest($1, $2, $3, $4) u (type, id, session, place)
 WHERE l.ctid = u.place::tid
-- name: locks_delete
-- postgres:
DELETE FROM {ns}.lock l USING unnest($1, $2, $3) u (type, id, session)
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.lock
                      WHERE type = u.type AND id = u.id AND session || '' = u.session OFFSET 0) x
 WHERE l.ctid = x.ctid
-- mysql:
{now}DELETE l FROM $1[type, id, session] u STRAIGHT_JOIN {ns}_lock l FORCE INDEX (PRIMARY)
    ON l.type = u.type AND l.id = u.id AND l.session = u.session
-- One resource was taken, or given back, which is what most batches do: all that is written, in one statement. $1 the anchor, $10 the
-- lock, and then the event.
-- name: take_one
-- postgres:
WITH anchor AS (
    UPDATE {ns}.resource r
       SET fence = u.fence, rev = u.rev, ended_session = u.ended_session, ended_fence = u.ended_fence,
           ended_request = u.ended_request, ended_us = u.ended_us
      FROM unnest($3, $4, $5, $6, $7, $8, $9) u (fence, rev, ended_session, ended_fence, ended_request, ended_us, place)
     WHERE r.ctid = u.place::tid),
lock AS (
    INSERT INTO {ns}.lock (type, id, session, mode, fence, since_us, ends_us, purpose, request)
    SELECT * FROM unnest($10, $11, $12, $13, $14, $15, $16, $17, $18))
INSERT INTO {ns}.event (at_us, kind, type, resource_id, session, "user", actor, fence, reason)
SELECT * FROM unnest($19, $20, $21, $22, $23, $24, $25, $26, $27)
-- name: give_one
-- postgres:
WITH anchor AS (
    UPDATE {ns}.resource r
       SET fence = u.fence, rev = u.rev, ended_session = u.ended_session, ended_fence = u.ended_fence,
           ended_request = u.ended_request, ended_us = u.ended_us
      FROM unnest($3, $4, $5, $6, $7, $8, $9) u (fence, rev, ended_session, ended_fence, ended_request, ended_us, place)
     WHERE r.ctid = u.place::tid),
lock AS (
    DELETE FROM {ns}.lock l USING unnest($10, $11, $12) u (type, id, session)
     WHERE l.type = u.type AND l.id = u.id AND l.session || '' = u.session)
INSERT INTO {ns}.event (at_us, kind, type, resource_id, session, "user", actor, fence, reason)
SELECT * FROM unnest($13, $14, $15, $16, $17, $18, $19, $20, $21)
-- The same of a save. $1 the anchor, $18 the save that it covers, if there is one, and then the event.
-- name: save_one
-- postgres:
WITH anchor AS (
    UPDATE {ns}.resource r
       SET fence = u.fence, rev = u.rev, ended_session = u.ended_session, ended_fence = u.ended_fence,
           ended_request = u.ended_request, ended_us = u.ended_us, version = u.version, saved_fence = u.saved_fence,
           saved_us = u.saved_us, saved_session = u.saved_session, saved_user = u.saved_user, saved_name = u.saved_name,
           saved_request = u.saved_request, gone = u.gone <> 0
      FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
           u (fence, rev, ended_session, ended_fence, ended_request, ended_us,
              version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone, place)
     WHERE r.ctid = u.place::tid),
past AS (
    INSERT INTO {ns}.save (type, id, request, version, fence, saved_us, gone, covered_us)
    SELECT u.a, u.b, u.c, u.d, u.e, u.f, u.g <> 0, u.h
      FROM unnest($18, $19, $20, $21, $22, $23, $24, $25) u (a, b, c, d, e, f, g, h)
     WHERE u.c IS NOT NULL
    ON CONFLICT (type, id, request) DO UPDATE
       SET version = excluded.version, fence = excluded.fence, saved_us = excluded.saved_us, gone = excluded.gone,
           covered_us = excluded.covered_us)
INSERT INTO {ns}.event (at_us, kind, type, resource_id, session, "user", actor, fence, reason)
SELECT * FROM unnest($26, $27, $28, $29, $30, $31, $32, $33, $34)
-- The same for one row: MySQL is much faster so.
-- name: anchors_update_one
-- mysql:
{soon}UPDATE {ns}_resource SET fence = $3, rev = $4, ended_session = $5, ended_fence = $6, ended_request = $7, ended_us = $8
 WHERE type = $1 AND id = $2
-- name: locks_delete_one
-- mysql:
{now}DELETE FROM {ns}_lock WHERE type = $1 AND id = $2 AND session = $3
-- name: requests_save
-- postgres:
INSERT INTO {ns}.request (type, id, session, message, at_us) SELECT * FROM unnest($1, $2, $3, $4, $5)
ON CONFLICT (type, id, session) DO UPDATE SET message = excluded.message, at_us = excluded.at_us
-- mysql:
{now}INSERT INTO {ns}_request (type, id, session, message, at_us) VALUES $1*
ON DUPLICATE KEY UPDATE message = VALUES(message), at_us = VALUES(at_us)
-- name: requests_delete
-- postgres:
DELETE FROM {ns}.request q USING unnest($1, $2, $3) u (type, id, session)
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.request
                      WHERE type = u.type AND id = u.id AND session || '' = u.session OFFSET 0) x
 WHERE q.ctid = x.ctid
-- mysql:
{soon}DELETE q FROM $1[type, id, session] u STRAIGHT_JOIN {ns}_request q FORCE INDEX (PRIMARY)
    ON q.type = u.type AND q.id = u.id AND q.session = u.session
-- name: lost_save
-- postgres:
INSERT INTO {ns}.lost (session, type, id, fence, at_us, why, by_name, reason)
SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (session, type, id) DO UPDATE
   SET fence = excluded.fence, at_us = excluded.at_us, why = excluded.why, by_name = excluded.by_name,
       reason = excluded.reason
-- mysql:
{now}INSERT INTO {ns}_lost (session, type, id, fence, at_us, why, by_name, reason) VALUES $1*
ON DUPLICATE KEY UPDATE fence = VALUES(fence), at_us = VALUES(at_us), why = VALUES(why), by_name = VALUES(by_name),
   reason = VALUES(reason)
-- name: lost_delete
-- postgres:
DELETE FROM {ns}.lost l USING unnest($1, $2, $3) u (session, type, id)
 CROSS JOIN LATERAL (SELECT ctid FROM {ns}.lost WHERE session = u.session AND type = u.type AND id = u.id OFFSET 0) x
 WHERE l.ctid = x.ctid
-- mysql:
{soon}DELETE l FROM $1[session, type, id] u STRAIGHT_JOIN {ns}_lost l FORCE INDEX (PRIMARY)
    ON l.session = u.session AND l.type = u.type AND l.id = u.id
-- name: events_insert
-- postgres:
INSERT INTO {ns}.event (at_us, kind, type, resource_id, session, "user", actor, fence, reason)
SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
-- mysql:
{soon}INSERT INTO {ns}_event (at_us, kind, type, resource_id, session, user, actor, fence, reason) VALUES $1*

-- What stands alone. $1 is the time; $2 to $4 the cursor; $5 how many; $6 type, $7 session, $8 user (null: any).
-- name: list
-- postgres:
SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s."user", s.name, s.expires_us
  FROM {ns}.lock l JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = l.session OFFSET 0) s ON true
 WHERE (l.type, l.id, l.session) > ($2, $3, $4)
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6) AND ($7 IS NULL OR l.session = $7) AND ($8 IS NULL OR s."user" = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- mysql:
{calm}SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s.user, s.name, s.expires_us
  FROM {ns}_lock l FORCE INDEX (PRIMARY) STRAIGHT_JOIN {ns}_session s ON s.id = l.session
 WHERE (l.type > $2 OR (l.type = $2 AND l.id > $3) OR (l.type = $2 AND l.id = $3 AND l.session > $4))
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6) AND ($7 IS NULL OR l.session = $7) AND ($8 IS NULL OR s.user = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- name: list_type
-- postgres:
SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s."user", s.name, s.expires_us
  FROM {ns}.lock l JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = l.session OFFSET 0) s ON true
 WHERE l.type = $6 AND (l.type, l.id, l.session) > ($2, $3, $4)
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($7 IS NULL OR l.session = $7) AND ($8 IS NULL OR s."user" = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- mysql:
{calm}SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s.user, s.name, s.expires_us
  FROM {ns}_lock l FORCE INDEX (PRIMARY) STRAIGHT_JOIN {ns}_session s ON s.id = l.session
 WHERE l.type = $6 AND (l.type > $2 OR (l.type = $2 AND l.id > $3) OR (l.type = $2 AND l.id = $3 AND l.session > $4))
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($7 IS NULL OR l.session = $7) AND ($8 IS NULL OR s.user = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- name: list_session
-- postgres:
SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s."user", s.name, s.expires_us
  FROM (SELECT * FROM {ns}.lock WHERE session = $7 OFFSET 0) l JOIN LATERAL (SELECT * FROM {ns}.session WHERE id = l.session OFFSET 0) s ON true
 WHERE (l.type, l.id, l.session) > ($2, $3, $4)
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6) AND ($8 IS NULL OR s."user" = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- mysql:
{calm}SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s.user, s.name, s.expires_us
  FROM {ns}_session s STRAIGHT_JOIN {ns}_lock l ON l.session = s.id
 WHERE s.id = $7 AND (l.type > $2 OR (l.type = $2 AND l.id > $3) OR (l.type = $2 AND l.id = $3 AND l.session > $4))
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6) AND ($8 IS NULL OR s.user = $8)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- name: list_user
-- postgres:
SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s."user", s.name, s.expires_us
  FROM (SELECT * FROM {ns}.session WHERE "user" = $8 OFFSET 0) s
  JOIN LATERAL (SELECT * FROM {ns}.lock WHERE session = s.id OFFSET 0) l ON true
 WHERE (l.type, l.id, l.session) > ($2, $3, $4)
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- mysql:
{calm}SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s.user, s.name, s.expires_us
  FROM {ns}_session s STRAIGHT_JOIN {ns}_lock l ON l.session = s.id
 WHERE s.user = $8 AND (l.type > $2 OR (l.type = $2 AND l.id > $3) OR (l.type = $2 AND l.id = $3 AND l.session > $4))
   AND s.ended_us IS NULL AND s.expires_us > $1 AND (l.ends_us IS NULL OR l.ends_us > $1)
   AND ($6 IS NULL OR l.type = $6)
 ORDER BY l.type, l.id, l.session LIMIT $5
-- name: sessions
-- postgres:
SELECT id, "user", name, idle_us, opened_us, expires_us, token FROM {ns}.session
 WHERE id > $2 AND ended_us IS NULL AND expires_us > $1 AND ($4 IS NULL OR "user" = $4) ORDER BY id LIMIT $3
-- mysql:
{calm}SELECT id, user, name, idle_us, opened_us, expires_us, token FROM {ns}_session FORCE INDEX (PRIMARY, session_by_user)
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
SELECT type, policy, ttl_us, ttl_max_us FROM {ns}.type ORDER BY type
-- mysql:
{calm}SELECT type, policy, ttl_us, ttl_max_us FROM {ns}_type ORDER BY type
-- name: type_save
-- postgres:
INSERT INTO {ns}.type (type, policy, ttl_us, ttl_max_us) VALUES ($1, $2, $3, $4)
ON CONFLICT (type) DO UPDATE
   SET policy = excluded.policy, ttl_us = excluded.ttl_us, ttl_max_us = excluded.ttl_max_us
-- mysql:
{soon}INSERT INTO {ns}_type (type, policy, ttl_us, ttl_max_us) VALUES ($1, $2, $3, $4)
ON DUPLICATE KEY UPDATE policy = VALUES(policy), ttl_us = VALUES(ttl_us), ttl_max_us = VALUES(ttl_max_us)
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
SELECT seq, at_us, kind, type, resource_id, session, "user", actor, fence, reason
  FROM {ns}.event WHERE seq > $1 ORDER BY seq LIMIT $2
-- mysql:
{calm}SELECT seq, at_us, kind, type, resource_id, session, user, actor, fence, reason
  FROM {ns}_event WHERE seq > $1 ORDER BY seq LIMIT $2
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
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request
  FROM {ns}.token WHERE id = $1 OR sha256 = $2 OR request = $3
-- mysql:
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request
  FROM {ns}_token WHERE id = $1 OR sha256 = $2 OR request = $3
-- name: token_find
-- postgres:
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request FROM {ns}.token WHERE sha256 = $1
-- mysql:
{calm}SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request FROM {ns}_token WHERE sha256 = $1
-- name: token_look
-- postgres:
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request FROM {ns}.token WHERE id = $1
-- mysql:
{calm}SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request FROM {ns}_token WHERE id = $1
-- name: token_own
-- postgres:
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request
  FROM {ns}.token WHERE id = $1 FOR UPDATE NOWAIT
-- mysql:
{now}SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request
  FROM {ns}_token WHERE id = $1 FOR UPDATE
-- name: token_admins
-- postgres:
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request
  FROM {ns}.token WHERE revoked_us IS NULL AND roles LIKE '%admin%' ORDER BY id FOR UPDATE NOWAIT
-- mysql:
{now}SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request
  FROM {ns}_token WHERE revoked_us IS NULL AND roles LIKE '%admin%' ORDER BY id FOR UPDATE
-- name: tokens
-- postgres:
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request
  FROM {ns}.token WHERE id > $1 ORDER BY id LIMIT $2
-- mysql:
{calm}SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request
  FROM {ns}_token WHERE id > $1 ORDER BY id LIMIT $2
-- name: token_insert
-- postgres:
INSERT INTO {ns}.token (id, sha256, name, roles, users, created_us, expires_us, request)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
-- mysql:
{soon}INSERT INTO {ns}_token (id, sha256, name, roles, users, created_us, expires_us, request)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
-- name: token_revoke
-- postgres:
UPDATE {ns}.token SET revoked_us = $2 WHERE id = $1
-- mysql:
{soon}UPDATE {ns}_token SET revoked_us = $2 WHERE id = $1

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
