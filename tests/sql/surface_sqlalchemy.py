#!/usr/bin/python3
"""The SQL surface from SQLAlchemy: the check is the first statement of a save's transaction."""
import contextlib
import sys

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

sys.dont_write_bytecode = True
from surface import LEVELS, STATES, main, passed, surface, versions  # noqa: E402


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
    """(SQLSTATE, sentence)"""
    cause = problem.orig
    if hasattr(cause, "pgcode"):
        return cause.pgcode, cause.diag.message_primary
    return STATES.get(cause.args[0], cause.args[0]), cause.args[1]


def billing(server, database):
    """A tax is computed from an address, which changes before the bill is saved: with a premise that is refused, and without it goes
    unnoticed."""
    tables = sa.MetaData()
    address = sa.Table(f"address_{server.names}", tables, sa.Column("id", sa.Integer, primary_key=True), sa.Column("town", sa.String(40)))
    bill = sa.Table(f"bill_{server.names}", tables, sa.Column("id", sa.Integer, primary_key=True), sa.Column("tax", sa.String(40)))
    save, expect = sa.text(server.save_sql(":type", ":id", ":version", ":user")), sa.text(server.expect_sql(":type", ":id", ":version"))

    def save_address(town, version):
        with database.begin() as connection:
            connection.execute(save, {"type": "address", "id": "7", "version": version, "user": "alice"})
            change = address.insert().values(id=7, town=town) if version is None else address.update().values(town=town)
            connection.execute(change)

    def save_bill(tax, premise):
        try:
            with database.begin() as connection:
                if premise:
                    connection.execute(expect, {"type": "address", "id": "7", "version": premise})
                connection.execute(save, {"type": "bill", "id": "1", "version": None, "user": "bob"})
                connection.execute(bill.insert().values(id=1, tax=tax))
        except IntegrityError as problem:
            return refusal(problem)

    def bills():
        with database.begin() as connection:
            return connection.execute(sa.select(bill.c.tax)).scalars().all()

    name = server.name + ": billing: "
    tables.create_all(database)
    try:
        save_address("Bern", None)
        with database.begin() as connection:
            tax = "8.1 % of " + connection.execute(sa.select(address.c.town)).scalar()
        save_address("Munich", 1)
        told = save_bill(tax, 1)
        passed(name + "with a premise the change of the address is noticed",
               told and told[0] == "23H02" and told[1].startswith("address/7 was changed by alice at ") and bills() == [], told)
        passed(name + "without one it goes unnoticed", save_bill(tax, None) is None and bills() == ["8.1 % of Bern"])
    finally:
        tables.drop_all(database)


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

        def call(sql, **arguments):
            try:
                with database.begin() as connection:
                    connection.execute(sa.text(sql), {"type": "doc", **arguments})
            except IntegrityError as problem:
                return refusal(problem)

        try:
            with database.begin() as connection:
                connection.execute(doc.insert().values(id="1", body=""))
            surface(server, level, save, read, open_transaction)
            if level == LEVELS[0]:
                versions(server, lambda id, version, user: call(server.save_sql(":type", ":id", ":version", ":user"),
                                                                id=id, version=version, user=user),
                         lambda id, version: call(server.expect_sql(":type", ":id", ":version"), id=id, version=version))
                billing(server, database)
        finally:
            tables.drop_all(database)
            database.dispose()


main(run, ["POSTGRES", "MARIADB", "MYSQL"])
