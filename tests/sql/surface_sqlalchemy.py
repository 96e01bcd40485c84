#!/usr/bin/python3
"""The SQL surface from SQLAlchemy: the check is the first statement of a save's transaction."""
import contextlib
import sys

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

sys.dont_write_bytecode = True
from surface import LEVELS, main, surface  # noqa: E402


def engine(server, level):
    parts, more = server.parts, server.more
    if server.is_postgres:
        return sa.create_engine(sa.engine.URL.create(
            "postgresql+psycopg2", parts.username, parts.password, more.get("host", parts.hostname), more.get("port", parts.port),
            parts.path[1:]), isolation_level=level)
    query = {"charset": "utf8mb4", **({"unix_socket": more["socket"]} if "socket" in more else {})}
    return sa.create_engine(sa.engine.URL.create(
        "mysql+pymysql", parts.username, parts.password, parts.hostname, parts.port, parts.path[1:], query), isolation_level=level)


def refusal(problem):
    """(SQLSTATE, sentence); PyMySQL tells only the number, 1216 (docs/sql.md)."""
    cause = problem.orig
    if hasattr(cause, "pgcode"):
        return cause.pgcode, cause.diag.message_primary
    return "23H01" if cause.args[0] == 1216 else cause.args[0], cause.args[1]


def run(server):
    for level in LEVELS:
        database, tables = engine(server, level), sa.MetaData()
        doc = sa.Table(server.table, tables, sa.Column("id", sa.String(20), primary_key=True), sa.Column("body", sa.String(100)))
        name = f"{server.names}.check" if server.is_postgres else f"{server.names}_check"
        verb = "SELECT" if server.is_postgres else "CALL"
        check = sa.text(f"{verb} {name}(:type, :id, :session, :fence)")
        tables.create_all(database)

        @contextlib.contextmanager
        def open_transaction(level, session, fence, text):
            with database.begin() as connection:
                connection.execute(check, {"type": "doc", "id": "1", "session": session, "fence": fence})
                connection.execute(doc.update().where(doc.c.id == "1").values(body=text))
                yield

        def save(level, session, fence, text):
            try:
                with open_transaction(level, session, fence, text):
                    pass
            except IntegrityError as problem:
                return refusal(problem)

        def read():
            with database.begin() as connection:
                return connection.execute(sa.select(doc.c.body)).scalar()

        try:
            with database.begin() as connection:
                connection.execute(doc.insert().values(id="1", body=""))
            surface(server, level, save, read, open_transaction)
        finally:
            tables.drop_all(database)
            database.dispose()


main(run, ["POSTGRES", "MARIADB", "MYSQL"])
