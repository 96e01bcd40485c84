CREATE TRIGGER {trigger_insert} BEFORE INSERT ON {table} FOR EACH ROW
BEGIN
    {insert_without}SET NEW.holdfast = NULL;
END
//
CREATE TRIGGER {trigger_update} BEFORE UPDATE ON {table} FOR EACH ROW
BEGIN
    DECLARE granted BOOLEAN DEFAULT FALSE;
    {unhide}IF NOT ({same_key}) THEN
        CALL {ns}_guard_refuse({name}, 'update', {errno}, 'The key of a guarded row stays as it is.');
        SET NEW.holdfast = NULL;
    ELSE
        CALL {granted}({type}, {root_old}, ABS(NEW.holdfast), granted);
        IF NOT granted OR NOT (NEW.holdfast > 0 OR {same_rest}) THEN
            CALL {ns}_guard_refuse({name}, 'update', {errno}, {without_old});
        END IF;
        IF NEW.holdfast > 0 OR NOT granted THEN
            SET NEW.holdfast = NULL;
        END IF;
    END IF;
END
//
CREATE TRIGGER {trigger_delete} BEFORE DELETE ON {table} FOR EACH ROW
BEGIN
    DECLARE granted BOOLEAN DEFAULT FALSE;
    {unhide}CALL {granted}({type}, {root_old}, -OLD.holdfast, granted);
    IF NOT granted THEN
        CALL {ns}_guard_refuse({name}, 'delete', {errno}, {without_old});
    END IF;
END
//
