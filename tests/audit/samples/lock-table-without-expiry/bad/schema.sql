CREATE TABLE article_lock (
    article_id int PRIMARY KEY,
    user_id int NOT NULL
);
