CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp{spelling} AS $holdfast$
DECLARE
    was {table};
    came {table};
BEGIN
    IF TG_LEVEL = 'STATEMENT' THEN
        IF TG_OP = 'TRUNCATE' THEN
            PERFORM {ns}.guard_refuse({name}, 'truncate', '{state}',
                format('%s is guarded; TRUNCATE would delete what others work on.', {name}),
                'Delete the rows one by one, each with its number.');
        END IF;
        PERFORM {ns}.guard_log_statement({name}, lower(TG_OP));
        RETURN NULL;
    END IF;
{body}END
$holdfast$;
REVOKE ALL ON FUNCTION {function}() FROM PUBLIC;
