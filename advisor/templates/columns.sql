{{#postgres}}
ALTER TABLE {{table}}
    ADD COLUMN version     bigint NOT NULL DEFAULT 0,
    ADD COLUMN modified_by text,
    ADD COLUMN modified_at timestamptz;
{{/postgres}}
{{#mysql_like}}
ALTER TABLE {{table}}
    ADD COLUMN version     BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN modified_by VARCHAR(255) NULL,
    ADD COLUMN modified_at DATETIME(6) NULL;
{{/mysql_like}}
{{#sqlite}}
ALTER TABLE {{table}} ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {{table}} ADD COLUMN modified_by TEXT;
ALTER TABLE {{table}} ADD COLUMN modified_at TEXT;
{{/sqlite}}
{{#other_database}}
ALTER TABLE {{table}} ADD version BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE {{table}} ADD modified_by VARCHAR(255);
ALTER TABLE {{table}} ADD modified_at TIMESTAMP;
{{/other_database}}
