-- The tables. Times and durations are microseconds; names are bytes of UTF-8. The comment of a table says whose it is. The columns are
-- those of lib/lock/fields_table.h; with ids of 1,024 bytes keys are longer than the 767 that COMPACT allows.
CREATE TABLE IF NOT EXISTS {ns}_meta (
    name VARBINARY(64) NOT NULL,
    value VARBINARY(2048) NOT NULL,
    PRIMARY KEY (name)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='holdfast 1';

CREATE TABLE IF NOT EXISTS {ns}_type (
    {columns type}
    PRIMARY KEY (type)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='holdfast 1';

-- A beat writes one of these rows. request: "id caller".
CREATE TABLE IF NOT EXISTS {ns}_session (
    {columns session}
    PRIMARY KEY (id),
    UNIQUE KEY session_by_request (request),
    KEY session_by_user (user),
    KEY session_by_end (ended_us, expires_us)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='holdfast 1';

-- The anchor: one row a resource, written by every change of its locks and by every save. Version 0: never saved.
-- ended_request: "id", "id actor" when it was forced, "id session" when it was handed over.
CREATE TABLE IF NOT EXISTS {ns}_resource (
    {columns resource}
    PRIMARY KEY (type, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='holdfast 1';

-- Saves that later ones have covered, for a day, so that asking again with the same request id finds them. request: "id session",
-- or "id  user".
CREATE TABLE IF NOT EXISTS {ns}_save (
    {columns save}
    PRIMARY KEY (type, id, request),
    KEY save_by_age (covered_us)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='holdfast 1';

-- A lock is live while its session has not ended, session.expires_us is to come, and so is ends_us (or it is null).
CREATE TABLE IF NOT EXISTS {ns}_lock (
    {columns lock}
    PRIMARY KEY (type, id, session),
    KEY lock_by_session (session),
    KEY lock_by_end (ends_us)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='holdfast 1';

CREATE TABLE IF NOT EXISTS {ns}_request (
    {columns request}
    PRIMARY KEY (type, id, session),
    KEY request_by_session (session)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='holdfast 1';

-- What a live session lost without releasing it; told on its beats.
CREATE TABLE IF NOT EXISTS {ns}_lost (
    {columns lost}
    PRIMARY KEY (session, type, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='holdfast 1';

-- What happened. seq is the number an event gets after its transaction has committed, so that no reader skips one that commits
-- late; until then it is null.
CREATE TABLE IF NOT EXISTS {ns}_event (
    id BIGINT NOT NULL AUTO_INCREMENT,
    seq BIGINT,
    {columns event}
    PRIMARY KEY (id),
    UNIQUE KEY event_by_seq (seq)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='holdfast 1';

-- Until where events have a number; a number that moves when types change.
INSERT IGNORE INTO {ns}_meta (name, value) VALUES ('types', '1'), ('events_to', '0');

-- Callers' tokens. The secret is not here, only its hash. request: "id actor".
CREATE TABLE IF NOT EXISTS {ns}_token (
    {columns token}
    PRIMARY KEY (id),
    UNIQUE KEY token_by_sha256 (sha256),
    UNIQUE KEY token_by_next (next_sha256),
    UNIQUE KEY token_by_request (request)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='holdfast 1';
