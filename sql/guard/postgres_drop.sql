DROP TRIGGER IF EXISTS "0_holdfast_pass" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_insert" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_update" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_delete" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_log" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_truncate" ON {table};
DO $holdfast$ BEGIN
IF EXISTS (SELECT FROM pg_catalog.pg_policy WHERE polname = '0_holdfast_read' AND polrelid = {quoted_text}::regclass) THEN
    DROP POLICY "0_holdfast_read" ON {table};
    DROP POLICY IF EXISTS "0_holdfast_insert" ON {table};
    DROP POLICY IF EXISTS "0_holdfast_update" ON {table};
    DROP POLICY IF EXISTS "0_holdfast_delete" ON {table};
    ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY;
    ALTER TABLE {table} DISABLE ROW LEVEL SECURITY;
END IF;
END $holdfast$;
