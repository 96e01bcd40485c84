-- What audit asks a live database: its tables, what it executed, who sits idle. Reads only. holdfast's own tables are left out.

-- name: columns
-- Table, column, type. SQLite: each statement that declares, as it was written.
-- postgres:
SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod)::text
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
 WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
   AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'holdfast') AND n.nspname NOT LIKE 'pg_toast%'
 ORDER BY c.oid, a.attnum;
-- mysql:
SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE FROM information_schema.COLUMNS
 WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'holdfast\_%' ORDER BY TABLE_NAME, ORDINAL_POSITION;
-- sqlite:
SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name NOT LIKE 'holdfast\_%' ESCAPE '\' ORDER BY type DESC, rowid;

-- name: keys
-- Table, name of the key, its column; a key's columns one after another.
-- postgres:
SELECT c.relname::text, i.relname::text, a.attname::text
  FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY AS k(attnum, place)
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
 WHERE x.indisunique AND x.indpred IS NULL AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'holdfast')
   AND n.nspname NOT LIKE 'pg_toast%'
 ORDER BY c.oid, i.oid, k.place;
-- mysql:
SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS
 WHERE TABLE_SCHEMA = DATABASE() AND NON_UNIQUE = 0 AND TABLE_NAME NOT LIKE 'holdfast\_%'
 ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX;

-- name: references
-- Table, column, the table it refers to, whether rows are deleted with it.
-- postgres:
SELECT c.relname::text, a.attname::text, f.relname::text, (x.confdeltype = 'c')::int
  FROM pg_constraint x JOIN pg_class c ON c.oid = x.conrelid JOIN pg_class f ON f.oid = x.confrelid
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.conkey[1]
 WHERE x.contype = 'f';
-- mysql:
SELECT k.TABLE_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_NAME, r.DELETE_RULE = 'CASCADE'
  FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r
    ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME
 WHERE k.TABLE_SCHEMA = DATABASE() AND k.REFERENCED_TABLE_NAME IS NOT NULL;

-- name: guards
-- Tables with a trigger of holdfast's.
-- postgres:
SELECT DISTINCT c.relname::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE t.tgname LIKE 'holdfast%';
-- mysql:
SELECT DISTINCT EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS
 WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME LIKE 'holdfast%';
-- sqlite:
SELECT DISTINCT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'holdfast%';

-- name: statements
-- What was executed, and how often.
-- postgres:
SELECT s.query::text, s.calls::bigint FROM pg_stat_statements s
 WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND s.query ~* '^\s*(with|update|delete|insert|select.*for\s+(no\s+key\s+)?update)' ORDER BY s.calls DESC LIMIT 5000;
-- mysql:
SELECT DIGEST_TEXT, COUNT_STAR FROM performance_schema.events_statements_summary_by_digest
 WHERE SCHEMA_NAME = DATABASE() AND (DIGEST_TEXT LIKE 'UPDATE%' OR DIGEST_TEXT LIKE 'DELETE%' OR DIGEST_TEXT LIKE 'INSERT%'
    OR DIGEST_TEXT LIKE '%FOR UPDATE%') ORDER BY COUNT_STAR DESC LIMIT 5000;

-- name: idle
-- Transactions that hold row locks while their program asks nothing: application, user, seconds, tables, last statement.
-- postgres:
SELECT coalesce(nullif(a.application_name, ''), 'no name')::text, coalesce(a.usename, '?')::text,
       extract(epoch FROM clock_timestamp() - a.state_change)::bigint,
       (SELECT string_agg(DISTINCT c.relname::text, ', ') FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
         WHERE l.pid = a.pid AND c.relkind IN ('r', 'p') AND l.mode IN ('RowShareLock', 'RowExclusiveLock')),
       a.query::text
  FROM pg_stat_activity a
 WHERE a.datname = current_database() AND a.state LIKE 'idle in transaction%' AND a.pid <> pg_backend_pid()
   AND a.state_change <= clock_timestamp() - $1 * interval '1 second'
   AND EXISTS (SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
                WHERE l.pid = a.pid AND c.relkind IN ('r', 'p') AND l.mode IN ('RowShareLock', 'RowExclusiveLock'))
 ORDER BY 3 DESC;
-- mysql:
SELECT COALESCE(p.HOST, '?'), COALESCE(p.USER, '?'), CAST(p.TIME AS SIGNED), '', ''
  FROM information_schema.INNODB_TRX t JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id
 WHERE t.trx_rows_locked > 0 AND p.COMMAND = 'Sleep' AND p.TIME >= $1 AND (p.DB = DATABASE() OR p.DB IS NULL)
 ORDER BY 3 DESC;
