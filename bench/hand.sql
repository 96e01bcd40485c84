-- What a good programmer would write by hand over the tables of a store on a database server, and what fills them. {ns} is the
-- schema, or the prefix of the tables. Scalar parameters; MySQL gets them as literals.
--
-- The same rows: two round trips. The first: begin, anchor, holders, own_session.

-- name: begin
-- postgres:
BEGIN
-- mysql:
START TRANSACTION

-- name: commit
COMMIT

-- name: anchor
-- postgres:
SELECT fence, rev, ended_session, ended_fence, ended_request, ended_us FROM {ns}.resource
WHERE type = $1 AND id = $2 FOR UPDATE
-- mysql:
SELECT fence, rev, ended_session, ended_fence, ended_request, ended_us FROM {ns}_resource
WHERE type = $1 AND id = $2 FOR UPDATE

-- name: holders
-- postgres:
SELECT l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.request, l.session, s."user", s.name, s.expires_us, s.ended_us
FROM {ns}.lock l JOIN {ns}.session s ON s.id = l.session WHERE l.type = $1 AND l.id = $2
-- mysql:
SELECT l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.request, l.session, s.user, s.name, s.expires_us, s.ended_us
FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session WHERE l.type = $1 AND l.id = $2

-- name: own_session
-- postgres:
SELECT key_sha256, "user", name, expires_us, ended_us FROM {ns}.session WHERE id = $1
-- mysql:
SELECT key_sha256, user, name, expires_us, ended_us FROM {ns}_session WHERE id = $1

-- The second, of an acquire: anchor_grant or anchor_make, lock_insert, event, commit. Of a release: anchor_end, lock_delete, event,
-- commit.

-- name: anchor_grant
-- postgres:
UPDATE {ns}.resource SET fence = $3, rev = $4 WHERE type = $1 AND id = $2
-- mysql:
UPDATE {ns}_resource SET fence = $3, rev = $4 WHERE type = $1 AND id = $2

-- name: anchor_make
-- postgres:
INSERT INTO {ns}.resource (type, id, fence, rev) VALUES ($1, $2, $3, $4)
-- mysql:
INSERT INTO {ns}_resource (type, id, fence, rev) VALUES ($1, $2, $3, $4)

-- name: lock_insert
-- postgres:
INSERT INTO {ns}.lock (type, id, session, mode, fence, since_us, purpose, request)
VALUES ($1, $2, $3, 'exclusive', $4, $5, $6, $7)
-- mysql:
INSERT INTO {ns}_lock (type, id, session, mode, fence, since_us, purpose, request)
VALUES ($1, $2, $3, 'exclusive', $4, $5, $6, $7)

-- name: anchor_end
-- postgres:
UPDATE {ns}.resource SET rev = $3, ended_session = $4, ended_fence = $5, ended_request = $6, ended_us = $7
WHERE type = $1 AND id = $2
-- mysql:
UPDATE {ns}_resource SET rev = $3, ended_session = $4, ended_fence = $5, ended_request = $6, ended_us = $7
WHERE type = $1 AND id = $2

-- name: lock_delete
-- postgres:
DELETE FROM {ns}.lock WHERE type = $1 AND id = $2 AND session = $3
-- mysql:
DELETE FROM {ns}_lock WHERE type = $1 AND id = $2 AND session = $3

-- name: event
-- postgres:
INSERT INTO {ns}.event (at_us, kind, type, resource_id, session, "user", fence, reason)
VALUES ($1, $2, $3, $4, $5, 'bench', $6, $7)
-- mysql:
INSERT INTO {ns}_event (at_us, kind, type, resource_id, session, user, fence, reason)
VALUES ($1, $2, $3, $4, $5, 'bench', $6, $7)

-- A save, two round trips as well. The first: begin, anchor_saved, holders, past (was it done before?); the second: anchor_save,
-- past_save (the save that it covers), event, commit.

-- name: anchor_saved
-- postgres:
SELECT fence, rev, version, saved_fence, saved_us, gone, saved_session, saved_user, saved_name, saved_request
FROM {ns}.resource WHERE type = $1 AND id = $2 FOR UPDATE
-- mysql:
SELECT fence, rev, version, saved_fence, saved_us, gone, saved_session, saved_user, saved_name, saved_request
FROM {ns}_resource WHERE type = $1 AND id = $2 FOR UPDATE

-- name: past
-- postgres:
SELECT version, fence, saved_us, gone FROM {ns}.save WHERE type = $1 AND id = $2 AND request = $3
-- mysql:
SELECT version, fence, saved_us, gone FROM {ns}_save WHERE type = $1 AND id = $2 AND request = $3

-- name: anchor_save
-- postgres:
UPDATE {ns}.resource SET fence = $3, rev = $4, version = $5, saved_fence = $3, saved_us = $3, saved_session = NULL,
saved_user = 'bench', saved_name = 'Bench Mark', saved_request = $6, gone = false WHERE type = $1 AND id = $2
-- mysql:
UPDATE {ns}_resource SET fence = $3, rev = $4, version = $5, saved_fence = $3, saved_us = $3, saved_session = NULL,
saved_user = 'bench', saved_name = 'Bench Mark', saved_request = $6, gone = 0 WHERE type = $1 AND id = $2

-- name: past_save
-- postgres:
INSERT INTO {ns}.save (type, id, request, version, fence, saved_us, gone, covered_us)
VALUES ($1, $2, $3, $4, $5, $6, false, $7)
-- mysql:
INSERT INTO {ns}_save (type, id, request, version, fence, saved_us, gone, covered_us)
VALUES ($1, $2, $3, $4, $5, $6, 0, $7)

-- One row, inserted and deleted, each committed by itself: the least that a lock in this database could be.

-- name: one_insert
-- postgres:
INSERT INTO {ns}.bench_one (type, id, session, since_us) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
-- mysql:
INSERT IGNORE INTO {ns}_bench_one (type, id, session, since_us) VALUES ($1, $2, $3, $4)

-- name: one_delete
-- postgres:
DELETE FROM {ns}.bench_one WHERE type = $1 AND id = $2
-- mysql:
DELETE FROM {ns}_bench_one WHERE type = $1 AND id = $2

-- name: one_table
-- postgres:
CREATE TABLE IF NOT EXISTS {ns}.bench_one (type text COLLATE "C", id text COLLATE "C", session text COLLATE "C", since_us bigint,
PRIMARY KEY (type, id)) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.05, vacuum_truncate = false)
-- mysql:
CREATE TABLE IF NOT EXISTS {ns}_bench_one (type VARBINARY(64), id VARBINARY(255), session VARBINARY(32), since_us BIGINT,
PRIMARY KEY (type, id)) ENGINE=InnoDB

-- name: one_drop
-- postgres:
DROP TABLE IF EXISTS {ns}.bench_one
-- mysql:
DROP TABLE IF EXISTS {ns}_bench_one

-- How often the server has synced its log, and what settles that number.

-- name: syncs
-- postgres:
SELECT wal_sync FROM pg_stat_wal
-- mysql:
SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'INNODB_DATA_FSYNCS'

-- Filling: $1 is how many are held, $2 where the working names begin, $3 how many those are. names.c makes the same ids. No more
-- statistics than the tables would have by chance.

-- name: fill_plainly
-- postgres:
ALTER TABLE {ns}.lock SET (autovacuum_analyze_threshold = 2000000000);
ALTER TABLE {ns}.resource SET (autovacuum_analyze_threshold = 2000000000);
ALTER TABLE {ns}.session SET (autovacuum_analyze_threshold = 2000000000);
ALTER TABLE {ns}.event SET (autovacuum_analyze_threshold = 2000000000)

-- name: fill_sessions
-- postgres:
INSERT INTO {ns}.session (id, key_sha256, "user", name, idle_us, opened_us, expires_us, rev)
SELECT md5(n::text), sha256(n::text::bytea), 'user ' || n % 500, 'User Number ' || n % 500, 3600000000, 1,
       4000000000000000, 1
  FROM generate_series(0, ($1::bigint - 1) / 250) n
-- mysql:
INSERT INTO {ns}_session (id, key_sha256, user, name, idle_us, opened_us, expires_us, rev)
SELECT MD5(seq), UNHEX(SHA2(seq, 256)), CONCAT('user ', seq % 500), CONCAT('User Number ', seq % 500), 3600000000, 1,
       4000000000000000, 1
  FROM seq_0_to_1000000 WHERE seq <= ($1 - 1) DIV 250

-- name: fill_anchors
-- postgres:
INSERT INTO {ns}.resource (type, id, fence, rev)
SELECT 'record', (1000000 + (n * 1540483477 & 2097151))::text, 1, 1
  FROM (SELECT generate_series(0, $1::bigint - 1) UNION ALL SELECT generate_series($2::bigint, $2::bigint + $3::bigint - 1)) a (n)
 ORDER BY md5(n::text)
-- mysql:
INSERT INTO {ns}_resource (type, id, fence, rev)
SELECT 'record', 1000000 + (seq * 1540483477 & 2097151), 1, 1
  FROM seq_0_to_2000000 WHERE seq < $1 OR seq >= $2 AND seq < $2 + $3 ORDER BY 2

-- name: fill_locks
-- postgres:
INSERT INTO {ns}.lock (type, id, session, mode, fence, since_us, purpose, request)
SELECT 'record', (1000000 + (n * 1540483477 & 2097151))::text, md5((n / 250)::text), 'exclusive', 1, 1, 'edit', to_hex(n * 7919)
  FROM generate_series(0, $1::bigint - 1) n ORDER BY md5(n::text)
-- mysql:
INSERT INTO {ns}_lock (type, id, session, mode, fence, since_us, purpose, request)
SELECT 'record', 1000000 + (seq * 1540483477 & 2097151), MD5(seq DIV 250), 'exclusive', 1, 1, 'edit', HEX(seq * 7919)
  FROM seq_0_to_1000000 WHERE seq < $1 ORDER BY 2

-- All that are there were saved once, just now.
-- name: fill_saves
-- postgres:
UPDATE {ns}.resource SET version = 1, saved_fence = 1, saved_user = 'bench', saved_name = 'Bench Mark',
saved_us = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, saved_request = left(md5(id), 16)
-- mysql:
UPDATE {ns}_resource SET version = 1, saved_fence = 1, saved_user = 'bench', saved_name = 'Bench Mark',
saved_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), saved_request = LEFT(MD5(id), 16)

-- name: settle_lock
-- postgres:
VACUUM {ns}.lock
-- name: settle_resource
-- postgres:
VACUUM {ns}.resource
-- name: settle_disk
-- postgres:
CHECKPOINT

-- name: analyze_lock
-- postgres:
ANALYZE {ns}.lock
-- mysql:
ANALYZE TABLE {ns}_lock
-- name: analyze_resource
-- postgres:
ANALYZE {ns}.resource
-- mysql:
ANALYZE TABLE {ns}_resource
-- name: analyze_session
-- postgres:
ANALYZE {ns}.session
-- mysql:
ANALYZE TABLE {ns}_session
