-- Nothing is ever in it. While it refers to the guarded table, TRUNCATE of that is refused (error 1701), and so is DROP TABLE.
CREATE TABLE {keeper} ENGINE=InnoDB COMMENT='holdfast guard' AS SELECT {key_names} FROM {table} WHERE FALSE
//
ALTER TABLE {keeper} ADD FOREIGN KEY ({key_names}) REFERENCES {table} ({key_names})
//
