-- The surface: what applications in any language use (docs/sql.md). It is made anew by every install.

-- The locks that are live now, as text, times in UTC. No key, no hash, no request id.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW {ns}_locks AS
SELECT CONVERT(l.type USING utf8mb4) COLLATE utf8mb4_bin AS type,
       CONVERT(l.id USING utf8mb4) COLLATE utf8mb4_bin AS id,
       CONVERT(l.mode USING utf8mb4) COLLATE utf8mb4_bin AS mode,
       l.fence AS fence,
       TIMESTAMP('1970-01-01 00:00:00.000000') + INTERVAL l.since_us MICROSECOND AS since,
       TIMESTAMP('1970-01-01 00:00:00.000000') + INTERVAL LEAST(IFNULL(l.ends_us, s.expires_us), s.expires_us) MICROSECOND AS expires,
       CONVERT(l.purpose USING utf8mb4) COLLATE utf8mb4_bin AS purpose,
       CONVERT(l.session USING utf8mb4) COLLATE utf8mb4_bin AS session,
       CONVERT(s.user USING utf8mb4) COLLATE utf8mb4_bin AS user,
       CONVERT(s.name USING utf8mb4) COLLATE utf8mb4_bin AS name
  FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
 WHERE s.ended_us IS NULL
   AND s.expires_us > UNIX_TIMESTAMP() * 1000000 + MICROSECOND(NOW(6))
   AND (l.ends_us IS NULL OR l.ends_us > UNIX_TIMESTAMP() * 1000000 + MICROSECOND(NOW(6)));

-- Called first in a transaction that saves: does this session hold type/id exclusively now, with this fence? If not, it raises
-- SQLSTATE 23H01 with a sentence for a person, cut to the 128 characters there is room for. (Drivers for Python tell errors
-- apart by number alone: 1216 is one of those that they take for a violated constraint.) If so, nobody takes the lock away until
-- the transaction ends: the anchor is locked first, then the clock is read, then the lock is looked at as it is now, whatever the
-- transaction has seen before. The session is only locked when it looks dead, so that beats go on meanwhile. Runs with the rights of
-- its definer: an account needs EXECUTE, no table. NOW is when a statement began, in a trigger the one that fired it; SYSDATE is
-- now.
-- (Grants on the procedure go with it, unless MariaDB replaces it: 'holdfast install' takes care of that.)
DROP PROCEDURE IF EXISTS {ns}_check;
DELIMITER //
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_check(
    IN type TEXT CHARACTER SET utf8mb4, IN id TEXT CHARACTER SET utf8mb4, IN session TEXT CHARACTER SET utf8mb4, IN fence BIGINT)
    READS SQL DATA SQL SECURITY DEFINER COMMENT 'holdfast {digest}'
BEGIN
    DECLARE the_type VARBINARY(1024) DEFAULT CONVERT(LEFT(type, 256) USING binary);
    DECLARE the_id VARBINARY(1024) DEFAULT CONVERT(LEFT(id, 256) USING binary);
    DECLARE the_session VARBINARY(1024) DEFAULT CONVERT(LEFT(session, 256) USING binary);
    DECLARE resource TEXT CHARACTER SET utf8mb4 DEFAULT CONCAT(IFNULL(LEFT(type, 64), ''), '/', IFNULL(LEFT(id, 255), ''));
    DECLARE my_mode, their_mode VARBINARY(16);
    DECLARE their_name, their_purpose, refusal TEXT CHARACTER SET utf8mb4;
    DECLARE now_us, my_fence, my_ends_us, my_ended_us, my_expires_us, since_us, until_us, holders BIGINT;
    DECLARE since_text, until_text VARCHAR(32) CHARACTER SET utf8mb4;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SELECT COUNT(*) INTO holders FROM {ns}_resource r WHERE r.type = the_type AND r.id = the_id LOCK IN SHARE MODE;
    SET now_us = UNIX_TIMESTAMP() * 1000000 + MICROSECOND(NOW(6))
               + GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)));
    SELECT l.mode, l.fence, l.ends_us INTO my_mode, my_fence, my_ends_us
      FROM {ns}_lock l WHERE l.type = the_type AND l.id = the_id AND l.session = the_session LOCK IN SHARE MODE;
    SELECT s.ended_us, s.expires_us INTO my_ended_us, my_expires_us FROM {ns}_session s WHERE s.id = the_session;
    IF my_fence IS NOT NULL AND (my_expires_us IS NULL OR my_expires_us <= now_us) THEN
        SELECT s.ended_us, s.expires_us INTO my_ended_us, my_expires_us
          FROM {ns}_session s WHERE s.id = the_session LOCK IN SHARE MODE;
        SET now_us = UNIX_TIMESTAMP() * 1000000 + MICROSECOND(NOW(6))
                   + GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)));
    END IF;

    IF fence IS NULL OR fence <= 0 THEN
        SET refusal = CONCAT('A fence is needed to save ', resource, '; pass the one that acquire answered.');
    ELSEIF my_fence IS NOT NULL AND my_ended_us IS NULL AND my_expires_us > now_us AND IFNULL(my_ends_us > now_us, TRUE) THEN
        IF my_fence <> fence THEN
            SET refusal = CONCAT('Fence ', fence, ' of ', resource, ' is of another grant; that of the live one is ', my_fence, '.');
        ELSEIF my_mode <> 'exclusive' THEN
            SET refusal = CONCAT('The session holds ', resource, ' only to read; acquire it exclusively to save.');
        END IF;
    ELSE
        -- Of several readers the last to go frees it.
        SELECT COUNT(*), MAX(LEAST(IFNULL(l.ends_us, s.expires_us), s.expires_us)) INTO holders, until_us
          FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
         WHERE l.type = the_type AND l.id = the_id AND NOT l.session <=> the_session
           AND s.ended_us IS NULL AND s.expires_us > now_us AND IFNULL(l.ends_us > now_us, TRUE) LOCK IN SHARE MODE;
        SELECT l.mode, CONVERT(s.name USING utf8mb4), CONVERT(l.purpose USING utf8mb4), l.since_us
          INTO their_mode, their_name, their_purpose, since_us
          FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
         WHERE l.type = the_type AND l.id = the_id AND NOT l.session <=> the_session
           AND s.ended_us IS NULL AND s.expires_us > now_us AND IFNULL(l.ends_us > now_us, TRUE)
         ORDER BY l.fence LIMIT 1 LOCK IN SHARE MODE;
        IF holders = 0 THEN
            SET refusal = 'Your editing session has expired; reload the record.';
        ELSE
            SET since_text = DATE_FORMAT(TIMESTAMP('1970-01-01') + INTERVAL since_us MICROSECOND,
                IF(since_us DIV 86400000000 = now_us DIV 86400000000, '%H:%i UTC', '%Y-%m-%d %H:%i UTC'));
            SET until_text = DATE_FORMAT(TIMESTAMP('1970-01-01') + INTERVAL until_us MICROSECOND,
                IF(until_us DIV 86400000000 = now_us DIV 86400000000, '%H:%i UTC', '%Y-%m-%d %H:%i UTC'));
            SET resource = CONCAT(resource, ' is being ', IF(their_mode = 'shared', 'read', 'edited'), ' by ', their_name,
                IF(holders > 2, CONCAT(' and ', holders - 1, ' others'), IF(holders > 1, ' and 1 other', '')));
            SET refusal = CONCAT(resource, ' since ', since_text, IF(their_purpose <> '', CONCAT(' ("', their_purpose, '")'), ''),
                '; it frees at ', until_text, ' or when ', IF(holders > 1, 'all of them have closed it.', CONCAT(their_name, ' closes it.')));
            IF CHAR_LENGTH(refusal) > 128 THEN
                SET refusal = CONCAT(resource, ' since ', since_text, '; it frees at ', until_text, '.');
            END IF;
        END IF;
    END IF;

    IF refusal IS NOT NULL THEN
        SET refusal = IF(CHAR_LENGTH(refusal) > 128, CONCAT(LEFT(refusal, 125), '...'), refusal);
        SIGNAL SQLSTATE '23H01' SET MESSAGE_TEXT = refusal, MYSQL_ERRNO = 1216;
    END IF;
END//
DELIMITER ;
