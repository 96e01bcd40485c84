-- Replaces holdfast's rows by those of the attached backup hf_from, inside the caller's transaction. Other tables in the
-- same file are left alone.
DELETE FROM main.{ns}_type;
INSERT INTO main.{ns}_type (type, policy, ttl_us, ttl_max_us)
SELECT type, policy, ttl_us, ttl_max_us FROM hf_from.{ns}_type;
DELETE FROM main.{ns}_session;
INSERT INTO main.{ns}_session (id, key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, token, request, rev,
       ends)
SELECT id, key_sha256, user, name, idle_us, opened_us, expires_us, ended_us, token, request, rev, ends
  FROM hf_from.{ns}_session;
DELETE FROM main.{ns}_resource;
INSERT INTO main.{ns}_resource (type, id, fence, rev, ended_session, ended_fence, ended_request, ended_us,
       version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone)
SELECT type, id, fence, rev, ended_session, ended_fence, ended_request, ended_us,
       version, saved_fence, saved_us, saved_session, saved_user, saved_name, saved_request, gone
  FROM hf_from.{ns}_resource;
DELETE FROM main.{ns}_save;
INSERT INTO main.{ns}_save (type, id, request, version, fence, saved_us, gone, covered_us)
SELECT type, id, request, version, fence, saved_us, gone, covered_us FROM hf_from.{ns}_save;
DELETE FROM main.{ns}_lock;
INSERT INTO main.{ns}_lock (type, id, session, mode, fence, since_us, ends_us, purpose, request)
SELECT type, id, session, mode, fence, since_us, ends_us, purpose, request FROM hf_from.{ns}_lock;
DELETE FROM main.{ns}_request;
INSERT INTO main.{ns}_request (type, id, session, message, at_us)
SELECT type, id, session, message, at_us FROM hf_from.{ns}_request;
DELETE FROM main.{ns}_lost;
INSERT INTO main.{ns}_lost (session, type, id, fence, at_us, why, by_name, reason)
SELECT session, type, id, fence, at_us, why, by_name, reason FROM hf_from.{ns}_lost;
DELETE FROM main.{ns}_event;
INSERT INTO main.{ns}_event (id, at_us, kind, type, resource_id, session, user, actor, fence, reason)
SELECT id, at_us, kind, type, resource_id, session, user, actor, fence, reason FROM hf_from.{ns}_event;
-- A token that was revoked stays revoked, whatever the backup says.
DELETE FROM main.{ns}_token WHERE revoked_us IS NULL;
INSERT OR IGNORE INTO main.{ns}_token (id, sha256, name, roles, users, created_us, expires_us, revoked_us, request)
SELECT id, sha256, name, roles, users, created_us, expires_us, revoked_us, request FROM hf_from.{ns}_token;
-- How far its events were removed: a reader is told of what is missing here or was missing there.
DELETE FROM main.{ns}_meta WHERE name = 'events_swept';
INSERT INTO main.{ns}_meta (name, value) SELECT name, value FROM hf_from.{ns}_meta WHERE name = 'events_swept';
INSERT INTO main.{ns}_meta (name, value) SELECT name, value FROM hf_from.{ns}_meta WHERE name = 'events_from'
ON CONFLICT (name) DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER));
