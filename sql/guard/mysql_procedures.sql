-- What the triggers of guards share. Temporary tables by the names of holdfast's are dropped before these are used (sql/mysql/surface.sql):
-- then a trigger, whose tables are open before it begins, fails at the next use of the name.
DROP PROCEDURE IF EXISTS {ns}_guard_clock
//
-- The time now, whatever the session's clock and zone are: as {ns}_clock, which is there with a store only.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_guard_clock(OUT now_us BIGINT)
    NO SQL SQL SECURITY INVOKER COMMENT 'holdfast guard {digest}'
BEGIN
    /*!80001 DECLARE zone VARCHAR(64) DEFAULT @@session.time_zone; */
    /*!80001 SET time_zone = '+00:00'; */
    /*M!100103 SET STATEMENT time_zone = '+00:00' FOR */
    SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) INTO now_us;
    /*!80001 SET time_zone = zone; */
END
//
DROP PROCEDURE IF EXISTS {ns}_guard_refuse
//
-- A row that may not pass: refused in mode fail, counted in mode log, in a row that is this statement's alone: its time is that at which
-- the statement began, UTC_TIMESTAMP, unless the session has set its clock to something else. Without a row in the table of guards it is
-- refused.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_guard_refuse(IN the_table VARBINARY(255), IN the_kind VARBINARY(16), IN number INT,
    IN sentence TEXT CHARACTER SET utf8mb4)
    MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'holdfast guard {digest}'
BEGIN
    DECLARE the_mode VARBINARY(8) DEFAULT 'fail';
    DECLARE until_us BIGINT DEFAULT 0;
    DECLARE now_us BIGINT;
    DECLARE began_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    DROP TEMPORARY TABLE IF EXISTS {ns}_guard, {ns}_guard_log;
    SELECT g.mode, g.suppressed_us INTO the_mode, until_us FROM {ns}_guard g WHERE g.table_name = the_table;
    CALL {ns}_guard_clock(now_us);
    IF the_mode = 'log' OR (the_mode = 'fail' AND until_us > now_us) THEN
        INSERT INTO {ns}_guard_log (at_us, connection, table_name, kind, account, program, row_count)
        VALUES (IF(began_us BETWEEN now_us - 3600000000 AND now_us, began_us, now_us),
            CONNECTION_ID(), the_table, the_kind, LEFT(USER(), 255),
            IFNULL((SELECT LEFT(attr_value, 255) FROM performance_schema.session_account_connect_attrs
                     WHERE processlist_id = CONNECTION_ID() AND attr_name = 'program_name' LIMIT 1), ''), 1)
            ON DUPLICATE KEY UPDATE row_count = {ns}_guard_log.row_count + 1;
    ELSEIF the_mode <> 'off' THEN
        SET sentence = IF(CHAR_LENGTH(sentence) > 128, CONCAT(LEFT(sentence, 125), '...'), sentence);
        IF number = 1216 THEN
            SIGNAL SQLSTATE '23H01' SET MESSAGE_TEXT = sentence, MYSQL_ERRNO = 1216;
        ELSE
            SIGNAL SQLSTATE '23H02' SET MESSAGE_TEXT = sentence, MYSQL_ERRNO = 1217;
        END IF;
    END IF;
END
//
DROP PROCEDURE IF EXISTS {ns}_guard_lock
//
-- Does this fence belong to a live exclusive lock on type/id? The anchor is locked first, then the clock is read, as by check.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_guard_lock(IN the_type VARBINARY(64), IN the_id VARBINARY(1024), IN the_fence BIGINT, OUT granted BOOLEAN)
    MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'holdfast guard {digest}'
BEGIN
    DECLARE now_us, l_ends_us, s_ended_us, s_expires_us, anchors BIGINT;
    DECLARE l_session VARBINARY(32);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET granted = FALSE;
    IF the_fence > 0 THEN
        DROP TEMPORARY TABLE IF EXISTS {ns}_resource, {ns}_lock, {ns}_session;
        SELECT COUNT(*) INTO anchors FROM {ns}_resource r WHERE r.type = the_type AND r.id = the_id FOR UPDATE;
        CALL {ns}_guard_clock(now_us);
        SELECT l.session, l.ends_us INTO l_session, l_ends_us FROM {ns}_lock l
         WHERE l.type = the_type AND l.id = the_id AND l.fence = the_fence AND l.mode = 'exclusive' LOCK IN SHARE MODE;
        SELECT s.ended_us, s.expires_us INTO s_ended_us, s_expires_us FROM {ns}_session s WHERE s.id = l_session;
        IF l_session IS NOT NULL AND (s_expires_us IS NULL OR s_expires_us <= now_us) THEN
            SELECT s.ended_us, s.expires_us INTO s_ended_us, s_expires_us
              FROM {ns}_session s WHERE s.id = l_session LOCK IN SHARE MODE;
            CALL {ns}_guard_clock(now_us);
        END IF;
        SET granted = l_session IS NOT NULL AND s_ended_us IS NULL AND IFNULL(s_expires_us > now_us, FALSE)
            AND IFNULL(l_ends_us > now_us, TRUE);
        IF granted THEN
            UPDATE {ns}_resource r SET r.rev = r.rev + 1 WHERE r.type = the_type AND r.id = the_id;
        END IF;
    END IF;
END
//
DROP PROCEDURE IF EXISTS {ns}_guard_save
//
-- Is this the fence of the last save of type/id?
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_guard_save(IN the_type VARBINARY(64), IN the_id VARBINARY(1024), IN the_fence BIGINT, OUT granted BOOLEAN)
    MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'holdfast guard {digest}'
BEGIN
    DECLARE found BIGINT DEFAULT 0;
    IF the_fence > 0 THEN
        DROP TEMPORARY TABLE IF EXISTS {ns}_resource;
        SELECT COUNT(*) INTO found FROM {ns}_resource r
         WHERE r.type = the_type AND r.id = the_id AND r.saved_fence = the_fence LOCK IN SHARE MODE;
    END IF;
    SET granted = found > 0;
END
//
