-- holdfast's tables in SQLite, version 1. {ns} is the namespace, "holdfast" unless the URL says otherwise.
-- Times and durations are microseconds; names compare as bytes.
CREATE TABLE {ns}_meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE {ns}_type (
    type TEXT PRIMARY KEY,
    policy TEXT NOT NULL,
    ttl_us INTEGER,
    ttl_max_us INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE {ns}_session (
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
CREATE INDEX {ns}__session_by_user ON {ns}_session (user);
CREATE INDEX {ns}__session_by_end ON {ns}_session (ended_us, expires_us);

-- The anchor of a resource that was saved, or had a forced release with a request id within a day (version 0: never
-- saved); written by every change of its locks and by every save. All others have none: their locks say it all.
-- ended_request: the last sixteen forced releases (lib/lock/ends.h).
CREATE TABLE {ns}_resource (
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

-- Saves that later ones have covered, for a day, so that asking again with the same request id finds them.
CREATE TABLE {ns}_save (
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
CREATE INDEX {ns}__save_by_age ON {ns}_save (covered_us);

-- A lock is live while its session has not ended, session.expires_us is to come, and so is ends_us (or it is null).
CREATE TABLE {ns}_lock (
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
CREATE INDEX {ns}__lock_by_session ON {ns}_lock (session);
CREATE INDEX {ns}__lock_by_end ON {ns}_lock (ends_us) WHERE ends_us IS NOT NULL;

CREATE TABLE {ns}_request (
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    message TEXT,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (type, id, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX {ns}__request_by_session ON {ns}_request (session);

-- What a live session lost without releasing it; told on its beats.
CREATE TABLE {ns}_lost (
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

-- One writer commits at a time, so the key is the order of commits and the sequence number at once.
CREATE TABLE {ns}_event (
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

-- Callers' tokens. The secret is not here, only its hash.
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
