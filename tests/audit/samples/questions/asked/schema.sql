CREATE TABLE app_lock (resource text PRIMARY KEY, owner text NOT NULL, expires_at timestamp NOT NULL);
CREATE TABLE page (id bigint PRIMARY KEY, body text, lock_version integer NOT NULL);
CREATE TABLE note (id bigint PRIMARY KEY, body text);
