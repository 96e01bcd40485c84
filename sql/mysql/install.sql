-- What installing asks, and the frame around what it runs; docs/sql.md and schema.sql have the rest.

-- How the texts are read does not depend on the server's settings, and no account comes to be by being granted something.
-- name: begin
SET NAMES utf8mb4;
SET @holdfast_sql_mode = @@sql_mode;
SET sql_mode = CONCAT('STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION',
    IF(VERSION() LIKE '%MariaDB%', ',NO_AUTO_CREATE_USER', ''));
SET lock_wait_timeout = 8;
SET @holdfast_autocommit = @@autocommit;
SET autocommit = 1
-- name: end
SET autocommit = @holdfast_autocommit;
SET sql_mode = @holdfast_sql_mode;
SET lock_wait_timeout = DEFAULT

-- Does SYSDATE tell when the statement began, as NOW does? (Should both be one by chance, they are read again.)
-- name: clock
SELECT SYSDATE(6) = NOW(6) AND SLEEP(0.01) = 0 AND SYSDATE(6) = NOW(6)

-- One installation at a time.
-- name: own
SELECT GET_LOCK(CONCAT('holdfast ', LEFT(SHA2(CONCAT(DATABASE(), '/{ns}'), 256), 40)), 20)
-- name: disown
SELECT RELEASE_LOCK(CONCAT('holdfast ', LEFT(SHA2(CONCAT(DATABASE(), '/{ns}'), 256), 40)))

-- Last of all: a run that was interrupted leaves none, and is completed by the next.
-- name: complete
INSERT INTO {ns}_meta (name, value) VALUES ('schema', '{form}') ON DUPLICATE KEY UPDATE value = value

-- In a script that is printed: a script can't look first.
-- name: same_form
SELECT IF(COUNT(*) = 0 OR MAX(value) = '{form}', 'ok', (SELECT 1 UNION SELECT 2)) AS same_form FROM {ns}_meta WHERE name = 'schema'
-- name: form
SELECT value FROM {ns}_meta WHERE name = 'schema'
-- Tables and views by themselves: beside a view whose tables are gone MySQL gives tables the comment of that view.
-- name: look
SELECT table_name, table_type, table_comment FROM information_schema.tables
 WHERE table_schema = DATABASE() AND table_type <> 'VIEW'
   AND table_name IN ('{ns}_meta', '{ns}_type', '{ns}_session', '{ns}_resource', '{ns}_lock', '{ns}_request', '{ns}_lost',
       '{ns}_event', '{ns}_token', '{ns}_save', '{ns}_locks', '{ns}_versions')
 UNION ALL
SELECT table_name, 'VIEW',
       IF(view_definition LIKE '%{ns}%session%' OR view_definition LIKE '%{ns}_resource%', 'holdfast',
          IF(view_definition > '', '', '?'))
  FROM information_schema.views
 WHERE table_schema = DATABASE()
   AND table_name IN ('{ns}_meta', '{ns}_type', '{ns}_session', '{ns}_resource', '{ns}_lock', '{ns}_request', '{ns}_lost',
       '{ns}_event', '{ns}_token', '{ns}_save', '{ns}_locks', '{ns}_versions')
 UNION ALL
SELECT routine_name, routine_type, routine_comment FROM information_schema.routines
 WHERE routine_schema = DATABASE()
   AND routine_name IN ('{ns}_check', '{ns}_save', '{ns}_remove', '{ns}_expect', '{ns}_write', '{ns}_check_names',
       '{ns}_refuse_stale', '{ns}_say_holders', '{ns}_refuse', '{ns}_clock')
 ORDER BY 1

-- {ns} is the name of one table here.
-- name: row
SELECT 1 FROM {ns} LIMIT 1

-- Empty unless all procedures are there and of one text. Another's is as good as none: it runs with
-- the rights of an account that may be gone.
-- name: surface_version
SELECT IF(COUNT(*) = 10 AND COUNT(DISTINCT routine_comment) = 1, MIN(routine_comment), '')
  FROM information_schema.routines
 WHERE routine_schema = DATABASE() AND definer = CURRENT_USER()
   AND routine_name IN ('{ns}_check', '{ns}_save', '{ns}_remove', '{ns}_expect', '{ns}_write', '{ns}_check_names',
       '{ns}_refuse_stale', '{ns}_say_holders', '{ns}_refuse', '{ns}_clock')
-- name: who
SELECT CURRENT_USER()

-- Guards, whose triggers would fail without the tables: whether there can be any; one of them.
-- name: guards_there
SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{ns}_guard'
-- name: guarded
SELECT MIN(table_name) FROM {ns}_guard

-- Before removing: nobody takes a lock meanwhile.
-- name: hold
LOCK TABLES {ns}_meta WRITE, {ns}_type WRITE, {ns}_session WRITE, {ns}_resource WRITE, {ns}_lock WRITE, {ns}_request WRITE,
       {ns}_lost WRITE, {ns}_event WRITE, {ns}_token WRITE, {ns}_save WRITE
-- name: live
SELECT COUNT(*) FROM {ns}_lock JOIN {ns}_session ON {ns}_session.id = {ns}_lock.session
 WHERE {ns}_session.ended_us IS NULL AND {ns}_session.expires_us > UNIX_TIMESTAMP() * 1000000 + MICROSECOND(NOW(6))
   AND ({ns}_lock.ends_us IS NULL OR {ns}_lock.ends_us > UNIX_TIMESTAMP() * 1000000 + MICROSECOND(NOW(6)))
