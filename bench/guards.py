#!/usr/bin/python3
"""What a guard costs: load, update, commit of one row, and 10,000 rows in one statement, beside the same table without a guard. Databases are
named as for tests/guard/lib.py: HF_TEST_POSTGRES, HF_TEST_MARIADB, HF_TEST_MYSQL; none: SQLite.

    HOLDFAST=build/holdfast HF_SOURCE_ROOT=. bench/guards.py
"""
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "guard"))
from connecting import connect  # noqa: E402
from lib import HOLDFAST, OWN, databases  # noqa: E402

ROWS, ROUNDS, SINGLES = 10000, 7, 300
COUNTING = "holdfast = version, version = version + 1"  # in this order for MySQL, which sets one after the other
FREE, VERSION, LOCK, MEMBER = (f"{name}_{OWN}" for name in ("free", "version", "lock", "member"))


def fill(db):
    for table in (FREE, VERSION, LOCK, MEMBER):
        db.drop(table)
        db.sql(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, premium INTEGER, holder VARCHAR(40), version INTEGER NOT NULL, root INTEGER);")
        values = [f"({i}, {i}, 'holder {i}', 1, 1)" for i in range(1, ROWS + 1)]
        for at in range(0, ROWS, 500):
            db.sql(f"INSERT INTO {table} VALUES {', '.join(values[at:at + 500])};")
    if db.kind == "sqlite":
        db.sql(subprocess.run([HOLDFAST, "install", db.url, "--print"], capture_output=True, text=True).stdout)
    else:
        db.run("install", db.url)
    db.run("type", "set", "bench", "--policy", "exclusive-write", store=True)
    db.guard("add", VERSION, "--type", "bench-version", "--version", "version")
    db.guard("add", LOCK, "--type", "bench")
    db.guard("add", MEMBER, "--parent", LOCK, "--link", "root")
    db.run("session", "open", "--user", "bench", "--idle", "1h", store=True)


def timed(cursor, begin, statements):
    began = time.perf_counter()
    for sql in [*begin, *statements, "COMMIT"]:
        cursor.execute(sql)
        if sql.startswith("SELECT"):
            cursor.fetchall()
    return time.perf_counter() - began


def single(cursor, begin, fence):
    """One row: medians, the tables in turn so that noise meets all of them."""
    took = {FREE: [], VERSION: [], LOCK: [], MEMBER: []}
    for i in range(SINGLES):
        for table, number in ((FREE, ""), (VERSION, f", holdfast = {i + 1}"), (LOCK, f", holdfast = {fence}"), (MEMBER, f", holdfast = {fence}")):
            version = ", version = version + 1" if table == FREE else ""
            took[table].append(timed(cursor, begin, [
                f"SELECT premium, version FROM {table} WHERE id = 1",
                f"UPDATE {table} SET premium = {i}{version}{number} WHERE id = 1"]))
    return {table: statistics.median(all_of_it) for table, all_of_it in took.items()}


def bulk(cursor, begin, fence):
    took = {FREE: [], VERSION: [], "counting": [], MEMBER: []}
    for _ in range(ROUNDS):
        took[FREE].append(timed(cursor, begin, [f"UPDATE {FREE} SET premium = premium + 1, version = version + 1"]))
        took[VERSION].append(timed(cursor, begin, [f"UPDATE {VERSION} SET premium = premium + 1, holdfast = version"]))
        took["counting"].append(timed(cursor, begin, [
            f"UPDATE {VERSION} SET premium = premium + 1, {COUNTING}"]))
        took[MEMBER].append(timed(cursor, begin, [f"UPDATE {MEMBER} SET premium = premium + 1, version = version + 1, holdfast = {fence}"]))
    return {table: statistics.median(all_of_it) for table, all_of_it in took.items()}


print(f"{'database':10} {'what':34} {'without':>10} {'guarded':>10} {'times':>6}")
for database in databases():
    fill(database)
    connection, level = connect(database, "IMMEDIATE" if database.kind == "sqlite" else "READ COMMITTED")
    held = database.json("acquire", "bench/1", store=True)["locks"][0]["fence"]
    one, many = single(connection.cursor(), level, held), bulk(connection.cursor(), level, held)
    for what, base, guarded in (("one row, by its version", one[FREE], one[VERSION]), ("one row, by a lock", one[FREE], one[LOCK]),
                                ("one member, by its root's lock", one[FREE], one[MEMBER]),
                                (f"{ROWS} rows at once, by version", many[FREE], many[VERSION]),
                                ("... that count up by themselves", many[FREE], many["counting"]),
                                (f"{ROWS} members, by their root's lock", many[FREE], many[MEMBER])):
        print(f"{database.kind:10} {what:34} {base * 1000:8.2f}ms {guarded * 1000:8.2f}ms {guarded / base:6.2f}", flush=True)
    connection.close()
    for name in (FREE, VERSION, LOCK):
        database.guard("remove", name)
        database.drop(name)
    database.run("uninstall", database.url, "--force")
