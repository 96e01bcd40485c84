-- holdfast's tables in SQLite. {ns} is the namespace, "holdfast" unless the URL says otherwise. Times and durations are microseconds;
-- names compare as bytes. The columns are those of lib/lock/fields_table.h.
CREATE TABLE {ns}_meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE {ns}_type (
    {columns type}
    PRIMARY KEY (type)
) STRICT, WITHOUT ROWID;

CREATE TABLE {ns}_session (
    {columns session KMRE}
    PRIMARY KEY (id),
    UNIQUE (request)
) STRICT, WITHOUT ROWID;
CREATE INDEX {ns}__session_by_user ON {ns}_session (user);
CREATE INDEX {ns}__session_by_end ON {ns}_session (ended_us, expires_us);

-- The anchor of a resource that was saved, or had a forced release with a request id within a day (version 0: never
-- saved); written by every change of its locks and by every save. All others have none: their locks say it all.
-- ended_request: the last sixteen forced releases (lib/lock/ends.h).
CREATE TABLE {ns}_resource (
    {columns resource}
    PRIMARY KEY (type, id)
) STRICT, WITHOUT ROWID;

-- Saves that later ones have covered, for a day, so that asking again with the same request id finds them.
CREATE TABLE {ns}_save (
    {columns save}
    PRIMARY KEY (type, id, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX {ns}__save_by_age ON {ns}_save (covered_us);

-- A lock is live while its session has not ended, session.expires_us is to come, and so is ends_us (or it is null). A beat counts its
-- session's locks by the first index alone.
CREATE TABLE {ns}_lock (
    {columns lock}
    PRIMARY KEY (type, id, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX {ns}__lock_by_session ON {ns}_lock (session, ends_us);
CREATE INDEX {ns}__lock_by_end ON {ns}_lock (ends_us) WHERE ends_us IS NOT NULL;

CREATE TABLE {ns}_request (
    {columns request}
    PRIMARY KEY (type, id, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX {ns}__request_by_session ON {ns}_request (session);

-- What a live session lost without releasing it; told on its beats.
CREATE TABLE {ns}_lost (
    {columns lost}
    PRIMARY KEY (session, type, id)
) STRICT, WITHOUT ROWID;

-- One writer commits at a time, so the key is the order of commits and the sequence number at once.
CREATE TABLE {ns}_event (
    id INTEGER PRIMARY KEY,
    {columns event}
    seq INTEGER GENERATED ALWAYS AS (id) VIRTUAL
) STRICT;

-- Callers' tokens. The secrets are not here, only their hashes.
CREATE TABLE {ns}_token (
    {columns token}
    PRIMARY KEY (id),
    UNIQUE (sha256),
    UNIQUE (next_sha256),
    UNIQUE (request)
) STRICT, WITHOUT ROWID;
