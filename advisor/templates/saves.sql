{{#schema_may_change}}
{{#shared_version}}
-- First the root's row, also when only a part changes: its version is that of the whole group.
UPDATE {{table}}
   SET version = version + 1, modified_by = :user, modified_at = {{now}}
 WHERE id = :id AND version = :version_read;
-- One row: go on with the parts, in the same transaction. None: roll back, and tell the person.
{{/shared_version}}
{{^shared_version}}
UPDATE {{table}}
   SET ..., version = version + 1, modified_by = :user, modified_at = {{now}}
 WHERE id = :id AND version = :version_read;
-- One row: saved. None: someone was faster; roll back, and tell the person.
{{/shared_version}}

DELETE FROM {{table}} WHERE id = :id AND version = :version_read;

-- Who was it, and when? No row: it was deleted.
SELECT version, modified_by, modified_at FROM {{table}} WHERE id = :id;
{{/schema_may_change}}
{{^schema_may_change}}
-- Every column that was read stands here with the value it had; NULL needs its own comparison.
UPDATE {{table}} SET column_1 = :new_1, column_2 = :new_2
 WHERE id = :id
   AND column_1 {{same}} :old_1 AND column_2 {{same}} :old_2;
-- One row: saved. None: someone was faster; roll back, and tell the person.
{{/schema_may_change}}
