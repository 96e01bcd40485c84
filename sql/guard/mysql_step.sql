CREATE TRIGGER {trigger_update} BEFORE UPDATE ON {table} FOR EACH ROW
BEGIN
    IF NOT (NEW.{version} <=> IFNULL(OLD.{version}, 0) + 1 AND {same_key}) THEN
        CALL {ns}_guard_refuse({name}, 'update', 1217,
            CONCAT({type}, '/', {id_old}, ' is guarded; every change moves its version by one.'));
    END IF;
END
//
