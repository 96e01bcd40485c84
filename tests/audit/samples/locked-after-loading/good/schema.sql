CREATE TABLE page (
    id bigint PRIMARY KEY,
    title text,
    body text
);
