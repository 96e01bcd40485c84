CREATE TABLE app_lock (
    lockable_id bigint PRIMARY KEY,
    owner_id    bigint NOT NULL,
    expires_at  timestamp NOT NULL
);

CREATE TABLE record_locks (
    id INT AUTO_INCREMENT PRIMARY KEY,
    record_table varchar(64),
    record_id int,
    user_id int,
    locked_at datetime,
    UNIQUE KEY one_holder (record_table, record_id)
);

CREATE TABLE block (
    id int PRIMARY KEY,
    title text
);

CREATE TABLE shared_lock (
    resource varchar(64), owner varchar(64), mode varchar(9), expires bigint, PRIMARY KEY (resource, owner)
);
