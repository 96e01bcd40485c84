-- Removes what holdfast has made and nothing else. ('holdfast uninstall' has the tables locked up to here.)
DROP TABLE IF EXISTS {ns}_token, {ns}_save, {ns}_event, {ns}_lost, {ns}_request, {ns}_lock, {ns}_resource, {ns}_session, {ns}_type, {ns}_meta;
UNLOCK TABLES;
DROP VIEW IF EXISTS {ns}_locks;
DROP PROCEDURE IF EXISTS {ns}_check;
