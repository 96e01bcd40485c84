-- Removes holdfast's tables from a SQLite file. Other tables in it are left alone.
DROP TABLE IF EXISTS {ns}_guard;
DROP TABLE IF EXISTS {ns}_guard_log;
DROP TABLE IF EXISTS {ns}_token;
DROP TABLE IF EXISTS {ns}_event;
DROP TABLE IF EXISTS {ns}_lost;
DROP TABLE IF EXISTS {ns}_request;
DROP TABLE IF EXISTS {ns}_lock;
DROP TABLE IF EXISTS {ns}_save;
DROP TABLE IF EXISTS {ns}_resource;
DROP TABLE IF EXISTS {ns}_session;
DROP TABLE IF EXISTS {ns}_type;
DROP TABLE IF EXISTS {ns}_meta;
