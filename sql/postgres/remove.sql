-- Removes what holdfast has made and nothing else; what others have built on it stands in the way. The schema goes when it is empty.
DROP FUNCTION IF EXISTS {ns}."check"(text, text, text, bigint);
DROP VIEW IF EXISTS {ns}.locks;
DROP TABLE IF EXISTS {ns}.token, {ns}.event, {ns}.lost, {ns}.request, {ns}.lock, {ns}.resource, {ns}.session, {ns}.type, {ns}.meta;
DO $holdfast$
BEGIN
    DROP SCHEMA IF EXISTS {ns};
EXCEPTION WHEN dependent_objects_still_exist OR insufficient_privilege THEN
    NULL;
END
$holdfast$;
