-- What records ask a database about a table: its schema ('': as found) and name are the parameters.

-- Schema and name as the catalog spells them; the engine that keeps it, if that has no transactions; whether this role may lock it to
-- write it (PostgreSQL), which rights on some of its columns do not give.
-- name: find
-- postgres:
SELECT n.nspname::text, c.relname::text, '', pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')::int
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p') AND c.relname = $2
   AND CASE WHEN $1 = '' THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = $1 END
-- mysql:
SELECT t.table_schema, t.table_name,
       COALESCE((SELECT e.engine FROM information_schema.engines e WHERE e.engine = t.engine AND e.transactions = 'NO'), ''), 0
  FROM information_schema.tables t
 WHERE t.table_type = 'BASE TABLE' AND t.table_schema = CASE WHEN $1 = _utf8mb4'' THEN DATABASE() ELSE $1 END AND t.table_name = $2
-- sqlite:
SELECT schema, name, '', 0 FROM pragma_table_list
 WHERE type = 'table' AND schema = CASE WHEN ?1 = '' THEN 'main' ELSE ?1 END AND lower(name) = lower(?2)

-- Name, type, place in the primary key, null is allowed, the database makes a value when none is given, it always does, most characters,
-- whether the comment on it is that of a guard.
-- format_type quotes some names of the catalog's own with quote_all_identifiers.
-- name: columns
-- postgres:
SELECT a.attname::text,
       CASE WHEN a.atttypid IN (17, 19, 25, 114, 1082, 2950, 3802) THEN pg_catalog.btrim(pg_catalog.format_type(a.atttypid, NULL), '"')
            ELSE pg_catalog.format_type(a.atttypid, NULL) END,
       coalesce(pg_catalog.array_position(i.indkey::int2[], a.attnum) + 1, 0)::bigint, NOT a.attnotnull,
       a.atthasdef OR a.attidentity <> '', a.attgenerated <> '' OR a.attidentity = 'a',
       CASE WHEN a.atttypid IN (1042, 1043) AND a.atttypmod > 4 THEN a.atttypmod - 4 ELSE 0 END::bigint,
       (pg_catalog.col_description(c.oid, a.attnum) IS NOT DISTINCT FROM 'holdfast')::int
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary
 WHERE n.nspname = $1 AND c.relname = $2 ORDER BY a.attnum
-- mysql:
SELECT c.column_name, c.column_type, COALESCE(k.ordinal_position, 0), c.is_nullable = 'YES',
       c.extra LIKE '%auto_increment%' OR c.column_default IS NOT NULL OR c.extra LIKE '%DEFAULT_GENERATED%',
       c.generation_expression IS NOT NULL AND c.generation_expression <> '',
       CASE WHEN c.data_type IN ('char', 'varchar') THEN c.character_maximum_length ELSE 0 END, c.column_comment = 'holdfast'
  FROM information_schema.columns c
  LEFT JOIN information_schema.key_column_usage k ON k.table_schema = c.table_schema AND k.table_name = c.table_name
       AND k.column_name = c.column_name AND k.constraint_name = 'PRIMARY'
 WHERE c.table_schema = $1 AND c.table_name = $2 ORDER BY c.ordinal_position
-- sqlite:
SELECT name, type, pk, NOT "notnull", dflt_value IS NOT NULL, hidden > 1, 0, 0
  FROM pragma_table_xinfo(?2, ?1) WHERE hidden <> 1 ORDER BY cid

-- The tables that its foreign keys name.
-- name: references
-- postgres:
SELECT DISTINCT rn.nspname::text, r.relname::text
  FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_class r ON r.oid = k.confrelid JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace
 WHERE k.contype = 'f' AND n.nspname = $1 AND c.relname = $2
-- mysql:
SELECT DISTINCT k.referenced_table_schema, k.referenced_table_name FROM information_schema.key_column_usage k
 WHERE k.table_schema = $1 AND k.table_name = $2 AND k.referenced_table_name IS NOT NULL
-- sqlite:
SELECT DISTINCT ?1, "table" FROM pragma_foreign_key_list(?2, ?1)

-- Its guard: what is checked, the version column, the type of its root. Fails where there is no table of guards, or no right to read it.
-- name: guard
-- postgres:
SELECT checks, version_column, type FROM {ns}.guard WHERE table_name = $1 || '.' || $2
-- mysql:
SELECT checks, version_column, type FROM {ns}_guard WHERE $1 = DATABASE() AND table_name = CAST($2 AS BINARY)
-- sqlite:
SELECT checks, version_column, type FROM {ns}_guard WHERE ?1 = 'main' AND lower(table_name) = lower(?2)
