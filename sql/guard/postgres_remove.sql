DROP TRIGGER IF EXISTS "0_holdfast_row" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_log" ON {table};
DROP TRIGGER IF EXISTS "0_holdfast_truncate" ON {table};
DROP FUNCTION IF EXISTS {function}();
