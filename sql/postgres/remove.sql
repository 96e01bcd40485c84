-- Removes what holdfast has made and nothing else; what others have built on it stands in the way. The schema goes when
-- installing made it (its comment says so) and it is empty.
DROP FUNCTION IF EXISTS {ns}."check"(text, text, text, bigint);
DROP VIEW IF EXISTS {ns}.locks;
DROP SEQUENCE IF EXISTS {ns}.lease_fence;
DROP TABLE IF EXISTS {ns}.token, {ns}.save, {ns}.event, {ns}.lost, {ns}.request, {ns}.lock, {ns}.resource, {ns}.session, {ns}.type, {ns}.meta;
DO $holdfast$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_namespace
                WHERE nspname = '{ns}' AND pg_catalog.obj_description(oid, 'pg_namespace') = 'holdfast') THEN
        DROP SCHEMA {ns};
    END IF;
EXCEPTION WHEN dependent_objects_still_exist OR insufficient_privilege THEN
    NULL;
END
$holdfast$;
