-- In the order of their names, before others. What carries its version passes by a function that looks up nothing.
CREATE TRIGGER "0_holdfast_insert" BEFORE INSERT ON {table} FOR EACH ROW{insert_when} EXECUTE FUNCTION {function}();
CREATE TRIGGER "0_holdfast_update" BEFORE UPDATE ON {table} FOR EACH ROW{update_when} EXECUTE FUNCTION {function}();
CREATE TRIGGER "0_holdfast_delete" BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {function}();
CREATE TRIGGER "0_holdfast_log" AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {function}();
CREATE TRIGGER "0_holdfast_truncate" BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {function}();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER "0_holdfast_insert";
ALTER TABLE {table} ENABLE ALWAYS TRIGGER "0_holdfast_update";
ALTER TABLE {table} ENABLE ALWAYS TRIGGER "0_holdfast_delete";
ALTER TABLE {table} ENABLE ALWAYS TRIGGER "0_holdfast_log";
ALTER TABLE {table} ENABLE ALWAYS TRIGGER "0_holdfast_truncate";
