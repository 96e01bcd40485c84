CREATE TABLE letter (
    id bigint PRIMARY KEY,
    version timestamp with time zone NOT NULL
);
