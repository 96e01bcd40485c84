CREATE TABLE article_lock (
    article_id int PRIMARY KEY,
    locked_by int NOT NULL,
    locked_at timestamp NOT NULL
);
