CREATE TABLE account (id bigint PRIMARY KEY, balance numeric);
CREATE TABLE invoice (id bigint PRIMARY KEY, paid boolean);
