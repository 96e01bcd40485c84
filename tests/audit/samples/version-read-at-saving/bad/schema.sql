CREATE TABLE page (id bigint PRIMARY KEY, title text, body text, version integer NOT NULL);
