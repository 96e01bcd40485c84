CREATE TABLE page (id bigint PRIMARY KEY, body text, lock_version integer NOT NULL);
