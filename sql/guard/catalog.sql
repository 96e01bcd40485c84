-- What guards and the prober ask a database about its tables, and about guards.

-- Are holdfast's lock tables there; is the table of guards. MySQL: does SYSDATE tell when the statement began, as NOW does? (Should both be
-- one by chance, they are read again.)
-- name: there
-- postgres:
SELECT count(*) FILTER (WHERE c.relname IN ('resource', 'session', 'lock', 'type')) = 4,
       count(*) FILTER (WHERE c.relname IN ('guard', 'guard_log')) = 2, false
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = '{ns}' AND c.relkind = 'r'
-- mysql:
SELECT COALESCE(SUM(table_name IN ('{ns}_resource', '{ns}_session', '{ns}_lock', '{ns}_type')), 0) = 4,
       COALESCE(SUM(table_name IN ('{ns}_guard', '{ns}_guard_log')), 0) = 2,
       SYSDATE(6) = NOW(6) AND SLEEP(0.01) = 0 AND SYSDATE(6) = NOW(6)
  FROM information_schema.tables WHERE table_schema = DATABASE()
-- sqlite:
SELECT (SELECT count(*) FROM sqlite_master WHERE type = 'table'
           AND name IN ('{ns}_resource', '{ns}_session', '{ns}_lock', '{ns}_type')) = 4,
       (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('{ns}_guard', '{ns}_guard_log')) = 2, 0

-- Schema, name, what it is, the engine (MySQL), whether it has rowids (SQLite).
-- name: find
-- postgres:
SELECT n.nspname::text, c.relname::text,
       CASE c.relkind WHEN 'r' THEN CASE WHEN c.relispartition THEN 'partition' ELSE 'table' END WHEN 'p' THEN 'partitioned'
            WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' ELSE 'foreign table' END, '', 0
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
   AND (c.relname::text = $1 AND pg_catalog.pg_table_is_visible(c.oid) OR n.nspname || '.' || c.relname = $1)
 ORDER BY pg_catalog.pg_table_is_visible(c.oid) DESC LIMIT 1
-- mysql:
SELECT '', t.table_name,
       CASE WHEN t.table_type = 'VIEW' THEN 'view' WHEN t.table_type <> 'BASE TABLE' THEN LOWER(t.table_type)
            WHEN t.create_options LIKE '%partitioned%' THEN 'partitioned' ELSE 'table' END, t.engine, 0
  FROM information_schema.tables t
 WHERE t.table_schema = DATABASE() AND t.table_name = CONVERT($1 USING utf8mb4)
-- sqlite:
SELECT '', name, type, '', NOT wr FROM pragma_table_list
 WHERE schema = 'main' AND lower(name) = lower(?1) AND name NOT LIKE 'sqlite\_%' ESCAPE '\'

-- Name, type, place in the primary key, whether the database sets it itself (MySQL: on update too). SQLite: whether REPLACE puts a
-- default in place of NULL, which no trigger sees; the collation in the index of the primary key.
-- name: columns
-- postgres:
SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod),
       coalesce(pg_catalog.array_position(i.indkey::int2[], a.attnum) + 1, 0)::bigint, a.attgenerated <> '', false, ''
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary
 WHERE n.nspname = $1 AND c.relname = $2 ORDER BY a.attnum
-- mysql:
SELECT c.column_name, c.column_type, COALESCE(k.ordinal_position, 0), c.extra LIKE '% GENERATED%' OR c.extra LIKE '%on update%', 0, ''
  FROM information_schema.columns c
  LEFT JOIN information_schema.key_column_usage k ON k.table_schema = c.table_schema AND k.table_name = c.table_name
       AND k.column_name = c.column_name AND k.constraint_name = 'PRIMARY'
 WHERE c.table_schema = DATABASE() AND $1 IS NULL AND c.table_name = CONVERT($2 USING utf8mb4) ORDER BY c.ordinal_position
-- sqlite:
SELECT c.name, c.type, c.pk, c.hidden > 1, c."notnull" AND c.dflt_value IS NOT NULL,
       coalesce((SELECT x.coll FROM pragma_index_list(?2) l, pragma_index_xinfo(l.name) x
                  WHERE l.origin = 'pk' AND x.key AND x.name = c.name), '')
  FROM pragma_table_xinfo(?2) c WHERE ?1 IS NULL AND c.hidden <> 1 ORDER BY c.cid

-- Unique indexes, which REPLACE deletes by: index, column, collation, whether it is partial. Only SQLite needs them.
-- name: uniques
-- postgres:
SELECT '', '', '', false WHERE $1::text IS NULL AND $2::text IS NULL AND false
-- mysql:
SELECT s.index_name, s.column_name, '', 0 FROM information_schema.statistics s
 WHERE s.table_schema = DATABASE() AND $1 IS NULL AND s.table_name = CONVERT($2 USING utf8mb4) AND s.non_unique = 0
   AND s.index_name <> 'PRIMARY' ORDER BY s.index_name, s.seq_in_index
-- sqlite:
SELECT l.name, x.name, x.coll, l.partial FROM pragma_index_list(?2) l, pragma_index_xinfo(l.name) x
 WHERE ?1 IS NULL AND l."unique" AND x.key AND l.origin <> 'pk' ORDER BY l.seq, x.seqno

-- What would change rows of the table without its triggers: the constraint, the table that it comes from.
-- name: cascades
-- postgres:
SELECT '', '' WHERE $1::text IS NULL AND $2::text IS NULL AND false
-- mysql:
SELECT r.constraint_name, r.referenced_table_name FROM information_schema.referential_constraints r
 WHERE r.constraint_schema = DATABASE() AND $1 IS NULL AND r.table_name = CONVERT($2 USING utf8mb4)
   AND (r.delete_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT') OR r.update_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT'))
-- sqlite:
SELECT '', '' WHERE ?1 IS NULL AND ?2 IS NULL AND 0

-- Tables whose rows are rows of this one too.
-- name: children
-- postgres:
SELECT cn.nspname || '.' || c.relname FROM pg_catalog.pg_inherits h
  JOIN pg_catalog.pg_class p ON p.oid = h.inhparent JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace
  JOIN pg_catalog.pg_class c ON c.oid = h.inhrelid JOIN pg_catalog.pg_namespace cn ON cn.oid = c.relnamespace
 WHERE n.nspname = $1 AND p.relname = $2 ORDER BY 1
-- mysql:
SELECT '' FROM information_schema.tables WHERE FALSE AND $1 = $2
-- sqlite:
SELECT '' WHERE 0 AND ?1 = ?2

-- The policy of a type.
-- name: policy
-- postgres:
SELECT t.policy FROM {ns}.type t WHERE t.type = $1
-- mysql:
SELECT t.policy FROM {ns}_type t WHERE t.type = $1
-- sqlite:
SELECT t.policy FROM {ns}_type t WHERE t.type = ?1

-- Is there what the shared functions of guards need, which earlier versions did not install. PostgreSQL.
-- name: secret
-- postgres:
SELECT count(*) FROM {ns}.meta WHERE name = 'secret'
-- mysql:
SELECT 1
-- sqlite:
SELECT 1

-- PostgreSQL: none of a table's triggers counts while a table that inherits from it has none; its rows are changed through this one.
-- name: guards
-- postgres:
SELECT g.table_name, g.type, g.policy, g.checks, g.version_column, g.parent, g.link, g.mode, g.suppressed_us,
       (SELECT count(*) FROM pg_catalog.pg_trigger t
         WHERE t.tgrelid = pg_catalog.to_regclass(g.quoted) AND t.tgname LIKE '0\_holdfast\_%' AND t.tgenabled = 'A'
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = t.tgrelid AND NOT EXISTS
               (SELECT FROM pg_catalog.pg_trigger c WHERE c.tgrelid = h.inhrelid AND c.tgname LIKE '0\_holdfast\_%' AND c.tgenabled = 'A'))),
       CASE g.checks WHEN 'version' THEN 6 ELSE 5 END::bigint,
       (SELECT count(*) FROM pg_catalog.pg_policy p
         WHERE p.polrelid = pg_catalog.to_regclass(g.quoted) AND p.polname = '0_holdfast_read')
  FROM {ns}.guard g ORDER BY g.table_name
-- mysql:
SELECT g.table_name, g.type, g.policy, g.checks, g.version_column, g.parent, g.link, g.mode, g.suppressed_us,
       (SELECT COUNT(*) FROM information_schema.triggers t WHERE t.trigger_schema = DATABASE()
           AND t.event_object_table = CONVERT(g.table_name USING utf8mb4)
           AND t.trigger_name LIKE CONCAT('{ns}\_g\_', CONVERT(g.quoted USING utf8mb4), '\_%')), 3, 0
  FROM {ns}_guard g ORDER BY g.table_name
-- sqlite:
SELECT g.table_name, g.type, g.policy, g.checks, g.version_column, g.parent, g.link, g.mode, g.suppressed_us,
       (SELECT count(*) FROM sqlite_master m WHERE m.type = 'trigger' AND lower(m.tbl_name) = lower(g.table_name)
           AND substr(m.name, 1, length(g.quoted) + 1) = g.quoted || ' '), CASE g.checks WHEN 'step' THEN 2 ELSE 5 END, 0
  FROM {ns}_guard g ORDER BY g.table_name

-- Row level security that no guard has made.
-- name: row_security
-- postgres:
SELECT (c.relrowsecurity AND NOT EXISTS (SELECT FROM pg_catalog.pg_policy p
        WHERE p.polrelid = c.oid AND p.polname = '0_holdfast_read'))::int
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1::text AND c.relname = $2::text
-- mysql:
SELECT 0 FROM DUAL WHERE $1 IS NULL AND $2 IS NULL
-- sqlite:
SELECT 0 WHERE ?1 IS NULL AND ?2 IS NULL

-- name: set_mode
-- postgres:
UPDATE {ns}.guard SET mode = $2, suppressed_us = $3 WHERE table_name = $1
-- mysql:
UPDATE {ns}_guard SET mode = $2, suppressed_us = $3 WHERE table_name = $1
-- sqlite:
UPDATE {ns}_guard SET mode = ?2, suppressed_us = ?3 WHERE table_name = ?1

-- name: forget
-- postgres:
DELETE FROM {ns}.guard WHERE table_name = $1
-- mysql:
DELETE FROM {ns}_guard WHERE table_name = $1
-- sqlite:
DELETE FROM {ns}_guard WHERE table_name = ?1

-- name: report
-- postgres:
SELECT table_name, account, program, kind, count(*), sum(rows)::bigint, min(at_us), max(at_us)
  FROM {ns}.guard_log WHERE $1::text IS NULL OR table_name = $1 GROUP BY 1, 2, 3, 4 ORDER BY 1, 5 DESC, 2, 3, 4
-- mysql:
SELECT table_name, account, program, kind, COUNT(*), CAST(SUM(row_count) AS SIGNED), MIN(at_us), MAX(at_us)
  FROM {ns}_guard_log WHERE $1 IS NULL OR table_name = $1 GROUP BY 1, 2, 3, 4 ORDER BY 1, 5 DESC, 2, 3, 4
-- sqlite:
SELECT table_name, account, program, kind, count(*), sum(rows), min(at_us), max(at_us)
  FROM {ns}_guard_log WHERE ?1 IS NULL OR table_name = ?1 GROUP BY 1, 2, 3, 4 ORDER BY 1, 5 DESC, 2, 3, 4

-- Base tables that have a primary key and are not holdfast's own: what the prober attacks where nothing is guarded.
-- name: tables
-- postgres:
SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname::text ELSE n.nspname || '.' || c.relname END
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary
 WHERE c.relkind = 'r' AND n.nspname <> '{ns}' AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' ORDER BY 1
-- mysql:
SELECT t.table_name FROM information_schema.tables t
 WHERE t.table_schema = DATABASE() AND t.table_type = 'BASE TABLE' AND t.table_comment NOT LIKE 'holdfast%' ORDER BY 1
-- sqlite:
SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
   AND name NOT LIKE '{ns}\_%' ESCAPE '\' ORDER BY 1

-- How many of the procedures that triggers share are there, of this text and this account's; how many of any. MySQL.
-- name: procedures
-- postgres:
SELECT 0, 0 WHERE $1::text IS NULL
-- mysql:
SELECT CAST(COALESCE(SUM(routine_comment = CONVERT($1 USING utf8mb4)), 0) AS SIGNED), COUNT(*) FROM information_schema.routines
 WHERE routine_schema = DATABASE() AND routine_name IN ('{ns}_guard_refuse', '{ns}_guard_lock', '{ns}_guard_save', '{ns}_guard_clock')
-- sqlite:
SELECT 0, 0 WHERE ?1 IS NULL

-- Tables that refer to this one, which keep TRUNCATE away. MySQL.
-- name: referred
-- postgres:
SELECT 0 WHERE $1::text IS NULL
-- mysql:
SELECT r.table_name FROM information_schema.referential_constraints r
 WHERE r.unique_constraint_schema = DATABASE() AND r.referenced_table_name = CONVERT($1 USING utf8mb4) AND r.table_name <> r.referenced_table_name
-- sqlite:
SELECT 0 WHERE ?1 IS NULL
