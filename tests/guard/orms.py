#!/usr/bin/python3
"""Guards under SQLAlchemy and Django, with what docs/guards.md says to write: its blocks are run as they stand there."""
import os
import pathlib
import re
import sys
import textwrap
import urllib.parse

sys.dont_write_bytecode = True
import django  # noqa: E402
import sqlalchemy as sa  # noqa: E402
from django.conf import settings  # noqa: E402
from sqlalchemy import event, update  # noqa: E402
from sqlalchemy.orm import Session, declarative_base  # noqa: E402

from lib import OWN, check, databases, finish  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "sql"))
from django_database import database  # noqa: E402

settings.configure(DATABASES={"default": {}}, USE_TZ=True, LOGGING_CONFIG=None, DEFAULT_AUTO_FIELD="django.db.models.AutoField")
django.setup()
from django.db import Error, connections, models, transaction  # noqa: E402

DOCS = (pathlib.Path(os.environ["HF_SOURCE_ROOT"]) / "docs" / "guards.md").read_text(encoding="utf-8")


def documented(begin):
    """The block of the document that follows a line that begins so."""
    return textwrap.dedent(re.search(rf"^{begin}[^\n]*:\n\n((?:(?:    [^\n]*)?\n)+)", DOCS, re.M).group(1))


exec(documented("SQLAlchemy"), globals())
exec(documented("Django"), globals())


def engine(db):
    if db.kind == "sqlite":
        return sa.create_engine("sqlite:///" + db.bare.removeprefix("sqlite:"))
    parts = urllib.parse.urlsplit(db.bare)
    more = dict(urllib.parse.parse_qsl(parts.query))
    if db.kind == "postgres":
        return sa.create_engine(sa.engine.URL.create("postgresql+psycopg2", parts.username, None, more["host"], more["port"], parts.path[1:]))
    return sa.create_engine(sa.engine.URL.create("mysql+pymysql", parts.username, None, None, None, parts.path[1:],
                                                 {"charset": "utf8mb4", "unix_socket": more["socket"]}))


def guard(db, table):
    db.guard("add", table, "--type", "policy", "--version", "version")
    assert db.code == 0, db.out


def sqlalchemy(db):
    table = f"alchemy_{OWN}"
    base = declarative_base()

    class Policy(base):
        __tablename__ = table
        id = sa.Column(sa.Integer, primary_key=True)
        premium = sa.Column(sa.Integer)
        version = sa.Column(sa.Integer, nullable=False)
        holdfast = sa.Column(sa.BigInteger)
        __mapper_args__ = {"version_id_col": version}
    db.drop(table)
    db.sql(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, premium INTEGER, version INTEGER NOT NULL);")
    guard(db, table)
    on = engine(db)
    with Session(on) as session:
        session.add_all([Policy(id=1, premium=100), Policy(id=2, premium=200)])
        session.commit()
        policy = session.get(Policy, 1)
        policy.premium = 120
        session.commit()
        policy.premium = 130
        session.commit()
        check(f"{db.kind}: SQLAlchemy saves again and again", (policy.premium, policy.version) == (130, 3), (policy.premium, policy.version))
        slow = session.get(Policy, 2)
        db.sql(f"UPDATE {table} SET premium = 1, holdfast = 1 WHERE id = 2;")
        slow.premium = 250
        try:
            session.commit()
            told = "nothing"
        except (sa.exc.DBAPIError, sa.orm.exc.StaleDataError) as problem:
            told = str(problem)
        session.rollback()
        check(f"{db.kind}: SQLAlchemy: the slower one is refused", told != "nothing" and db.rows(f"SELECT premium FROM {table} WHERE id = 2;") == ["1"], told)
        try:
            session.execute(sa.text(f"UPDATE {table} SET premium = 9"))
            told = "nothing"
        except sa.exc.IntegrityError as problem:
            told = str(problem)
        session.rollback()
        check(f"{db.kind}: SQLAlchemy: raw SQL beside it is refused, as an IntegrityError", told != "nothing", told)
        session.delete(session.get(Policy, 1))
        session.commit()
        check(f"{db.kind}: SQLAlchemy deletes", db.rows(f"SELECT id FROM {table};") == ["2"])
    on.dispose()
    db.guard("remove", table)
    db.drop(table)


def with_django(db):
    table, alias = f"django_{OWN}", db.kind
    connections.databases[alias] = database(db.bare) if db.kind != "sqlite" else \
        {"ENGINE": "django.db.backends.sqlite3", "NAME": db.bare.removeprefix("sqlite:")}
    policy = type("Policy" + db.kind, (Guarded,), {  # noqa: F821 (of the document)
        "__module__": __name__, "Meta": type("Meta", (), {"app_label": "tests", "db_table": table}), "id": models.IntegerField(primary_key=True), "premium": models.IntegerField()})
    db.drop(table)
    db.sql(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, premium INTEGER, version INTEGER NOT NULL);")
    guard(db, table)
    policies = policy.objects.using(alias)
    one, two = policies.create(id=1, premium=100), policies.create(id=2, premium=200)
    one.premium = 120
    one.save(using=alias)
    one.premium = 130
    one.save(using=alias)
    check(f"{db.kind}: Django saves again and again", (one.version, policies.get(id=1).premium) == (3, 130), one.version)

    def refused(work):
        try:
            with transaction.atomic(using=alias):
                work()
            return False
        except Error as problem:
            return type(problem).__name__ == "IntegrityError"
    db.sql(f"UPDATE {table} SET premium = 1, holdfast = 1 WHERE id = 2;")
    two.premium = 250
    check(f"{db.kind}: Django: the slower one is refused", refused(lambda: two.save(using=alias)) and policies.get(id=2).premium == 1)
    check(f"{db.kind}: Django: a queryset's update is refused", refused(lambda: policies.update(premium=9)))
    check(f"{db.kind}: Django: a queryset's delete is refused", refused(lambda: policies.filter(id=1)._raw_delete(alias)))
    one.delete(using=alias)
    check(f"{db.kind}: Django deletes", list(policies.values_list("id", flat=True)) == [2])
    connections[alias].close()
    db.guard("remove", table)
    db.drop(table)


for one_database in databases():
    sqlalchemy(one_database)
    with_django(one_database)
finish()
