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
SELECT {cols type R} FROM {ns}_type WHERE type = ?1
-- name: session_load
SELECT {cols session MRE} FROM {ns}_session WHERE id = ?1
-- name: session_by_request
SELECT id FROM {ns}_session WHERE request = ?1
-- name: resource_load
SELECT {cols resource MV} FROM {ns}_resource WHERE type = ?1 AND id = ?2
-- name: resources_any
SELECT EXISTS (SELECT 1 FROM {ns}_resource)
-- name: past_load
SELECT {cols save R} FROM {ns}_save WHERE type = ?1 AND id = ?2 AND request = ?3
-- name: locks_load
SELECT {cols lock KR} FROM {ns}_lock WHERE type = ?1 AND id = ?2
-- name: session_locks_load
SELECT {cols lock NR} FROM {ns}_lock WHERE session = ?1 ORDER BY type, id LIMIT ?2
-- Of a session that only beats: how many of its locks live, and those that are over or asked for.
-- name: session_locks_count
SELECT (SELECT count(*) FROM {ns}_lock INDEXED BY {ns}__lock_by_session WHERE session = ?1 AND ends_us IS NULL)
     + (SELECT count(*) FROM {ns}_lock INDEXED BY {ns}__lock_by_session WHERE session = ?1 AND ends_us > ?2)
-- name: session_locks_over
SELECT {cols lock NR} FROM {ns}_lock INDEXED BY {ns}__lock_by_session WHERE session = ?1 AND ends_us <= ?2
-- name: session_locks_asked
SELECT {cols lock NR} FROM {ns}_lock l INDEXED BY {ns}__lock_by_session
 WHERE session = ?1 AND EXISTS (SELECT 1 FROM {ns}_request r WHERE r.type = l.type AND r.id = l.id)
-- name: fence_floor
SELECT CAST(value AS INTEGER) FROM {ns}_meta WHERE name = 'fence_floor'
-- name: fence_floor_raise
INSERT INTO {ns}_meta (name, value) VALUES ('fence_floor', ?1)
ON CONFLICT (name) DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))
-- name: requests_any
SELECT EXISTS (SELECT 1 FROM {ns}_request)
-- name: requests_load
SELECT {cols request KR} FROM {ns}_request WHERE type = ?1 AND id = ?2
-- name: lost_any
SELECT EXISTS (SELECT 1 FROM {ns}_lost)
-- name: lost_one
SELECT {cols lost NR} FROM {ns}_lost WHERE session = ?1 AND type = ?2 AND id = ?3
-- name: lost_load
SELECT {cols lost NR} FROM {ns}_lost WHERE session = ?1


-- name: session_insert
INSERT INTO {ns}_session {values session KMRE}
-- name: session_update
UPDATE {ns}_session {update session KM}
-- name: session_ends_update
UPDATE {ns}_session {update session KE}
-- name: resource_insert
INSERT INTO {ns}_resource {values resource}
-- name: resource_update
UPDATE {ns}_resource {update resource NM}
-- name: resource_save
UPDATE {ns}_resource {update resource NMV}
-- name: past_save
INSERT OR REPLACE INTO {ns}_save {values save}
-- name: resource_delete
DELETE FROM {ns}_resource {where resource}
-- name: lock_insert
INSERT INTO {ns}_lock {values lock}
-- name: lock_update
UPDATE {ns}_lock {update lock}
-- name: lock_delete
DELETE FROM {ns}_lock {where lock}
-- name: request_save
INSERT INTO {ns}_request {values request} {conflict request}
-- name: request_delete
DELETE FROM {ns}_request {where request}
-- name: lost_save
INSERT INTO {ns}_lost {values lost} {conflict lost}
-- name: lost_delete
DELETE FROM {ns}_lost {where lost}
-- name: event_insert
INSERT INTO {ns}_event {values event}


-- What stands alone. ?1 is the time; ?2 to ?4 the cursor; ?5 how many; ?6 type, ?7 session, ?8 user (null: any).
-- name: list
SELECT {cols l.lock KNS}, {cols s.session S}
  FROM {ns}_lock l CROSS JOIN {ns}_session s ON s.id = l.session
 WHERE (l.type, l.id, l.session) > (?2, ?3, ?4)
   AND s.ended_us IS NULL AND s.expires_us > ?1 AND (l.ends_us IS NULL OR l.ends_us > ?1)
   AND (?6 IS NULL OR l.type = ?6) AND (?7 IS NULL OR l.session = ?7) AND (?8 IS NULL OR s.user = ?8)
 ORDER BY l.type, l.id, l.session LIMIT ?5
-- name: list_type
SELECT {cols l.lock KNS}, {cols s.session S}
  FROM {ns}_lock l CROSS JOIN {ns}_session s ON s.id = l.session
 WHERE l.type = ?6 AND (l.type, l.id, l.session) > (?2, ?3, ?4)
   AND s.ended_us IS NULL AND s.expires_us > ?1 AND (l.ends_us IS NULL OR l.ends_us > ?1)
   AND (?7 IS NULL OR l.session = ?7) AND (?8 IS NULL OR s.user = ?8)
 ORDER BY l.type, l.id, l.session LIMIT ?5
-- name: list_session
SELECT {cols l.lock KNS}, {cols s.session S}
  FROM {ns}_session s CROSS JOIN {ns}_lock l ON l.session = s.id
 WHERE s.id = ?7 AND (l.type, l.id, l.session) > (?2, ?3, ?4)
   AND s.ended_us IS NULL AND s.expires_us > ?1 AND (l.ends_us IS NULL OR l.ends_us > ?1)
   AND (?6 IS NULL OR l.type = ?6) AND (?8 IS NULL OR s.user = ?8)
 ORDER BY l.type, l.id, l.session LIMIT ?5
-- name: list_user
SELECT {cols l.lock KNS}, {cols s.session S}
  FROM {ns}_session s INDEXED BY {ns}__session_by_user CROSS JOIN {ns}_lock l ON l.session = s.id
 WHERE s.user = ?8 AND (l.type, l.id, l.session) > (?2, ?3, ?4)
   AND s.ended_us IS NULL AND s.expires_us > ?1 AND (l.ends_us IS NULL OR l.ends_us > ?1)
   AND (?6 IS NULL OR l.type = ?6)
 ORDER BY l.type, l.id, l.session LIMIT ?5
-- name: sessions
SELECT {cols session S} FROM {ns}_session
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
SELECT id, {cols event} FROM {ns}_event WHERE id > ?1 ORDER BY id LIMIT ?2
-- name: events_first
SELECT max(ifnull((SELECT min(id) FROM {ns}_event), 1),
           ifnull((SELECT CAST(value AS INTEGER) FROM {ns}_meta WHERE name = 'events_from'), 1))
-- name: types
SELECT {cols type} FROM {ns}_type ORDER BY type
-- name: type_save
INSERT INTO {ns}_type {values type} {conflict type}
-- name: type_live
SELECT EXISTS (SELECT 1 FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
                WHERE l.type = ?1 AND s.ended_us IS NULL AND s.expires_us > ?2
                  AND (l.ends_us IS NULL OR l.ends_us > ?2))

-- Tokens, always with the same columns.
-- name: token_same
SELECT {cols token} FROM {ns}_token WHERE id = ?1 OR sha256 = ?2 OR request = ?3
-- name: token_find
SELECT {cols token} FROM {ns}_token WHERE sha256 = ?1
-- name: token_own
SELECT {cols token} FROM {ns}_token WHERE id = ?1
-- name: token_admins
SELECT {cols token} FROM {ns}_token WHERE revoked_us IS NULL AND roles LIKE '%admin%'
-- name: tokens
SELECT {cols token} FROM {ns}_token WHERE id > ?1 ORDER BY id LIMIT ?2
-- name: token_insert
INSERT INTO {ns}_token {values token}
-- name: token_revoke
UPDATE {ns}_token {update token KM}


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
