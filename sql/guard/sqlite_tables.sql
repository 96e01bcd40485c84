-- Which tables are guarded, and what got past the guards in mode log: a row a statement.
CREATE TABLE IF NOT EXISTS {ns}_guard (
    table_name TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    policy TEXT NOT NULL,
    checks TEXT NOT NULL,
    version_column TEXT,
    parent TEXT,
    link TEXT,
    mode TEXT NOT NULL,
    suppressed_us INTEGER NOT NULL DEFAULT 0,
    quoted TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS {ns}_guard_log (
    at_us INTEGER NOT NULL,
    table_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    account TEXT NOT NULL DEFAULT '',
    program TEXT NOT NULL DEFAULT '',
    rows INTEGER NOT NULL,
    PRIMARY KEY (at_us, table_name, kind)
) STRICT, WITHOUT ROWID;
