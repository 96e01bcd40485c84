CREATE TABLE app_lock (
    lockable_id bigint NOT NULL,
    owner_id    bigint NOT NULL,
    expires_at  timestamp NOT NULL,
    PRIMARY KEY (lockable_id, owner_id)
);

CREATE TABLE record_locks (
    id INT AUTO_INCREMENT PRIMARY KEY,
    record_table varchar(64),
    record_id int,
    user_id int,
    locked_at datetime
);
