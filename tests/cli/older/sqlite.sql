-- The tables of holdfast in SQLite as an earlier build made them, for tests/cli/install.sh.
CREATE TABLE holdfast_meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE holdfast_type (
    type TEXT PRIMARY KEY,
    policy TEXT NOT NULL,
    ttl_us INTEGER,
    ttl_max_us INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE holdfast_session (
    id TEXT PRIMARY KEY,
    key_sha256 BLOB NOT NULL,
    user TEXT NOT NULL,
    name TEXT NOT NULL,
    idle_us INTEGER NOT NULL,
    opened_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL,
    ended_us INTEGER,
    token TEXT,
    request TEXT UNIQUE,
    rev INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX holdfast__session_by_user ON holdfast_session (user);
CREATE INDEX holdfast__session_by_end ON holdfast_session (ended_us, expires_us);

CREATE TABLE holdfast_resource (
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    ended_session TEXT,
    ended_fence INTEGER,
    ended_request TEXT,
    ended_us INTEGER,
    version INTEGER NOT NULL DEFAULT 0,
    saved_fence INTEGER,
    saved_us INTEGER,
    saved_session TEXT,
    saved_user TEXT,
    saved_name TEXT,
    saved_request TEXT,
    gone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (type, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE holdfast_save (
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    request TEXT NOT NULL,
    version INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    saved_us INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    covered_us INTEGER NOT NULL,
    PRIMARY KEY (type, id, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX holdfast__save_by_age ON holdfast_save (covered_us);

CREATE TABLE holdfast_lock (
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    mode TEXT NOT NULL,
    fence INTEGER NOT NULL,
    since_us INTEGER NOT NULL,
    ends_us INTEGER,
    purpose TEXT,
    request TEXT,
    PRIMARY KEY (type, id, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX holdfast__lock_by_session ON holdfast_lock (session);
CREATE INDEX holdfast__lock_by_end ON holdfast_lock (ends_us) WHERE ends_us IS NOT NULL;

CREATE TABLE holdfast_request (
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    message TEXT,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (type, id, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX holdfast__request_by_session ON holdfast_request (session);

CREATE TABLE holdfast_lost (
    session TEXT NOT NULL,
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    why TEXT NOT NULL,
    by_name TEXT,
    reason TEXT,
    PRIMARY KEY (session, type, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE holdfast_event (
    id INTEGER PRIMARY KEY,
    seq INTEGER GENERATED ALWAYS AS (id) VIRTUAL,
    at_us INTEGER NOT NULL,
    kind TEXT NOT NULL,
    type TEXT,
    resource_id TEXT,
    session TEXT,
    user TEXT,
    actor TEXT,
    fence INTEGER,
    reason TEXT
) STRICT;

CREATE TABLE holdfast_token (
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
ALTER TABLE holdfast_session ADD COLUMN ends TEXT;
DROP INDEX holdfast__lock_by_session;
CREATE INDEX holdfast__lock_by_session ON holdfast_lock (session, ends_us);
INSERT INTO holdfast_meta (name, value) VALUES ('schema', '2');
