CREATE TABLE letter (
    id bigint PRIMARY KEY,
    version rowversion,
    changed timestamp
);
