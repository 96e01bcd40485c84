-- Version 2: callers' tokens. The secret is not here, only its hash.
CREATE TABLE {ns}_token (
    id TEXT PRIMARY KEY,
    sha256 BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    roles TEXT NOT NULL,
    users TEXT,
    created_us INTEGER NOT NULL,
    expires_us INTEGER,
    revoked_us INTEGER,
    request TEXT UNIQUE
) STRICT, WITHOUT ROWID;
