CREATE TABLE account (
    id      bigint PRIMARY KEY,
    balance numeric NOT NULL,
    version integer NOT NULL DEFAULT 0
);
