-- Version 2: callers' tokens. The secret is not here, only its hash.
CREATE TABLE {ns}.token (
    id text COLLATE "C" PRIMARY KEY,
    sha256 bytea NOT NULL UNIQUE,
    name text COLLATE "C" NOT NULL,
    roles text COLLATE "C" NOT NULL,
    users text COLLATE "C",
    created_us bigint NOT NULL,
    expires_us bigint,
    revoked_us bigint,
    request text COLLATE "C" UNIQUE
);
