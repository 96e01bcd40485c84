-- What advise asks a database about the table of the records. {{table}}, {{version}} and {{modified}} are filled in, quoted;
-- parameter 1 is the table's name. Numbers come as text: sums may be larger than any whole number.

-- name: columns
-- postgres:
SELECT column_name::text, data_type::text FROM information_schema.columns
 WHERE table_name = $1 AND current_schemas(false) @> ARRAY[table_schema::name] ORDER BY ordinal_position;
-- mysql:
SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS
 WHERE TABLE_NAME = $1 AND TABLE_SCHEMA = DATABASE() ORDER BY ORDINAL_POSITION;
-- sqlite:
SELECT name, lower(type) FROM pragma_table_info(?1);

-- name: rows
-- postgres:
SELECT count(*)::text FROM {{table}};
-- mysql:
SELECT CAST(COUNT(*) AS CHAR) FROM {{table}};
-- sqlite:
SELECT CAST(count(*) AS TEXT) FROM {{table}};

-- name: saves
-- The saves of each record, as its version counts them: all, and pairs of the same record.
-- postgres:
SELECT coalesce(sum({{version}}), 0)::text,
       coalesce(sum({{version}}::numeric * ({{version}} - 1)), 0)::text FROM {{table}};
-- mysql:
SELECT CAST(COALESCE(SUM({{version}}), 0) AS CHAR),
       CAST(COALESCE(SUM(CAST({{version}} AS DECIMAL(30)) * ({{version}} - 1)), 0) AS CHAR) FROM {{table}};
-- sqlite:
SELECT CAST(total({{version}}) AS TEXT), CAST(total(1.0 * {{version}} * ({{version}} - 1)) AS TEXT) FROM {{table}};

-- name: updates
-- Updates of the table, and the seconds in which they were counted (mysql: see uptime).
-- postgres:
SELECT t.n_tup_upd::text,
       extract(epoch FROM clock_timestamp() - coalesce(d.stats_reset, pg_postmaster_start_time()))::bigint::text
  FROM pg_stat_user_tables t, pg_stat_database d
 WHERE t.relname = $1 AND current_schemas(false) @> ARRAY[t.schemaname] AND d.datname = current_database();
-- mysql:
SELECT CAST(COUNT_UPDATE AS CHAR) FROM performance_schema.table_io_waits_summary_by_table
 WHERE OBJECT_SCHEMA = DATABASE() AND OBJECT_NAME = $1;

-- name: uptime
-- mysql:
SHOW GLOBAL STATUS LIKE 'Uptime';

-- name: changed
-- Records changed in the last seven days.
-- postgres:
SELECT count(*)::text FROM {{table}} WHERE {{modified}} > clock_timestamp() - interval '7 days';
-- mysql:
SELECT CAST(COUNT(*) AS CHAR) FROM {{table}} WHERE {{modified}} > NOW() - INTERVAL 7 DAY;
-- sqlite:
SELECT CAST(count(*) AS TEXT) FROM {{table}} WHERE julianday({{modified}}) > julianday('now') - 7;
