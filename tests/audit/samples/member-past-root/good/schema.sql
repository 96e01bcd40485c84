CREATE TABLE orders (
    id bigint PRIMARY KEY,
    lock_version integer NOT NULL
);
CREATE TABLE order_line (
    id bigint PRIMARY KEY,
    order_id bigint NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
    quantity integer NOT NULL
);
