CREATE TABLE page_lock (
    id serial PRIMARY KEY,
    page int NOT NULL,
    user_id int NOT NULL,
    expires_at timestamp NOT NULL
);
