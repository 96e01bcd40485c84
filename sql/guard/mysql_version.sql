CREATE TRIGGER {trigger_insert} BEFORE INSERT ON {table} FOR EACH ROW
BEGIN
    SET NEW.holdfast = NULL;
END
//
CREATE TRIGGER {trigger_update} BEFORE UPDATE ON {table} FOR EACH ROW
BEGIN
    IF NEW.holdfast = IFNULL(OLD.{version}, 0) AND {same_key} THEN
        SET NEW.{version} = IFNULL(OLD.{version}, 0) + 1;
    ELSEIF NOT ({same_key}) THEN
        CALL {ns}_guard_refuse({name}, 'update', 1217, CONCAT('The key of ', {type}, '/', {id_old}, ' is guarded and stays as it is.'));
        SET NEW.holdfast = NULL;
    ELSEIF NOT (NEW.holdfast <=> -CAST(OLD.{version} AS SIGNED) AND {same_rest}) OR NEW.holdfast IS NULL THEN
        IF NEW.holdfast IS NULL OR NEW.holdfast < 0 THEN
            CALL {ns}_guard_refuse({name}, 'update', 1217,
                CONCAT({type}, '/', {id_old}, ' is guarded; SET holdfast to the version that was read.'));
        ELSEIF NEW.holdfast <=> OLD.holdfast THEN -- it was carried again, or it stood there
            CALL {ns}_guard_refuse({name}, 'update', 1217, CONCAT({type}, '/', {id_old},
                ' was changed since it was read, or holdfast is not set; it is now version ', IFNULL(OLD.{version}, 0), '.'));
        ELSE
            CALL {ns}_guard_refuse({name}, 'update', 1217, CONCAT({type}, '/', {id_old},
                ' was changed since it was read (you read version ', NEW.holdfast, ', it is now ', IFNULL(OLD.{version}, 0), ').'));
        END IF;
        SET NEW.holdfast = NULL;
    END IF;
END
//
CREATE TRIGGER {trigger_delete} BEFORE DELETE ON {table} FOR EACH ROW
BEGIN
    IF NOT OLD.holdfast <=> -CAST(OLD.{version} AS SIGNED) OR OLD.holdfast IS NULL THEN
        CALL {ns}_guard_refuse({name}, 'delete', 1217,
            CONCAT({type}, '/', {id_old}, ' is guarded; to delete it, first SET holdfast = -VERSION and nothing else.'));
    END IF;
END
//
