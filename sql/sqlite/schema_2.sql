-- Version 2: a free resource leaves no row. What a session ended with a request id stands in its own row (lib/lock/ends.h),
-- and a beat counts its locks by an index alone.
ALTER TABLE {ns}_session ADD COLUMN ends TEXT;
DROP INDEX {ns}__lock_by_session;
CREATE INDEX {ns}__lock_by_session ON {ns}_lock (session, ends_us);
