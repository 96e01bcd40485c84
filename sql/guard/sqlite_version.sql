-- A row carries the version that was read. The version moves by one, and the number stays behind it.
CREATE TRIGGER {trigger_insert} BEFORE INSERT ON {table}
WHEN {defaulted} OR EXISTS (SELECT 1 FROM {table} AS g WHERE {taken})
BEGIN
{refuse_insert}END;
CREATE TRIGGER {trigger_inserted} AFTER INSERT ON {table}
WHEN NEW.holdfast IS NOT NULL
BEGIN
    UPDATE {table} SET holdfast = NULL WHERE {is_new};
END;
CREATE TRIGGER {trigger_update} BEFORE UPDATE ON {table}
WHEN NOT (NEW.holdfast IS coalesce(OLD.{version}, 0) AND {same_key}
          AND coalesce(NEW.{version}, 0) - coalesce(OLD.{version}, 0) IN (0, 1)
       OR (NEW.holdfast IS -coalesce(OLD.{version}, 0) OR NEW.holdfast IS NULL AND OLD.holdfast IS NOT NULL) AND {same_rest})
     OR {defaulted} OR NOT ({same_unique}) AND EXISTS (SELECT 1 FROM {table} AS g WHERE ({taken}) AND NOT ({is_old}))
BEGIN
{refuse_update}END;
CREATE TRIGGER {trigger_updated} AFTER UPDATE ON {table}
WHEN NEW.holdfast IS coalesce(NEW.{version}, 0)
BEGIN
    UPDATE {table} SET {version} = coalesce({version}, 0) + 1 WHERE {is_new};
END;
CREATE TRIGGER {trigger_delete} BEFORE DELETE ON {table}
WHEN OLD.holdfast IS NOT -coalesce(OLD.{version}, 0) OR OLD.holdfast IS NULL
BEGIN
{refuse_delete}END;
