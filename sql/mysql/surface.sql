-- The surface: what applications in any language use (docs/sql.md). It is made anew by every
-- install.

-- A locking read of a view locks no row of a table that stands in a subquery, and the planner merges these. Else an account that may only
-- read could keep everyone from acquiring, and from a beat.

-- The locks that are live now, as text, times in UTC. No key, no hash, no request id.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW {ns}_locks AS
SELECT CONVERT(l.type USING utf8mb4) COLLATE utf8mb4_bin AS type,
       CONVERT(l.id USING utf8mb4) COLLATE utf8mb4_bin AS id,
       CONVERT(l.mode USING utf8mb4) COLLATE utf8mb4_bin AS mode,
       l.fence AS fence,
       TIMESTAMP('1970-01-01 00:00:00.000000') + INTERVAL l.since_us MICROSECOND AS since,
       TIMESTAMP('1970-01-01 00:00:00.000000') + INTERVAL LEAST(IFNULL(l.ends_us, s.expires_us),
           s.expires_us) MICROSECOND AS expires,
       CONVERT(l.purpose USING utf8mb4) COLLATE utf8mb4_bin AS purpose,
       CONVERT(l.session USING utf8mb4) COLLATE utf8mb4_bin AS session,
       CONVERT(s.user USING utf8mb4) COLLATE utf8mb4_bin AS user,
       CONVERT(s.name USING utf8mb4) COLLATE utf8mb4_bin AS name
  FROM (SELECT * FROM {ns}_lock) l JOIN (SELECT * FROM {ns}_session) s ON s.id = l.session
 WHERE s.ended_us IS NULL
   AND s.expires_us > UNIX_TIMESTAMP() * 1000000 + MICROSECOND(NOW(6))
   AND (l.ends_us IS NULL OR l.ends_us > UNIX_TIMESTAMP() * 1000000 + MICROSECOND(NOW(6)));

-- What was saved last of each resource, deleted ones too (gone).
CREATE OR REPLACE SQL SECURITY DEFINER VIEW {ns}_versions AS
SELECT CONVERT(r.type USING utf8mb4) COLLATE utf8mb4_bin AS type,
       CONVERT(r.id USING utf8mb4) COLLATE utf8mb4_bin AS id,
       r.version AS version,
       r.saved_fence AS fence,
       TIMESTAMP('1970-01-01 00:00:00.000000') + INTERVAL r.saved_us MICROSECOND AS saved,
       r.gone AS gone,
       CONVERT(r.saved_session USING utf8mb4) COLLATE utf8mb4_bin AS session,
       CONVERT(r.saved_user USING utf8mb4) COLLATE utf8mb4_bin AS user,
       CONVERT(r.saved_name USING utf8mb4) COLLATE utf8mb4_bin AS name
  FROM (SELECT * FROM {ns}_resource) r WHERE r.version > 0;

-- (Grants on a procedure go with it, unless MariaDB replaces it: 'holdfast install' takes care
-- of that.)
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
DELIMITER //

-- ---- what the procedures below share; they run with the rights of who calls them ----

-- The time now. NOW and UTC_TIMESTAMP obey the variable `timestamp`, which every account may set, and in a trigger tell when the statement
-- began. SYSDATE does neither, but it is in the zone of the session. So that is set for the one statement: on MariaDB by SET STATEMENT, on MySQL by
-- the statements marked 80001, which put it back as well.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_clock(OUT now_us BIGINT)
    NO SQL SQL SECURITY INVOKER COMMENT 'holdfast {digest}'
BEGIN
    /*!80001 DECLARE zone VARCHAR(64) DEFAULT @@session.time_zone; */
    /*!80001 SET time_zone = '+00:00'; */
    /*M!100103 SET STATEMENT time_zone = '+00:00' FOR */
    SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) INTO now_us;
    /*!80001 SET time_zone = zone; */
END//

-- Refuses with a sentence, cut to the 128 characters there is room for. Drivers for Python tell
-- errors apart by number alone: 1216 and 1217 are among those that they take for a violated
-- constraint, 1264 for bad data, 1205 for one that is worth another try, 1213 too, after which
-- the server has rolled back.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_refuse(
    IN number INT, IN sentence TEXT CHARACTER SET utf8mb4)
    NO SQL SQL SECURITY INVOKER COMMENT 'holdfast {digest}'
BEGIN
    SET sentence = IF(CHAR_LENGTH(sentence) > 128, CONCAT(LEFT(sentence, 125), '...'), sentence);
    CASE number
        WHEN 1216 THEN SIGNAL SQLSTATE '23H01' SET MESSAGE_TEXT = sentence, MYSQL_ERRNO = 1216;
        WHEN 1217 THEN SIGNAL SQLSTATE '23H02' SET MESSAGE_TEXT = sentence, MYSQL_ERRNO = 1217;
        WHEN 1205 THEN SIGNAL SQLSTATE '40001' SET MESSAGE_TEXT = sentence, MYSQL_ERRNO = 1205;
        WHEN 1213 THEN SIGNAL SQLSTATE '40001' SET MESSAGE_TEXT = sentence, MYSQL_ERRNO = 1213;
        ELSE SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = sentence, MYSQL_ERRNO = 1264;
    END CASE;
END//

-- The sentence that names who else holds it: the first of them, and how many there are. Of
-- several readers the last to go frees it.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_say_holders(
    IN resource TEXT CHARACTER SET utf8mb4, IN mode VARBINARY(16),
    IN name TEXT CHARACTER SET utf8mb4, IN purpose TEXT CHARACTER SET utf8mb4, IN since_us BIGINT,
    IN until_us BIGINT, IN holders BIGINT, IN now_us BIGINT,
    OUT sentence TEXT CHARACTER SET utf8mb4)
    NO SQL SQL SECURITY INVOKER COMMENT 'holdfast {digest}'
BEGIN
    DECLARE since_text, until_text VARCHAR(32) CHARACTER SET utf8mb4;
    SET since_text = DATE_FORMAT(TIMESTAMP('1970-01-01') + INTERVAL since_us MICROSECOND,
        IF(since_us DIV 86400000000 = now_us DIV 86400000000, '%H:%i UTC', '%Y-%m-%d %H:%i UTC'));
    SET until_text = DATE_FORMAT(TIMESTAMP('1970-01-01') + INTERVAL until_us MICROSECOND,
        IF(until_us DIV 86400000000 = now_us DIV 86400000000, '%H:%i UTC', '%Y-%m-%d %H:%i UTC'));
    SET resource = CONCAT(resource, ' is being ', IF(mode = 'shared', 'read', 'edited'), ' by ',
        name, CASE holders WHEN 1 THEN '' WHEN 2 THEN ' and 1 other'
                           ELSE CONCAT(' and ', holders - 1, ' others') END);
    SET sentence = CONCAT(resource, ' since ', since_text,
        IF(purpose <> '', CONCAT(' ("', purpose, '")'), ''),
        '; it frees at ', until_text, ' or when ',
        IF(holders > 1, 'all of them have closed it.', CONCAT(name, ' closes it.')));
    IF CHAR_LENGTH(sentence) > 128 THEN
        SET sentence = CONCAT(resource, ' since ', since_text, '; it frees at ', until_text, '.');
    END IF;
END//

-- Refuses if the version is another than the one expected (NULL: none, it was absent).
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_refuse_stale(
    IN resource TEXT CHARACTER SET utf8mb4, IN expected BIGINT, IN version BIGINT, IN gone BOOLEAN,
    IN saved_us BIGINT, IN saved_name TEXT CHARACTER SET utf8mb4, IN now_us BIGINT)
    NO SQL SQL SECURITY INVOKER COMMENT 'holdfast {digest}'
BEGIN
    DECLARE there BOOLEAN DEFAULT IFNULL(version > 0 AND NOT gone, FALSE);
    DECLARE who, sentence TEXT CHARACTER SET utf8mb4;
    IF (there AND version <=> expected) OR (NOT there AND expected IS NULL) THEN
        SET sentence = NULL;
    ELSEIF IFNULL(version, 0) = 0 THEN
        SET sentence = CONCAT(resource, ' was never saved (you read version ', expected, ').');
    ELSE
        SET who = DATE_FORMAT(TIMESTAMP('1970-01-01') + INTERVAL saved_us MICROSECOND,
            IF(saved_us DIV 86400000000 = now_us DIV 86400000000,
               '%H:%i UTC', '%Y-%m-%d %H:%i UTC'));
        IF gone THEN
            SET who = CONCAT(resource, ' was deleted by ', saved_name, ' at ', who);
            SET sentence = CONCAT(
                who, ' (you read version ', expected, ', it is now ', version, ').');
        ELSEIF expected IS NULL THEN
            SET who = CONCAT(resource, ' is there already: ', saved_name, ' saved it at ', who);
            SET sentence = CONCAT(who, ', and it is now version ', version, '.');
        ELSE
            SET who = CONCAT(resource, ' was changed by ', saved_name, ' at ', who);
            SET sentence = CONCAT(
                who, ' (you read version ', expected, ', it is now ', version, ').');
        END IF;
        IF CHAR_LENGTH(sentence) > 128 THEN
            SET sentence = CONCAT(who, '.');
        END IF;
    END IF;
    IF sentence IS NOT NULL THEN
        CALL {ns}_refuse(1217, sentence);
    END IF;
END//

-- Refuses names that no store would take.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_check_names(
    IN type TEXT CHARACTER SET utf8mb4, IN id TEXT CHARACTER SET utf8mb4)
    NO SQL SQL SECURITY INVOKER COMMENT 'holdfast {digest}'
BEGIN
    IF type IS NULL OR LENGTH(type) = 0 THEN
        CALL {ns}_refuse(1264, 'The type is empty.');
    ELSEIF LENGTH(type) > 64 THEN
        CALL {ns}_refuse(1264, 'The type is longer than 64 bytes.');
    ELSEIF type COLLATE utf8mb4_bin REGEXP '^[^a-z]|[^a-z0-9_.-]' THEN
        CALL {ns}_refuse(1264,
            'The type may only hold a-z, 0-9, _, . and -, and begins with a letter.');
    ELSEIF id IS NULL OR LENGTH(id) = 0 THEN
        CALL {ns}_refuse(1264, 'The id is empty.');
    ELSEIF LENGTH(id) > 1024 THEN
        CALL {ns}_refuse(1264, 'The id is longer than 1024 bytes.');
    ELSEIF id COLLATE utf8mb4_bin REGEXP '[\\x00-\\x1f\\x7f-\\x{9f}]' THEN
        CALL {ns}_refuse(1264, 'The id holds control characters.');
    END IF;
END//

-- A save (gone: a deletion) by the law of every store: the anchor is locked first, then the
-- clock is read, then locks and version are looked at. Locks are read without locking them, as a
-- store does, for that would lock the gap beside them too: they are as the snapshot shows them
-- if the anchor is, since every change of theirs writes it. If it is not, the transaction is to
-- be run again. Only of a session that looks dead a beat may have come since: it is locked and
-- looked at as it is now.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_write(
    IN type TEXT CHARACTER SET utf8mb4, IN id TEXT CHARACTER SET utf8mb4, IN version BIGINT,
    IN user TEXT CHARACTER SET utf8mb4, IN session TEXT CHARACTER SET utf8mb4, IN fence BIGINT,
    IN gone BOOLEAN, OUT saved_fence BIGINT)
    MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'holdfast {digest}'
BEGIN
    DECLARE the_type VARBINARY(1024) DEFAULT CONVERT(LEFT(type, 256) USING binary);
    DECLARE the_id VARBINARY(4100) DEFAULT CONVERT(LEFT(id, 1025) USING binary);
    DECLARE the_session VARBINARY(1024) DEFAULT CONVERT(LEFT(session, 256) USING binary);
    DECLARE saver_user, saver_name VARBINARY(1024) DEFAULT CONVERT(LEFT(user, 256) USING binary);
    DECLARE resource TEXT CHARACTER SET utf8mb4
        DEFAULT CONCAT(IFNULL(LEFT(type, 64), ''), '/', IFNULL(LEFT(id, 1024), ''));
    DECLARE policy VARBINARY(32) DEFAULT '';
    DECLARE at_fence, at_rev, seen_rev, at_version, at_saved_us, at_saved_fence, at_gone BIGINT;
    DECLARE at_saved_name TEXT CHARACTER SET utf8mb4;
    DECLARE at_saved_request VARBINARY(321);
    DECLARE now_us, my_fence, my_ends_us, my_ended_us, my_expires_us, floor BIGINT;
    DECLARE my_mode, l_mode, their_mode VARBINARY(16);
    DECLARE l_session, dead_session VARBINARY(32);
    DECLARE l_fence, l_since_us, l_ends_us, s_ended_us, s_expires_us, dead_fence BIGINT;
    DECLARE their_since_us, until_us BIGINT;
    DECLARE holders, dead_count BIGINT DEFAULT 0;
    DECLARE l_purpose, s_name, their_purpose, their_name, refusal TEXT CHARACTER SET utf8mb4;
    DECLARE dead, losers BLOB;
    DECLARE done BOOLEAN DEFAULT FALSE;
    DECLARE held CURSOR FOR
        SELECT l.session, l.mode, l.fence, l.since_us, l.ends_us, CONVERT(l.purpose USING utf8mb4),
               CONVERT(s.name USING utf8mb4), s.ended_us, s.expires_us
          FROM {ns}_lock l LEFT JOIN {ns}_session s ON s.id = l.session
         WHERE l.type = the_type AND l.id = the_id ORDER BY l.fence;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
    -- MariaDB with innodb_snapshot_isolation (the default from 11.6.2 on) has rolled back then.
    DECLARE EXIT HANDLER FOR 1020 CALL {ns}_refuse(1213, CONCAT('The transaction began before the ',
        'last change of ', resource, '; run it again.'));

    CALL {ns}_check_names(type, id);
    IF version < 0 THEN
        CALL {ns}_refuse(1264, 'The version is negative: they count from 1.');
    ELSEIF gone AND version IS NULL THEN
        CALL {ns}_refuse(1264,
            CONCAT(resource, ' is expected to be absent, which can''t be deleted.'));
    ELSEIF session IS NULL AND fence <> 0 THEN
        CALL {ns}_refuse(1264,
            'The save names a fence, which only a session has: name the session too.');
    ELSEIF session IS NULL AND (user IS NULL OR LENGTH(user) = 0) THEN
        CALL {ns}_refuse(1264, 'The user is missing: name who saves, or a session.');
    ELSEIF LENGTH(user) > 255 THEN
        CALL {ns}_refuse(1264, 'The user is longer than 255 bytes.');
    ELSEIF user COLLATE utf8mb4_bin REGEXP '[\\x00-\\x1f\\x7f-\\x{9f}]' THEN
        CALL {ns}_refuse(1264, 'The user holds control characters.');
    ELSEIF @@session.insert_id <> 0 THEN -- an event with the highest of all ids would be the last
        CALL {ns}_refuse(1264, CONCAT('The session has set insert_id, which an event would get; ',
            'save before that, or after the INSERT that it is meant for.'));
    END IF;

    DROP TEMPORARY TABLE IF EXISTS {ns}_meta, {ns}_type, {ns}_resource, {ns}_session, {ns}_lock,
        {ns}_save, {ns}_event, {ns}_lost;
    -- Policies do not change meanwhile, and are read as they are now.
    SELECT 1 INTO floor FROM {ns}_meta m WHERE m.name = 'types' LOCK IN SHARE MODE;
    SELECT t.policy INTO policy FROM {ns}_type t WHERE t.type = the_type LOCK IN SHARE MODE;
    -- Makes the anchor, or locks it and leaves it as it is.
    INSERT INTO {ns}_resource (type, id, fence, rev) VALUES (the_type, the_id, 0, 0)
        ON DUPLICATE KEY UPDATE rev = {ns}_resource.rev;
    SELECT r.fence, r.rev, r.version, r.gone, r.saved_us, r.saved_fence,
           CONVERT(r.saved_name USING utf8mb4), r.saved_request
      INTO at_fence, at_rev, at_version, at_gone, at_saved_us, at_saved_fence, at_saved_name,
           at_saved_request
      FROM {ns}_resource r WHERE r.type = the_type AND r.id = the_id FOR UPDATE;
    CALL {ns}_clock(now_us);
    SELECT r.rev INTO seen_rev FROM {ns}_resource r WHERE r.type = the_type AND r.id = the_id;
    IF NOT seen_rev <=> at_rev THEN
        IF NOT version <=> 0 THEN
            CALL {ns}_refuse_stale(resource, version, at_version, at_gone, at_saved_us,
                at_saved_name, now_us);
        END IF;
        CALL {ns}_refuse(1205, CONCAT('The transaction began before the last change of ', resource,
            '; roll it back and run it again.'));
    END IF;

    IF the_session IS NOT NULL THEN
        SET saver_user = NULL, saver_name = NULL;
        SELECT s.user, s.name, s.ended_us, s.expires_us
          INTO saver_user, saver_name, my_ended_us, my_expires_us
          FROM {ns}_session s WHERE s.id = the_session;
        IF my_expires_us IS NULL OR my_expires_us <= now_us THEN
            SELECT s.user, s.name, s.ended_us, s.expires_us
              INTO saver_user, saver_name, my_ended_us, my_expires_us
              FROM {ns}_session s WHERE s.id = the_session LOCK IN SHARE MODE;
            CALL {ns}_clock(now_us);
        END IF;
        IF user IS NOT NULL AND saver_user <> CONVERT(user USING binary) THEN
            CALL {ns}_refuse(1264, CONCAT(
                'The session is of the user ', CONVERT(saver_user USING utf8mb4),
                ', and the save names ', user, ': name the same, or none.'));
        END IF;
    END IF;
    SET done = FALSE;
    OPEN held;
    one: LOOP
        FETCH held INTO l_session, l_mode, l_fence, l_since_us, l_ends_us, l_purpose, s_name,
                        s_ended_us, s_expires_us;
        IF done THEN
            LEAVE one;
        END IF;
        IF l_session <=> the_session THEN
            SET my_mode = l_mode, my_fence = l_fence, my_ends_us = l_ends_us;
            ITERATE one;
        END IF;
        IF s_ended_us IS NULL AND s_expires_us <= now_us THEN
            SELECT s.ended_us, s.expires_us INTO s_ended_us, s_expires_us
              FROM {ns}_session s WHERE s.id = l_session LOCK IN SHARE MODE;
            SET done = FALSE;
            CALL {ns}_clock(now_us);
        END IF;
        IF s_ended_us IS NULL AND s_expires_us > now_us AND IFNULL(l_ends_us > now_us, TRUE) THEN
            IF holders = 0 THEN
                SET their_mode = l_mode, their_name = s_name, their_purpose = l_purpose,
                    their_since_us = l_since_us;
            END IF;
            SET holders = holders + 1;
            SET until_us = GREATEST(IFNULL(until_us, 0),
                LEAST(IFNULL(l_ends_us, s_expires_us), s_expires_us));
        ELSE
            SET dead = CONCAT_WS(',', dead, l_fence), dead_count = dead_count + 1,
                dead_session = l_session, dead_fence = l_fence;
            IF s_ended_us IS NULL AND s_expires_us > now_us THEN
                SET losers = CONCAT_WS(',', losers, l_fence);
            END IF;
        END IF;
    END LOOP;
    CLOSE held;
    IF my_fence IS NOT NULL AND my_ends_us <= now_us THEN
        SET dead = CONCAT_WS(',', dead, my_fence), dead_count = dead_count + 1,
            dead_session = the_session, dead_fence = my_fence, my_fence = NULL, my_mode = NULL;
    END IF;

    IF the_session IS NOT NULL
       AND (saver_user IS NULL OR my_ended_us IS NOT NULL OR my_expires_us <= now_us) THEN
        SET refusal = 'Your editing session has expired; reload the record.';
    ELSEIF my_mode = 'shared' THEN
        SET refusal = CONCAT('The session holds ', resource,
            ' only to read; acquire it exclusively to save.');
    ELSEIF my_fence <> fence AND fence <> 0 THEN
        SET refusal = CONCAT('Fence ', fence, ' of ', resource,
            ' is of another grant; that of the live one is ', my_fence, '.');
    ELSEIF my_fence IS NULL AND holders > 0 THEN
        CALL {ns}_say_holders(resource, their_mode, their_name, their_purpose, their_since_us,
            until_us, holders, now_us, refusal);
    ELSEIF my_fence IS NULL
           AND (policy IN ('exclusive-write', 'exclusive-read', 'read-write')
                OR IFNULL(fence, 0) <> 0) THEN
        SET refusal = IF(the_session IS NULL,
            CONCAT('The policy of ', type, ' is ', CONVERT(policy USING utf8mb4),
                ': whoever saves needs an exclusive lock; acquire it in a session.'),
            CONCAT('The session does not hold ', resource, '; acquire it first.'));
    END IF;
    IF refusal IS NOT NULL THEN
        CALL {ns}_refuse(1216, refusal);
    END IF;
    IF version = 0 AND my_fence IS NULL THEN
        CALL {ns}_refuse(1264, CONCAT('Nothing says what ', resource, ' was when it was read: ',
            'name its version, or NULL if it was absent, or hold its lock.'));
    END IF;
    IF NOT version <=> 0 THEN
        CALL {ns}_refuse_stale(resource, version, at_version, at_gone, at_saved_us, at_saved_name,
            now_us);
    END IF;

    SET floor = (SELECT CAST(m.value AS SIGNED) FROM {ns}_meta m WHERE m.name = 'fence_floor');
    SET saved_fence = GREATEST(now_us, 1 + GREATEST(at_fence, IFNULL(floor, 0)));
    UPDATE {ns}_resource r
       SET r.fence = saved_fence, r.rev = at_rev + 1 + dead_count,
           r.ended_request = IF(dead_count > 0, NULL, r.ended_request),
           r.ended_session = IFNULL(dead_session, r.ended_session),
           r.ended_fence = IFNULL(dead_fence, r.ended_fence),
           r.ended_us = IF(dead_count > 0, now_us, r.ended_us),
           r.version = at_version + 1, r.saved_fence = saved_fence, r.saved_us = now_us,
           r.saved_session = the_session, r.saved_user = saver_user, r.saved_name = saver_name,
           r.saved_request = NULL, r.gone = gone
     WHERE r.type = the_type AND r.id = the_id AND r.rev = at_rev;
    IF ROW_COUNT() = 0 THEN -- without a transaction the anchor was not kept locked
        CALL {ns}_refuse(1205, CONCAT('Someone has changed ', resource,
            ' meanwhile; save in a transaction.'));
    END IF;
    -- The request id of the save that this one covers is kept for a day.
    IF at_saved_request <> '' AND at_saved_us + 86400000000 > now_us THEN
        REPLACE INTO {ns}_save (type, id, request, version, fence, saved_us, gone,
            covered_us)
        VALUES (the_type, the_id, at_saved_request, at_version, at_saved_fence, at_saved_us,
            at_gone, now_us);
    END IF;
    -- Dead locks go as acquire ends them: each with an event, and a live session is told on beats.
    -- They are named by their fences: without a transaction the session may have acquired anew.
    IF dead_count > 0 THEN
        INSERT INTO {ns}_event (at_us, kind, type, resource_id, session, user, fence)
        SELECT now_us, 'expired', l.type, l.id, l.session, s.user, l.fence
          FROM {ns}_lock l LEFT JOIN {ns}_session s ON s.id = l.session
         WHERE l.type = the_type AND l.id = the_id AND FIND_IN_SET(l.fence, dead)
         ORDER BY l.fence;
        INSERT INTO {ns}_lost (session, type, id, fence, at_us, why, by_name)
        SELECT l.session, l.type, l.id, l.fence, l.ends_us, 'expired',
               IF(the_session IS NULL, NULL, saver_name)
          FROM {ns}_lock l
         WHERE l.type = the_type AND l.id = the_id AND FIND_IN_SET(l.fence, losers)
            ON DUPLICATE KEY UPDATE fence = VALUES(fence), at_us = VALUES(at_us), why = VALUES(why),
               by_name = VALUES(by_name), reason = NULL;
        DELETE FROM {ns}_lock
         WHERE {ns}_lock.type = the_type AND {ns}_lock.id = the_id
           AND FIND_IN_SET({ns}_lock.fence, dead);
    END IF;
    INSERT INTO {ns}_event (at_us, kind, type, resource_id, session, user, fence)
    VALUES (now_us, IF(gone, 'deleted', 'saved'), the_type, the_id, the_session, saver_user,
        saved_fence);
END//

-- A temporary table hides a table of the same name wherever a statement is run in its session, in here as well. So whatever a caller has
-- made by the names that are used below is dropped before they are used. (Where all tables are opened before, in a trigger of the
-- application's own, the next use of the name fails.)

-- ---- what applications call, with the rights of the definer: an account needs EXECUTE only ----

-- Called first in a transaction that saves: does this session hold type/id exclusively now, with
-- this fence? If not, it raises SQLSTATE 23H01 with a sentence for a person. If so, nobody takes
-- the lock away until the transaction ends: the anchor is locked first, then the clock is read,
-- then the lock is looked at as it is now, whatever the transaction has seen before. The session
-- is only locked when it looks dead, so that beats go on meanwhile. The anchor is written too,
-- so that whoever acquires it later, in a transaction whose snapshot is older than this save, is
-- told to run it again and does not get the lock with an old record.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_check(
    IN type TEXT CHARACTER SET utf8mb4, IN id TEXT CHARACTER SET utf8mb4,
    IN session TEXT CHARACTER SET utf8mb4, IN fence BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'holdfast {digest}'
BEGIN
    DECLARE the_type VARBINARY(1024) DEFAULT CONVERT(LEFT(type, 256) USING binary);
    DECLARE the_id VARBINARY(4100) DEFAULT CONVERT(LEFT(id, 1025) USING binary);
    DECLARE the_session VARBINARY(1024) DEFAULT CONVERT(LEFT(session, 256) USING binary);
    DECLARE resource TEXT CHARACTER SET utf8mb4
        DEFAULT CONCAT(IFNULL(LEFT(type, 64), ''), '/', IFNULL(LEFT(id, 1024), ''));
    DECLARE my_mode, their_mode VARBINARY(16);
    DECLARE their_name, their_purpose, refusal TEXT CHARACTER SET utf8mb4;
    DECLARE now_us, my_fence, my_ends_us, my_ended_us, my_expires_us, since_us, until_us,
        holders BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- MariaDB with innodb_snapshot_isolation (the default from 11.6.2 on) has rolled back then.
    DECLARE EXIT HANDLER FOR 1020 CALL {ns}_refuse(1213, CONCAT('The transaction began before the ',
        'last change of ', resource, '; run it again.'));

    CALL {ns}_check_names(type, id);
    DROP TEMPORARY TABLE IF EXISTS {ns}_resource, {ns}_session, {ns}_lock;
    SELECT COUNT(*) INTO holders
      FROM {ns}_resource r WHERE r.type = the_type AND r.id = the_id FOR UPDATE;
    CALL {ns}_clock(now_us);
    SELECT l.mode, l.fence, l.ends_us INTO my_mode, my_fence, my_ends_us
      FROM {ns}_lock l
     WHERE l.type = the_type AND l.id = the_id AND l.session = the_session LOCK IN SHARE MODE;
    SELECT s.ended_us, s.expires_us INTO my_ended_us, my_expires_us
      FROM {ns}_session s WHERE s.id = the_session;
    IF my_fence IS NOT NULL AND (my_expires_us IS NULL OR my_expires_us <= now_us) THEN
        SELECT s.ended_us, s.expires_us INTO my_ended_us, my_expires_us
          FROM {ns}_session s WHERE s.id = the_session LOCK IN SHARE MODE;
        CALL {ns}_clock(now_us);
    END IF;

    IF fence IS NULL OR fence <= 0 THEN
        SET refusal = CONCAT('A fence is needed to save ', resource,
            '; pass the one that acquire answered.');
    ELSEIF my_fence IS NOT NULL AND my_ended_us IS NULL AND my_expires_us > now_us
           AND IFNULL(my_ends_us > now_us, TRUE) THEN
        IF my_fence <> fence THEN
            SET refusal = CONCAT('Fence ', fence, ' of ', resource,
                ' is of another grant; that of the live one is ', my_fence, '.');
        ELSEIF my_mode <> 'exclusive' THEN
            SET refusal = CONCAT('The session holds ', resource,
                ' only to read; acquire it exclusively to save.');
        END IF;
    ELSE
        SELECT COUNT(*), MAX(LEAST(IFNULL(l.ends_us, s.expires_us), s.expires_us))
          INTO holders, until_us
          FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
         WHERE l.type = the_type AND l.id = the_id AND NOT l.session <=> the_session
           AND s.ended_us IS NULL AND s.expires_us > now_us AND IFNULL(l.ends_us > now_us, TRUE)
          LOCK IN SHARE MODE;
        SELECT l.mode, CONVERT(s.name USING utf8mb4), CONVERT(l.purpose USING utf8mb4), l.since_us
          INTO their_mode, their_name, their_purpose, since_us
          FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
         WHERE l.type = the_type AND l.id = the_id AND NOT l.session <=> the_session
           AND s.ended_us IS NULL AND s.expires_us > now_us AND IFNULL(l.ends_us > now_us, TRUE)
         ORDER BY l.fence LIMIT 1 LOCK IN SHARE MODE;
        IF holders = 0 THEN
            SET refusal = 'Your editing session has expired; reload the record.';
        ELSE
            CALL {ns}_say_holders(resource, their_mode, their_name, their_purpose, since_us,
                until_us, holders, now_us, refusal);
        END IF;
    END IF;
    IF refusal IS NOT NULL THEN
        CALL {ns}_refuse(1216, refusal);
    END IF;
    UPDATE {ns}_resource r SET r.rev = r.rev + 1 WHERE r.type = the_type AND r.id = the_id;
END//

-- Called first in a transaction that saves: counts the version of type/id up, if it is still the
-- version that was read (NULL: it was not there; 0: not said, the lock is the check);
-- saved_fence is the fence of this save. If it is another version, SQLSTATE 23H02; if a lock is
-- missing or someone else's, 23H01; each with a sentence for a person. The user is who saves;
-- with a session that session's, and NULL will do.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_save(
    IN type TEXT CHARACTER SET utf8mb4, IN id TEXT CHARACTER SET utf8mb4, IN version BIGINT,
    IN user TEXT CHARACTER SET utf8mb4, IN session TEXT CHARACTER SET utf8mb4, IN fence BIGINT,
    OUT saved_fence BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'holdfast {digest}'
BEGIN
    CALL {ns}_write(type, id, version, user, session, fence, FALSE, saved_fence);
END//

-- The same for a record that the transaction deletes: its number, who and when are kept for a
-- year.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_remove(
    IN type TEXT CHARACTER SET utf8mb4, IN id TEXT CHARACTER SET utf8mb4, IN version BIGINT,
    IN user TEXT CHARACTER SET utf8mb4, IN session TEXT CHARACTER SET utf8mb4, IN fence BIGINT,
    OUT saved_fence BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'holdfast {digest}'
BEGIN
    CALL {ns}_write(type, id, version, user, session, fence, TRUE, saved_fence);
END//

-- A premise: type/id is still at this version (NULL: it is not there), and stays so until the
-- transaction ends. If it is another, SQLSTATE 23H02. What is absent is kept from coming by its
-- anchor, which is made.
CREATE /*M!100103 OR REPLACE */ PROCEDURE {ns}_expect(
    IN type TEXT CHARACTER SET utf8mb4, IN id TEXT CHARACTER SET utf8mb4, IN version BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER COMMENT 'holdfast {digest}'
BEGIN
    DECLARE the_type VARBINARY(1024) DEFAULT CONVERT(LEFT(type, 256) USING binary);
    DECLARE the_id VARBINARY(4100) DEFAULT CONVERT(LEFT(id, 1025) USING binary);
    DECLARE now_us, at_version, at_saved_us, at_gone BIGINT;
    DECLARE at_saved_name TEXT CHARACTER SET utf8mb4;
    DECLARE there BOOL DEFAULT TRUE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- MariaDB with innodb_snapshot_isolation (the default from 11.6.2 on) has rolled back then.
    DECLARE EXIT HANDLER FOR 1020 CALL {ns}_refuse(1213, CONCAT('The transaction began before the ',
        'last change of ', type, '/', id, '; run it again.'));

    CALL {ns}_check_names(type, id);
    IF version <= 0 THEN
        CALL {ns}_refuse(1264, CONCAT('There is no version ', version,
            ': they count from 1, and NULL means absent.'));
    END IF;
    DROP TEMPORARY TABLE IF EXISTS {ns}_resource;
    -- The look locks nothing, and what a snapshot shows may be gone. IGNORE would share the lock of a row that was just deleted; when
    -- that goes for good MariaDB keeps this as a lock on the gap, also for who has gone back to a savepoint.
    IF version IS NULL THEN
        SET there = EXISTS (SELECT * FROM {ns}_resource r WHERE r.type = the_type AND r.id = the_id);
    END IF;
    REPEAT
        IF NOT there THEN
            INSERT INTO {ns}_resource (type, id, fence, rev) VALUES (the_type, the_id, 0, 0)
                ON DUPLICATE KEY UPDATE rev = {ns}_resource.rev;
        END IF;
        SELECT r.version, r.gone, r.saved_us, CONVERT(r.saved_name USING utf8mb4)
          INTO at_version, at_gone, at_saved_us, at_saved_name
          FROM {ns}_resource r WHERE r.type = the_type AND r.id = the_id LOCK IN SHARE MODE;
        SET there = at_version IS NOT NULL;
    UNTIL there OR version IS NOT NULL END REPEAT;
    CALL {ns}_clock(now_us);
    CALL {ns}_refuse_stale(CONCAT(type, '/', id), version, at_version, at_gone, at_saved_us,
        at_saved_name,
        now_us);
END//
DELIMITER ;
