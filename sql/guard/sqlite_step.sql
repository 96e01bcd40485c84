-- The version moves by one with every change; nothing is carried.
CREATE TRIGGER {trigger_insert} BEFORE INSERT ON {table}
WHEN {defaulted} OR EXISTS (SELECT 1 FROM {table} AS g WHERE {taken})
BEGIN
{refuse_insert}END;
CREATE TRIGGER {trigger_update} BEFORE UPDATE ON {table}
WHEN NOT (NEW.{version} IS coalesce(OLD.{version}, 0) + 1 AND {same_key})
     OR {defaulted} OR NOT ({same_unique}) AND EXISTS (SELECT 1 FROM {table} AS g WHERE ({taken}) AND NOT ({is_old}))
BEGIN
{refuse_update}END;
