-- The prober's attacks. Each is tried in a savepoint of a transaction that is rolled back. {table} is the table, {row} a condition
-- that one row of it fulfils, {plain} a column that is neither key nor version, {version} the version column, {number} the version or
-- fence that an honest statement would carry, {columns} all that can be written, {moved} the same with another key, {joined} that
-- {table} and q are the same row, {unique} a column that is unique by itself, {moved_unique} the columns with another key and
-- without the other unique ones: tried for each; {moved_default} the same with NULL in a column that then gets its default. Words that a table can't fill leave the attack out.

-- name: update_blind
UPDATE {table} SET {plain} = {plain} WHERE {row}
-- name: update_same_version
UPDATE {table} SET {plain} = {plain}, {version} = {version} WHERE {row}
-- name: update_next_version
UPDATE {table} SET {plain} = {plain}, {version} = {version} + 1 WHERE {row}
-- name: update_old_number
UPDATE {table} SET {plain} = {plain}, {holdfast} = 1 + {version} - 2 WHERE {row}
-- name: update_left
UPDATE {table} SET {plain} = {plain} WHERE {holdfast} = {version}
-- name: update_no_number
UPDATE {table} SET {version} = {version} + 1, {holdfast} = NULL WHERE {row}
-- name: update_wrong_fence
UPDATE {table} SET {plain} = {plain}, {fence_column} = 1 WHERE {row}
-- name: update_all
UPDATE {table} SET {plain} = {plain}
-- name: update_join
-- postgres:
UPDATE {table} SET {plain} = q.{plain} FROM {table} q WHERE {joined}
-- mysql:
UPDATE {table} JOIN {table} q ON {joined} SET {table}.{plain} = q.{plain}
-- sqlite:
UPDATE {table} SET {plain} = q.{plain} FROM {table} q WHERE {joined}
-- name: update_with
-- postgres:
WITH w AS (SELECT {keys} FROM {table} WHERE {row}) UPDATE {table} SET {plain} = {plain} WHERE ({keys}) IN (SELECT {keys} FROM w)
-- sqlite:
WITH w AS (SELECT {keys} FROM {table} WHERE {row}) UPDATE {table} SET {plain} = {plain} WHERE ({keys}) IN (SELECT {keys} FROM w)
-- name: update_ignore
-- mysql:
UPDATE IGNORE {table} SET {plain} = {plain} WHERE {row}
-- sqlite:
UPDATE OR IGNORE {table} SET {plain} = {plain} WHERE {row}
-- name: update_replace
-- sqlite:
UPDATE OR REPLACE {table} SET {plain} = {plain} WHERE {row}
-- name: update_replace_other
-- sqlite:
UPDATE OR REPLACE {table} SET {unique} = (SELECT q.{unique} FROM {table} q
    WHERE q.{unique} IS NOT NULL AND q.{unique} IS NOT {table}.{unique} LIMIT 1), {holdfast} = {version}
 WHERE {row} AND EXISTS (SELECT 1 FROM {table} q WHERE q.{unique} IS NOT NULL AND q.{unique} IS NOT {table}.{unique})
-- name: key_change
UPDATE {table} SET {key} = -1000003 - {key} WHERE {row}
-- name: key_change_with_number
UPDATE {table} SET {key} = -1000003 - {key}, {holdfast} = {version} WHERE {row}
-- name: upsert
-- postgres:
INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM {table} WHERE {row}
    ON CONFLICT ({keys}) DO UPDATE SET {plain} = excluded.{plain}
-- mysql:
INSERT INTO {table} ({columns}) SELECT {columns} FROM (SELECT * FROM {table} WHERE {row}) q ON DUPLICATE KEY UPDATE {plain} = q.{plain}
-- sqlite:
INSERT INTO {table} ({columns}) SELECT {columns} FROM {table} WHERE {row} ON CONFLICT ({keys}) DO UPDATE SET {plain} = excluded.{plain}
-- name: replace
-- mysql:
REPLACE INTO {table} ({columns}) SELECT {columns} FROM (SELECT * FROM {table} WHERE {row}) q
-- sqlite:
REPLACE INTO {table} ({columns}) SELECT {columns} FROM {table} WHERE {row}
-- name: replace_by_unique
-- mysql:
REPLACE INTO {table} ({columns}) SELECT {moved_unique} FROM (SELECT * FROM {table} WHERE {unique} IS NOT NULL ORDER BY {keys} LIMIT 1) q
-- sqlite:
REPLACE INTO {table} ({columns}) SELECT {moved_unique} FROM {table} WHERE {unique} IS NOT NULL LIMIT 1
-- name: replace_default
-- sqlite:
REPLACE INTO {table} ({columns}) SELECT {moved_default} FROM {table} LIMIT 1
-- name: merge
-- postgres:
MERGE INTO {table} USING (SELECT * FROM {table} WHERE {row}) q ON {joined} WHEN MATCHED THEN UPDATE SET {plain} = q.{plain}
-- name: insert_member
-- postgres:
INSERT INTO {member} ({columns}) OVERRIDING SYSTEM VALUE SELECT {moved} FROM {table} WHERE {row}
-- mysql:
INSERT INTO {member} ({columns}) SELECT {moved} FROM (SELECT * FROM {table} WHERE {row}) q
-- sqlite:
INSERT INTO {member} ({columns}) SELECT {moved} FROM {table} WHERE {row}
-- name: delete
DELETE FROM {table} WHERE {row}
-- name: delete_all
DELETE FROM {table}
-- name: delete_join
-- postgres:
DELETE FROM {table} USING {table} q WHERE {joined}
-- mysql:
DELETE {table} FROM {table} JOIN {table} q ON {joined}
-- name: delete_with
-- postgres:
WITH w AS (SELECT {keys} FROM {table} WHERE {row}) DELETE FROM {table} WHERE ({keys}) IN (SELECT {keys} FROM w)
-- sqlite:
WITH w AS (SELECT {keys} FROM {table} WHERE {row}) DELETE FROM {table} WHERE ({keys}) IN (SELECT {keys} FROM w)
-- name: delete_ignore
-- mysql:
DELETE IGNORE FROM {table} WHERE {row}
-- name: mark_and_change
UPDATE {table} SET {version} = {version} + 1, {holdfast} = -{version} WHERE {row}
-- name: mark_old_number
UPDATE {table} SET {holdfast} = 1 - {version} WHERE {row} AND {version} <> 1
-- name: replica_role
-- postgres:
UPDATE {table} SET {plain} = {plain} WHERE {row}
-- Beside a temporary table that hides holdfast's table of guards and says that this one is off.
-- name: update_hidden
-- mysql:
UPDATE {table} SET {plain} = {plain} WHERE {row}
-- name: truncate
-- postgres:
TRUNCATE {table}
