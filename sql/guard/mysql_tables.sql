-- Which tables are guarded, and what got past the guards in mode log: a row a statement.
CREATE TABLE IF NOT EXISTS {ns}_guard (
    table_name VARBINARY(255) NOT NULL,
    type VARBINARY(64) NOT NULL,
    policy VARBINARY(32) NOT NULL,
    checks VARBINARY(16) NOT NULL,
    version_column VARBINARY(255),
    parent VARBINARY(255),
    link VARBINARY(255),
    mode VARBINARY(8) NOT NULL,
    suppressed_us BIGINT NOT NULL DEFAULT 0,
    quoted VARBINARY(255) NOT NULL,
    PRIMARY KEY (table_name)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1'
//
CREATE TABLE IF NOT EXISTS {ns}_guard_log (
    at_us BIGINT NOT NULL,
    connection BIGINT NOT NULL,
    table_name VARBINARY(255) NOT NULL,
    kind VARBINARY(16) NOT NULL,
    account VARBINARY(255) NOT NULL,
    program VARBINARY(255) NOT NULL,
    row_count BIGINT NOT NULL,
    PRIMARY KEY (at_us, connection, table_name, kind)
) ENGINE=InnoDB ROW_FORMAT=COMPACT COMMENT='holdfast 1'
//
