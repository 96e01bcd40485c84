"""A connection by the drivers of Python, to the database of a test."""
import sqlite3
import urllib.parse


def connect(db, level, user=None):
    """The connection, which commits nothing by itself, and how a transaction begins at that level."""
    if db.kind == "sqlite":
        connection = sqlite3.connect(db.bare.removeprefix("sqlite:"), timeout=10, isolation_level=None)
        return connection, ["BEGIN" if level == "DEFERRED" else "BEGIN IMMEDIATE"]
    parts = urllib.parse.urlsplit(db.bare)
    more = dict(urllib.parse.parse_qsl(parts.query))
    if db.kind == "postgres":
        import psycopg2
        connection = psycopg2.connect(host=more["host"], port=more["port"], user=user or parts.username, dbname=parts.path[1:])
        connection.autocommit = True
        return connection, [f"BEGIN ISOLATION LEVEL {level}"]
    import pymysql
    connection = pymysql.connect(unix_socket=more["socket"], user=user or parts.username, database=parts.path[1:], autocommit=True)
    return connection, [f"SET TRANSACTION ISOLATION LEVEL {level}", "START TRANSACTION"]
