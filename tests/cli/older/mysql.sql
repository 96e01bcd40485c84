-- The tables of holdfast in MariaDB and MySQL as an earlier build made them, for tests/cli/install.sh.
CREATE TABLE IF NOT EXISTS holdfast_meta (
    name VARBINARY(64) NOT NULL,
    value VARBINARY(255) NOT NULL,
    PRIMARY KEY (name)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

CREATE TABLE IF NOT EXISTS holdfast_type (
    type VARBINARY(64) NOT NULL,
    policy VARBINARY(32) NOT NULL,
    ttl_us BIGINT,
    ttl_max_us BIGINT,
    PRIMARY KEY (type)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

CREATE TABLE IF NOT EXISTS holdfast_session (
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

CREATE TABLE IF NOT EXISTS holdfast_resource (
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

CREATE TABLE IF NOT EXISTS holdfast_save (
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

CREATE TABLE IF NOT EXISTS holdfast_lock (
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

CREATE TABLE IF NOT EXISTS holdfast_request (
    type VARBINARY(64) NOT NULL,
    id VARBINARY(255) NOT NULL,
    session VARBINARY(32) NOT NULL,
    message VARBINARY(255),
    at_us BIGINT NOT NULL,
    PRIMARY KEY (type, id, session),
    KEY request_by_session (session)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1';

CREATE TABLE IF NOT EXISTS holdfast_lost (
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

CREATE TABLE IF NOT EXISTS holdfast_event (
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

INSERT IGNORE INTO holdfast_meta (name, value) VALUES ('types', '1'), ('events_to', '0');

CREATE TABLE IF NOT EXISTS holdfast_token (
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
INSERT INTO holdfast_meta (name, value) VALUES ('schema', '1');
