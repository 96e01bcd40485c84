DROP TRIGGER IF EXISTS {trigger_insert};
DROP TRIGGER IF EXISTS {trigger_inserted};
DROP TRIGGER IF EXISTS {trigger_update};
DROP TRIGGER IF EXISTS {trigger_updated};
DROP TRIGGER IF EXISTS {trigger_delete};
