CREATE TABLE page (id bigint PRIMARY KEY, title text, body text);
CREATE TABLE note (id bigint PRIMARY KEY, title text, body text);
CREATE TABLE letter (id bigint PRIMARY KEY, title text, body text);
CREATE TABLE invoice (id bigint PRIMARY KEY, title text, body text);
CREATE TABLE product (id bigint PRIMARY KEY, title text, body text);
CREATE TABLE offer (id bigint PRIMARY KEY, title text, body text);
