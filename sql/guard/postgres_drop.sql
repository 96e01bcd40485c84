DROP TRIGGER IF EXISTS "0_holdfast_pass" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_insert" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_update" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_delete" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_log" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_truncate" ON {table};
