-- Replaces holdfast's rows by those of the attached backup hf_from, inside the caller's transaction. Other tables in the
-- same file are left alone.
DELETE FROM main.{ns}_type;
INSERT INTO main.{ns}_type SELECT * FROM hf_from.{ns}_type;
DELETE FROM main.{ns}_session;
INSERT INTO main.{ns}_session SELECT * FROM hf_from.{ns}_session;
DELETE FROM main.{ns}_resource;
INSERT INTO main.{ns}_resource SELECT * FROM hf_from.{ns}_resource;
DELETE FROM main.{ns}_lock;
INSERT INTO main.{ns}_lock SELECT * FROM hf_from.{ns}_lock;
DELETE FROM main.{ns}_request;
INSERT INTO main.{ns}_request SELECT * FROM hf_from.{ns}_request;
DELETE FROM main.{ns}_lost;
INSERT INTO main.{ns}_lost SELECT * FROM hf_from.{ns}_lost;
DELETE FROM main.{ns}_event;
INSERT INTO main.{ns}_event (id, at_us, kind, type, resource_id, session, user, actor, fence, reason)
SELECT id, at_us, kind, type, resource_id, session, user, actor, fence, reason FROM hf_from.{ns}_event;
