-- Removes what holdfast has made and nothing else; what others have built on it stands in the way. The schema goes when
-- installing made it (its comment says so) and it is empty.
DROP FUNCTION IF EXISTS {ns}."check"(text, text, text, bigint),
    {ns}.save(text, text, bigint, text, text, bigint),
    {ns}.remove(text, text, bigint, text, text, bigint), {ns}.expect(text, text, bigint),
    {ns}.write(text, text, bigint, text, text, bigint, boolean),
    {ns}.end_dead({ns}.resource, text, text, bigint),
    {ns}.refuse_stale({ns}.resource, bigint, bigint), {ns}.lock_anchor(text, text, boolean),
    {ns}.say_holders(text, text, text, bigint), {ns}.say_time(bigint, bigint);
DROP FUNCTION IF EXISTS {ns}.guard_is_mine(xid), {ns}.guard_lock(text, text, bigint), {ns}.guard_save(text, text, bigint),
    {ns}.guard_refuse(text, text, text, text, text), {ns}.guard_log_statement(text, text),
    {ns}.guard_read(text, text, text), {ns}.guard_new(text);
DROP VIEW IF EXISTS {ns}.locks, {ns}.versions;
DROP SEQUENCE IF EXISTS {ns}.lease_fence;
DROP TABLE IF EXISTS {ns}.guard, {ns}.guard_log, {ns}.token, {ns}.save, {ns}.event, {ns}.lost, {ns}.request, {ns}.lock, {ns}.resource, {ns}.session, {ns}.type, {ns}.meta;
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
