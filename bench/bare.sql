-- What the bare loops do: the rows that an acquire, a release, a save, a beat and the reads touch, and nothing else. No
-- rules, no session check, no look before the write. The tables are the store's own.

-- name: begin
BEGIN IMMEDIATE

-- name: begin_read
BEGIN

-- name: commit
COMMIT

-- Acquire: the lock, the event.

-- name: lock_insert
INSERT INTO holdfast_lock (type, id, session, mode, fence, since_us, purpose, request)
VALUES (?1, ?2, ?3, 'exclusive', ?4, ?4, ?5, ?6)

-- name: event_insert
INSERT INTO holdfast_event (at_us, kind, type, resource_id, session, user, fence, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- Release: the lock, the event.

-- name: lock_delete
DELETE FROM holdfast_lock WHERE type = ?1 AND id = ?2 AND session = ?3

-- Save: the save that it covers, the anchor if it is as it was read, the event.

-- name: save_cover
INSERT OR REPLACE INTO holdfast_save (type, id, request, version, fence, saved_us, gone, covered_us)
SELECT type, id, saved_request, version, saved_fence, saved_us, gone, ?3 FROM holdfast_resource WHERE type = ?1 AND id = ?2

-- name: anchor_save
UPDATE holdfast_resource
SET fence = ?3, rev = rev + 1, version = version + 1, saved_fence = ?3, saved_us = ?3, saved_session = NULL,
    saved_user = ?5, saved_name = ?6, saved_request = ?7, gone = 0
WHERE type = ?1 AND id = ?2 AND version = ?4

-- A single row, inserted and deleted: the least that a lock could be.

-- name: one_insert
INSERT INTO bench_one (id, session) VALUES (?1, ?2)

-- name: one_delete
DELETE FROM bench_one WHERE id = ?1

-- Beat: one row.

-- name: beat
UPDATE holdfast_session SET expires_us = ?2, rev = rev + 1 WHERE id = ?1

-- Reads: the columns that the answer is made of.

-- name: who
SELECT l.mode, l.fence, l.since_us, l.ends_us, l.purpose, l.session, s.user, s.name, s.expires_us, s.ended_us
FROM holdfast_lock l JOIN holdfast_session s ON s.id = l.session WHERE l.type = ?1 AND l.id = ?2

-- name: who_waits
SELECT r.message, r.at_us, r.session, s.user, s.name
FROM holdfast_request r JOIN holdfast_session s ON s.id = r.session WHERE r.type = ?1 AND r.id = ?2

-- name: holds
SELECT l.mode, l.fence, l.since_us, l.ends_us, l.purpose, s.user, s.name, s.expires_us, s.ended_us
FROM holdfast_lock l JOIN holdfast_session s ON s.id = l.session WHERE l.type = ?1 AND l.id = ?2 AND l.session = ?3
