-- Reading needs a lock, too: a policy that raises, never one that hides. The other commands are judged by the triggers.
CREATE POLICY "0_holdfast_read" ON {table} FOR SELECT USING ({ns}.guard_read({name}, {type}, {root_row}));
CREATE POLICY "0_holdfast_insert" ON {table} FOR INSERT WITH CHECK (true);
CREATE POLICY "0_holdfast_update" ON {table} FOR UPDATE USING (true) WITH CHECK (true);
CREATE POLICY "0_holdfast_delete" ON {table} FOR DELETE USING (true);
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
