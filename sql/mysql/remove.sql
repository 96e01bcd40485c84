-- Removes what holdfast has made and nothing else. ('holdfast uninstall' has the tables locked up to here.)
DROP TABLE IF EXISTS {ns}_token, {ns}_save, {ns}_event, {ns}_lost, {ns}_request, {ns}_lock, {ns}_resource, {ns}_session, {ns}_type, {ns}_meta;
UNLOCK TABLES;
DROP TABLE IF EXISTS {ns}_guard, {ns}_guard_log;
DROP VIEW IF EXISTS {ns}_locks, {ns}_versions;
DROP PROCEDURE IF EXISTS {ns}_guard_refuse;
DROP PROCEDURE IF EXISTS {ns}_guard_lock;
DROP PROCEDURE IF EXISTS {ns}_guard_save;
DROP PROCEDURE IF EXISTS {ns}_guard_clock;
DROP PROCEDURE IF EXISTS {ns}_check;
DROP PROCEDURE IF EXISTS {ns}_save;
DROP PROCEDURE IF EXISTS {ns}_remove;
DROP PROCEDURE IF EXISTS {ns}_expect;
DROP PROCEDURE IF EXISTS {ns}_write;
DROP PROCEDURE IF EXISTS {ns}_check_names;
DROP PROCEDURE IF EXISTS {ns}_refuse_stale;
DROP PROCEDURE IF EXISTS {ns}_say_holders;
DROP PROCEDURE IF EXISTS {ns}_refuse;
DROP PROCEDURE IF EXISTS {ns}_clock;
