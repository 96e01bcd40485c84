-- INSERT ... RETURNING reads what it has inserted, before it is there. Not what was there: ON CONFLICT would open that.
        DECLARE
            noted CONSTANT text := coalesce(current_setting('holdfast.guard_new', true), '');
        BEGIN
            PERFORM pg_current_xact_id();
            PERFORM set_config('holdfast.guard_new',
                concat_ws(',', nullif(noted, ''), {ns}.guard_new({type} || '/' || {root_new})), true);
            IF EXISTS (SELECT FROM {table} g WHERE {is_new}) THEN
                PERFORM set_config('holdfast.guard_new', noted, true);
            END IF;
        END;
