CREATE TABLE article_lock (
    article_id int PRIMARY KEY,
    user_id int NOT NULL,
    expires_at timestamp NOT NULL
);

CREATE TABLE job_lock (
    lock_name varchar(50) NOT NULL PRIMARY KEY
);

CREATE TABLE row_mutex (
    name varchar(50) NOT NULL PRIMARY KEY,
    host varchar(50)
);
