-- The statements of the SQLite store. {ns} is the namespace.

-- name: begin
BEGIN IMMEDIATE
-- name: begin_read
BEGIN
-- name: commit
COMMIT
-- name: rollback
ROLLBACK
-- name: savepoint
SAVEPOINT holdfast_batch
-- name: savepoint_release
RELEASE holdfast_batch
-- name: savepoint_rollback
ROLLBACK TO holdfast_batch

-- name: pages
PRAGMA page_count
-- name: page_size
PRAGMA page_size
-- How often the log was cut off because the disk was full; there must be something to write.
-- name: log_cut
INSERT INTO {ns}_meta (name, value) VALUES ('log_cut', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1

-- name: type_load
SELECT policy, ttl_us, ttl_max_us FROM {ns}_type WHERE type = ?1
-- name: session_load
SELECT key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, rev, token, request
  FROM {ns}_session WHERE id = ?1
-- name: session_ends_load
SELECT key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, rev, token, request, ends
  FROM {ns}_session WHERE id = ?1
-- name: session_by_request
SELECT id FROM {ns}_session WHERE request = ?1
-- name: resource_load
SELECT fence, rev, ended_session, ended_fence, ended_request, ended_us,
       version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone
  FROM {ns}_resource WHERE type = ?1 AND id = ?2
-- name: resources_any
SELECT EXISTS (SELECT 1 FROM {ns}_resource)
-- name: past_load
SELECT version, fence, saved_us, gone FROM {ns}_save WHERE type = ?1 AND id = ?2 AND request = ?3
-- name: locks_load
SELECT session, mode, fence, since_us, ends_us, purpose, request FROM {ns}_lock WHERE type = ?1 AND id = ?2
-- name: session_locks_load
SELECT type, id, mode, fence, since_us, ends_us, purpose, request
  FROM {ns}_lock WHERE session = ?1 ORDER BY type, id LIMIT ?2
-- Of a session that only beats: how many of its locks live, and those that are over or asked for.
-- name: session_locks_count
SELECT (SELECT count(*) FROM {ns}_lock INDEXED BY {ns}__lock_by_session WHERE session = ?1 AND ends_us IS NULL)
     + (SELECT count(*) FROM {ns}_lock INDEXED BY {ns}__lock_by_session WHERE session = ?1 AND ends_us > ?2)
-- name: session_locks_over
SELECT type, id, mode, fence, since_us, ends_us, purpose, request
  FROM {ns}_lock INDEXED BY {ns}__lock_by_session WHERE session = ?1 AND ends_us <= ?2
-- name: session_locks_asked
SELECT type, id, mode, fence, since_us, ends_us, purpose, request
  FROM {ns}_lock l INDEXED BY {ns}__lock_by_session
 WHERE session = ?1 AND EXISTS (SELECT 1 FROM {ns}_request r WHERE r.type = l.type AND r.id = l.id)
-- name: fence_floor
SELECT CAST(value AS INTEGER) FROM {ns}_meta WHERE name = 'fence_floor'
-- name: fence_floor_raise
INSERT INTO {ns}_meta (name, value) VALUES ('fence_floor', ?1)
ON CONFLICT (name) DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))
-- name: requests_any
SELECT EXISTS (SELECT 1 FROM {ns}_request)
-- name: requests_load
SELECT session, message, at_us FROM {ns}_request WHERE type = ?1 AND id = ?2
-- name: lost_any
SELECT EXISTS (SELECT 1 FROM {ns}_lost)
-- name: lost_one
SELECT type, id, fence, at_us, why, by_name, reason FROM {ns}_lost WHERE session = ?1 AND type = ?2 AND id = ?3
-- name: lost_load
SELECT type, id, fence, at_us, why, by_name, reason FROM {ns}_lost WHERE session = ?1

-- name: session_insert
INSERT INTO {ns}_session (id, key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, token, request, rev, ends)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
-- name: session_update
UPDATE {ns}_session SET expires_us = ?2, ended_us = ?3, rev = ?4 WHERE id = ?1
-- name: session_ends_update
UPDATE {ns}_session SET rev = ?2, ends = ?3 WHERE id = ?1
-- name: resource_insert
INSERT INTO {ns}_resource (type, id, fence, rev, ended_session, ended_fence, ended_request, ended_us,
       version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
-- name: resource_update
UPDATE {ns}_resource SET fence = ?3, rev = ?4, ended_session = ?5, ended_fence = ?6, ended_request = ?7, ended_us = ?8
 WHERE type = ?1 AND id = ?2
-- name: resource_save
UPDATE {ns}_resource SET fence = ?3, rev = ?4, ended_session = ?5, ended_fence = ?6, ended_request = ?7, ended_us = ?8,
       version = ?9, saved_fence = ?10, saved_us = ?11, saved_session = ?12, saved_user = ?13, saved_name = ?14,
       saved_request = ?15, gone = ?16
 WHERE type = ?1 AND id = ?2
-- name: past_save
INSERT OR REPLACE INTO {ns}_save (type, id, request, version, fence, saved_us, gone, covered_us)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
-- name: lock_insert
INSERT INTO {ns}_lock (type, id, session, mode, fence, since_us, ends_us, purpose, request)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
-- name: lock_update
UPDATE {ns}_lock SET mode = ?4, fence = ?5, since_us = ?6, ends_us = ?7, purpose = ?8, request = ?9
 WHERE type = ?1 AND id = ?2 AND session = ?3
-- name: lock_delete
DELETE FROM {ns}_lock WHERE type = ?1 AND id = ?2 AND session = ?3
-- name: request_save
INSERT INTO {ns}_request (type, id, session, message, at_us) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (type, id, session) DO UPDATE SET message = excluded.message, at_us = excluded.at_us
-- name: request_delete
DELETE FROM {ns}_request WHERE type = ?1 AND id = ?2 AND session = ?3
-- name: lost_save
INSERT INTO {ns}_lost (session, type, id, fence, at_us, why, by_name, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (session, type, id) DO UPDATE
   SET fence = excluded.fence, at_us = excluded.at_us, why = excluded.why, by_name = excluded.by_name,
       reason = excluded.reason
-- name: lost_delete
DELETE FROM {ns}_lost WHERE session = ?1 AND type = ?2 AND id = ?3
-- name: event_insert
INSERT INTO {ns}_event (at_us, kind, type, resource_id, session, user, actor, fence, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- What stands alone. ?1 is the time; ?2 to ?4 the cursor; ?5 how many; ?6 type, ?7 session, ?8 user (null: any).
-- name: list
SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s.user, s.name, s.expires_us
  FROM {ns}_lock l CROSS JOIN {ns}_session s ON s.id = l.session
 WHERE (l.type, l.id, l.session) > (?2, ?3, ?4)
   AND s.ended_us IS NULL AND s.expires_us > ?1 AND (l.ends_us IS NULL OR l.ends_us > ?1)
   AND (?6 IS NULL OR l.type = ?6) AND (?7 IS NULL OR l.session = ?7) AND (?8 IS NULL OR s.user = ?8)
 ORDER BY l.type, l.id, l.session LIMIT ?5
-- name: list_type
SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s.user, s.name, s.expires_us
  FROM {ns}_lock l CROSS JOIN {ns}_session s ON s.id = l.session
 WHERE l.type = ?6 AND (l.type, l.id, l.session) > (?2, ?3, ?4)
   AND s.ended_us IS NULL AND s.expires_us > ?1 AND (l.ends_us IS NULL OR l.ends_us > ?1)
   AND (?7 IS NULL OR l.session = ?7) AND (?8 IS NULL OR s.user = ?8)
 ORDER BY l.type, l.id, l.session LIMIT ?5
-- name: list_session
SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s.user, s.name, s.expires_us
  FROM {ns}_session s CROSS JOIN {ns}_lock l ON l.session = s.id
 WHERE s.id = ?7 AND (l.type, l.id, l.session) > (?2, ?3, ?4)
   AND s.ended_us IS NULL AND s.expires_us > ?1 AND (l.ends_us IS NULL OR l.ends_us > ?1)
   AND (?6 IS NULL OR l.type = ?6) AND (?8 IS NULL OR s.user = ?8)
 ORDER BY l.type, l.id, l.session LIMIT ?5
-- name: list_user
SELECT l.type, l.id, l.session, l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s.user, s.name, s.expires_us
  FROM {ns}_session s INDEXED BY {ns}__session_by_user CROSS JOIN {ns}_lock l ON l.session = s.id
 WHERE s.user = ?8 AND (l.type, l.id, l.session) > (?2, ?3, ?4)
   AND s.ended_us IS NULL AND s.expires_us > ?1 AND (l.ends_us IS NULL OR l.ends_us > ?1)
   AND (?6 IS NULL OR l.type = ?6)
 ORDER BY l.type, l.id, l.session LIMIT ?5
-- name: sessions
SELECT id, user, name, idle_us, opened_us, expires_us, token FROM {ns}_session
 WHERE id > ?2 AND ended_us IS NULL AND expires_us > ?1 AND (?4 IS NULL OR user = ?4) ORDER BY id LIMIT ?3
-- How many sessions live (no type) and how many locks of each type.
-- name: live
SELECT NULL AS type, count(*) FROM {ns}_session WHERE ended_us IS NULL AND expires_us > ?1
UNION ALL
SELECT l.type, count(*) FROM {ns}_lock l CROSS JOIN {ns}_session s ON s.id = l.session
 WHERE s.ended_us IS NULL AND s.expires_us > ?1 AND (l.ends_us IS NULL OR l.ends_us > ?1)
 GROUP BY l.type ORDER BY type
-- One session, if it lives, and its locks; the sessions that a token opened, and no locks.
-- name: live_session
SELECT 1, (SELECT count(*) FROM {ns}_lock l INDEXED BY {ns}__lock_by_session
            WHERE l.session = s.id AND (l.ends_us IS NULL OR l.ends_us > ?1))
  FROM {ns}_session s WHERE s.id = ?2 AND s.ended_us IS NULL AND s.expires_us > ?1
-- name: live_token
SELECT count(*), 0 FROM {ns}_session WHERE token = ?2 AND ended_us IS NULL AND expires_us > ?1
-- name: events
SELECT id, at_us, kind, type, resource_id, session, user, actor, fence, reason
  FROM {ns}_event WHERE id > ?1 ORDER BY id LIMIT ?2
-- name: events_first
SELECT max(ifnull((SELECT min(id) FROM {ns}_event), 1),
           ifnull((SELECT CAST(value AS INTEGER) FROM {ns}_meta WHERE name = 'events_from'), 1))
-- name: types
SELECT type, policy, ttl_us, ttl_max_us FROM {ns}_type ORDER BY type
-- name: type_save
INSERT INTO {ns}_type (type, policy, ttl_us, ttl_max_us) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (type) DO UPDATE
   SET policy = excluded.policy, ttl_us = excluded.ttl_us, ttl_max_us = excluded.ttl_max_us
-- name: type_live
SELECT EXISTS (SELECT 1 FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
                WHERE l.type = ?1 AND s.ended_us IS NULL AND s.expires_us > ?2
                  AND (l.ends_us IS NULL OR l.ends_us > ?2))

-- Tokens, always with the same columns.
-- name: token_same
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request
  FROM {ns}_token WHERE id = ?1 OR sha256 = ?2 OR request = ?3
-- name: token_find
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request FROM {ns}_token WHERE sha256 = ?1
-- name: token_own
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request FROM {ns}_token WHERE id = ?1
-- name: token_admins
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request
  FROM {ns}_token WHERE revoked_us IS NULL AND roles LIKE '%admin%'
-- name: tokens
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request
  FROM {ns}_token WHERE id > ?1 ORDER BY id LIMIT ?2
-- name: token_insert
INSERT INTO {ns}_token (id, sha256, name, roles, users, created_us, expires_us, request)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
-- name: token_revoke
UPDATE {ns}_token SET revoked_us = ?2 WHERE id = ?1

-- Sweeping.
-- name: sweep_dead
SELECT id FROM {ns}_session WHERE ended_us IS NULL AND expires_us <= ?1 ORDER BY expires_us, id LIMIT 1
-- name: sweep_spent
SELECT l.type, l.id, l.session, l.fence, l.ends_us FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
 WHERE l.ends_us IS NOT NULL AND l.ends_us <= ?1 AND s.ended_us IS NULL AND s.expires_us > ?1
 ORDER BY l.ends_us, l.type, l.id, l.session LIMIT ?2
-- name: sweep_old
SELECT id FROM {ns}_session s WHERE ended_us <= ?1 AND NOT EXISTS (SELECT 1 FROM {ns}_lock WHERE session = s.id)
 ORDER BY ended_us, id LIMIT 1
-- name: session_delete
DELETE FROM {ns}_session WHERE id = ?1
-- name: session_lost_delete
DELETE FROM {ns}_lost WHERE session = ?1
-- name: session_requests_delete
DELETE FROM {ns}_request WHERE session = ?1
-- name: sweep_past
DELETE FROM {ns}_save WHERE (type, id, request) IN
       (SELECT type, id, request FROM {ns}_save WHERE covered_us <= ?1 ORDER BY covered_us, type, id, request LIMIT ?2)
-- What was saved stays, but for what was deleted before ?5.
-- name: sweep_anchors
SELECT type, id, fence,
       fence <= ?1 AND ifnull(ended_us, 0) <= ?1 AND (version = 0 OR (gone AND saved_us <= ?5))
       AND NOT EXISTS (SELECT 1 FROM {ns}_lock l WHERE l.type = r.type AND l.id = r.id)
       AND NOT EXISTS (SELECT 1 FROM {ns}_request q WHERE q.type = r.type AND q.id = r.id)
  FROM {ns}_resource r WHERE (type, id) > (?2, ?3) ORDER BY type, id LIMIT ?4
-- name: resource_delete
DELETE FROM {ns}_resource WHERE type = ?1 AND id = ?2
-- name: meta_get
SELECT value FROM {ns}_meta WHERE name = ?1
-- name: meta_set
INSERT INTO {ns}_meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: meta_raise
INSERT INTO {ns}_meta (name, value) VALUES (?1, ?2)
ON CONFLICT (name) DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))
-- name: sweep_events
SELECT id, id, at_us, kind FROM {ns}_event WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3
-- name: event_delete
DELETE FROM {ns}_event WHERE id = ?1

-- After a restore event numbers go on from where they were (?1), so that no reader skips what comes next.
-- name: events_last
SELECT ifnull(max(id), 0) FROM {ns}_event
-- name: fence_floor_from
SELECT CAST(value AS INTEGER) FROM hf_from.{ns}_meta WHERE name = 'fence_floor'
-- name: fence_last
SELECT max(ifnull((SELECT max(fence) FROM {ns}_resource), 0), ifnull((SELECT max(fence) FROM {ns}_lock), 0))
-- name: event_restored
INSERT INTO {ns}_event (id, at_us, kind)
VALUES (max(?1, (SELECT ifnull(max(id), 0) FROM {ns}_event)) + 1, ?2, 'restored')
