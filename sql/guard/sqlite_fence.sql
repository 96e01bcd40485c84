-- A row carries the fence that was granted on its root. The number goes when it has been looked at.
CREATE TRIGGER {trigger_insert} BEFORE INSERT ON {table}
WHEN {insert_without} {defaulted} OR EXISTS (SELECT 1 FROM {table} AS g WHERE {taken})
BEGIN
{refuse_insert}END;
CREATE TRIGGER {trigger_inserted} AFTER INSERT ON {table}
WHEN NEW.holdfast IS NOT NULL
BEGIN
    UPDATE {table} SET holdfast = NULL WHERE {is_new};
END;
CREATE TRIGGER {trigger_update} BEFORE UPDATE ON {table}
WHEN NOT (coalesce(NEW.holdfast, 0) > 0 AND {same_key} AND {granted_new}
       OR coalesce(NEW.holdfast, 0) < 0 AND {same_rest} AND {granted_marked}
       OR NEW.holdfast IS NULL AND OLD.holdfast IS NOT NULL AND {same_rest})
     OR {defaulted} OR NOT ({same_unique}) AND EXISTS (SELECT 1 FROM {table} AS g WHERE ({taken}) AND NOT ({is_old}))
BEGIN
{refuse_update}END;
CREATE TRIGGER {trigger_updated} AFTER UPDATE ON {table}
WHEN NEW.holdfast > 0
BEGIN
    UPDATE {table} SET holdfast = NULL WHERE {is_new};
END;
CREATE TRIGGER {trigger_delete} BEFORE DELETE ON {table}
WHEN NOT (coalesce(OLD.holdfast, 0) < 0 AND {granted_old})
BEGIN
{refuse_delete}END;
