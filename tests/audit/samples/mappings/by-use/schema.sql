CREATE TABLE job (
    id_ bigint PRIMARY KEY,
    rev_ integer,
    state_ text
);
