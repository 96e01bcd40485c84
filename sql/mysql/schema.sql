-- The tables, version 1. Times and durations are microseconds; names are bytes of UTF-8. The comment of a table says whose it is.
-- COMPACT is there on every version, and keys stay under its 767 bytes.
CREATE TABLE IF NOT EXISTS {ns}_meta (
    name VARBINARY(64) NOT NULL,
    value VARBINARY(255) NOT NULL,
    PRIMARY KEY (name)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

CREATE TABLE IF NOT EXISTS {ns}_type (
    type VARBINARY(64) NOT NULL,
    policy VARBINARY(32) NOT NULL,
    ttl_us BIGINT,
    ttl_max_us BIGINT,
    PRIMARY KEY (type)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

-- A beat writes one of these rows. request: "id caller".
CREATE TABLE IF NOT EXISTS {ns}_session (
    id VARBINARY(32) NOT NULL,
    key_sha256 BINARY(32) NOT NULL,
    user VARBINARY(255) NOT NULL,
    name VARBINARY(255) NOT NULL,
    idle_us BIGINT NOT NULL,
    opened_us BIGINT NOT NULL,
    expires_us BIGINT NOT NULL,
    ended_us BIGINT,
    token VARBINARY(64),
    request VARBINARY(129),
    rev BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY session_by_request (request),
    KEY session_by_user (user),
    KEY session_by_end (ended_us, expires_us)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

-- The anchor: one row a resource, written by every change of its locks and by every save. Version 0: never saved.
-- ended_request: "id", "id actor" when it was forced, "id session" when it was handed over.
CREATE TABLE IF NOT EXISTS {ns}_resource (
    type VARBINARY(64) NOT NULL,
    id VARBINARY(255) NOT NULL,
    fence BIGINT NOT NULL,
    rev BIGINT NOT NULL,
    ended_session VARBINARY(32),
    ended_fence BIGINT,
    ended_request VARBINARY(320),
    ended_us BIGINT,
    version BIGINT NOT NULL DEFAULT 0,
    saved_fence BIGINT,
    saved_us BIGINT,
    saved_session VARBINARY(32),
    saved_user VARBINARY(255),
    saved_name VARBINARY(255),
    saved_request VARBINARY(321),
    gone TINYINT NOT NULL DEFAULT 0,
    PRIMARY KEY (type, id)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

-- Saves that later ones have covered, for a day, so that asking again with the same request id finds them. request: "id session",
-- or "id  user".
CREATE TABLE IF NOT EXISTS {ns}_save (
    type VARBINARY(64) NOT NULL,
    id VARBINARY(255) NOT NULL,
    request VARBINARY(321) NOT NULL,
    version BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    saved_us BIGINT NOT NULL,
    gone TINYINT NOT NULL,
    covered_us BIGINT NOT NULL,
    PRIMARY KEY (type, id, request),
    KEY save_by_age (covered_us)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

-- A lock is live while its session has not ended, session.expires_us is to come, and so is ends_us (or it is null).
CREATE TABLE IF NOT EXISTS {ns}_lock (
    type VARBINARY(64) NOT NULL,
    id VARBINARY(255) NOT NULL,
    session VARBINARY(32) NOT NULL,
    mode VARBINARY(16) NOT NULL,
    fence BIGINT NOT NULL,
    since_us BIGINT NOT NULL,
    ends_us BIGINT,
    purpose VARBINARY(255),
    request VARBINARY(64),
    PRIMARY KEY (type, id, session),
    KEY lock_by_session (session),
    KEY lock_by_end (ends_us)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

CREATE TABLE IF NOT EXISTS {ns}_request (
    type VARBINARY(64) NOT NULL,
    id VARBINARY(255) NOT NULL,
    session VARBINARY(32) NOT NULL,
    message VARBINARY(255),
    at_us BIGINT NOT NULL,
    PRIMARY KEY (type, id, session),
    KEY request_by_session (session)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

-- What a live session lost without releasing it; told on its beats.
CREATE TABLE IF NOT EXISTS {ns}_lost (
    session VARBINARY(32) NOT NULL,
    type VARBINARY(64) NOT NULL,
    id VARBINARY(255) NOT NULL,
    fence BIGINT NOT NULL,
    at_us BIGINT NOT NULL,
    why VARBINARY(32) NOT NULL,
    by_name VARBINARY(255),
    reason VARBINARY(255),
    PRIMARY KEY (session, type, id)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

-- What happened. seq is the number an event gets after its transaction has committed, so that no reader skips one that commits
-- late; until then it is null.
CREATE TABLE IF NOT EXISTS {ns}_event (
    id BIGINT NOT NULL AUTO_INCREMENT,
    seq BIGINT,
    at_us BIGINT NOT NULL,
    kind VARBINARY(32) NOT NULL,
    type VARBINARY(64),
    resource_id VARBINARY(255),
    session VARBINARY(32),
    user VARBINARY(255),
    actor VARBINARY(255),
    fence BIGINT,
    reason VARBINARY(255),
    PRIMARY KEY (id),
    UNIQUE KEY event_by_seq (seq)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

-- Until where events have a number; a number that moves when types change.
INSERT IGNORE INTO {ns}_meta (name, value) VALUES ('types', '1'), ('events_to', '0');

-- Callers' tokens. The secret is not here, only its hash. request: "id actor".
CREATE TABLE IF NOT EXISTS {ns}_token (
    id VARBINARY(32) NOT NULL,
    sha256 BINARY(32) NOT NULL,
    name VARBINARY(200) NOT NULL,
    roles VARBINARY(1167) NOT NULL,
    users VARBINARY(255),
    created_us BIGINT NOT NULL,
    expires_us BIGINT,
    revoked_us BIGINT,
    request VARBINARY(320),
    PRIMARY KEY (id),
    UNIQUE KEY token_by_sha256 (sha256),
    UNIQUE KEY token_by_request (request)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';
