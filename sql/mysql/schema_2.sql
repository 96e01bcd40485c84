
-- Version 2: callers' tokens. The secret is not here, only its hash. request: "id actor".
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
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 2';
