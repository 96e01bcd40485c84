CREATE TABLE article_lock (
    article_id int PRIMARY KEY,
    locked_at timestamp NOT NULL
);
