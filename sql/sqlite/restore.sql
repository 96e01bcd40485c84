-- Replaces holdfast's rows by those of the attached backup hf_from, inside the caller's transaction. Other tables in the
-- same file are left alone.
DELETE FROM main.{ns}_type;
INSERT INTO main.{ns}_type ({cols type}) SELECT {cols type} FROM hf_from.{ns}_type;
DELETE FROM main.{ns}_session;
INSERT INTO main.{ns}_session ({cols session KMRE}) SELECT {cols session KMRE} FROM hf_from.{ns}_session;
DELETE FROM main.{ns}_resource;
INSERT INTO main.{ns}_resource ({cols resource}) SELECT {cols resource} FROM hf_from.{ns}_resource;
DELETE FROM main.{ns}_save;
INSERT INTO main.{ns}_save ({cols save}) SELECT {cols save} FROM hf_from.{ns}_save;
DELETE FROM main.{ns}_lock;
INSERT INTO main.{ns}_lock ({cols lock}) SELECT {cols lock} FROM hf_from.{ns}_lock;
DELETE FROM main.{ns}_request;
INSERT INTO main.{ns}_request ({cols request}) SELECT {cols request} FROM hf_from.{ns}_request;
DELETE FROM main.{ns}_lost;
INSERT INTO main.{ns}_lost ({cols lost}) SELECT {cols lost} FROM hf_from.{ns}_lost;
DELETE FROM main.{ns}_event;
INSERT INTO main.{ns}_event (id, {cols event}) SELECT id, {cols event} FROM hf_from.{ns}_event;
-- A token that was revoked stays revoked, whatever the backup says.
DELETE FROM main.{ns}_token WHERE revoked_us IS NULL;
INSERT OR IGNORE INTO main.{ns}_token ({cols token}) SELECT {cols token} FROM hf_from.{ns}_token;
-- How far its events were removed: a reader is told of what is missing here or was missing there.
DELETE FROM main.{ns}_meta WHERE name = 'events_swept';
INSERT INTO main.{ns}_meta (name, value) SELECT name, value FROM hf_from.{ns}_meta WHERE name = 'events_swept';
INSERT INTO main.{ns}_meta (name, value) SELECT name, value FROM hf_from.{ns}_meta WHERE name = 'events_from'
ON CONFLICT (name) DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER));
