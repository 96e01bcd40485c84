#!/usr/bin/python3
"""Guarded writers beside raw ones, which carry no number or an old one, at every isolation level: no acknowledged change is lost, no raw
one passes. Then what a guard is worth to an account without rights, and after a dump and a restore. With the argument "endurance" only the
writers, on SQLite and every server given, for ten minutes, or HF_TEST_ENDURANCE seconds; the last line counts them."""
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from connecting import connect  # noqa: E402
from lib import HOLDFAST, OWN, check, databases, finish, scratch, sqlite  # noqa: E402

T = f"race_{OWN}"
ENDURANCE = float(os.environ.get("HF_TEST_ENDURANCE", "600")) if "endurance" in sys.argv else 0
SECONDS = float(os.environ.get("HF_TEST_SECONDS", "2"))
TOTAL, TOTALING = collections.Counter(), threading.Lock()
PATIENCE = 40  # seconds, until something has happened at all


def by_version(db, cursor):
    cursor.execute(f"SELECT premium, version FROM {T} WHERE id = 1")
    premium, version = cursor.fetchone()
    cursor.execute(f"UPDATE {T} SET premium = {premium + 1}, holdfast = {version} WHERE id = 1")
    return version


def by_save(db, cursor):
    """The row is a member; its root is saved first, with the version that was read before the row."""
    cursor.execute(f"SELECT version FROM {db.ns}versions WHERE type = 'group' AND id = '7'")
    version = (cursor.fetchone() or ["NULL"])[0]
    cursor.execute(f"SELECT premium FROM {T} WHERE id = 1")
    premium = cursor.fetchone()[0]
    if db.kind == "postgres":
        cursor.execute(f"SELECT {db.ns}save('group', '7', {version}, 'racer')")
        fence = cursor.fetchone()[0]
    else:
        cursor.execute(f"CALL {db.ns}save('group', '7', {version}, 'racer', NULL, NULL, @fence)")
        cursor.execute("SELECT @fence")
        fence = cursor.fetchone()[0]
    cursor.execute(f"UPDATE {T} SET premium = {premium + 1}, holdfast = {fence} WHERE id = 1")
    return fence


def by_lock(db, cursor):
    """The row's lock, taken by the program in a session of this thread's own; a lock that someone else has is a refusal."""
    me = threading.current_thread()
    if not hasattr(me, "holdfast"):
        me.holdfast = f"{scratch.name}/{me.ident}"
        program(db, me.holdfast, "session", "open", "--user", "racer", "--idle", "1h")
    taken = program(db, me.holdfast, "acquire", "race/1")
    if "locks" not in taken:
        raise RuntimeError("locked")
    try:
        cursor.execute(f"SELECT premium FROM {T} WHERE id = 1")
        premium = cursor.fetchone()[0]
        cursor.execute(f"UPDATE {T} SET premium = {premium + 1}, holdfast = {taken['locks'][0]['fence']} WHERE id = 1")
        cursor.execute("COMMIT")
        return taken["locks"][0]["fence"]
    finally:
        program(db, me.holdfast, "release", "race/1")


def program(db, state, *arguments):
    done = subprocess.run([HOLDFAST, *arguments, "--store", db.url, "--json"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "HOLDFAST_STATE": state})
    return json.loads(done.stdout or done.stderr)


class Race:
    def __init__(self, db, level, work):
        self.db, self.level, self.work, self.mutex = db, level, work, threading.Lock()
        self.acknowledged = self.refused = self.raw_tries = self.raw_passed = 0
        # Carried last, and acknowledged; the first is old, since each of three threads can be late to add one.
        self.numbers = collections.deque(maxlen=4)
        self.strange, self.until = set(), time.monotonic() + SECONDS

    def is_over(self):
        now, happened = time.monotonic(), self.acknowledged > 0 and self.raw_tries > 0
        return now >= self.until and (happened or now >= self.until + PATIENCE)

    def run(self, guarded):
        connection, begin = connect(self.db, self.level)
        cursor = connection.cursor()
        while not self.is_over():
            good, number = False, None
            try:
                for sql in begin:
                    cursor.execute(sql)
                if guarded:
                    number = self.work(self.db, cursor)
                else:
                    old = f", holdfast = {self.numbers[0]}" if self.raw_tries % 2 and len(self.numbers) == 4 else ""
                    cursor.execute(f"UPDATE {T} SET premium = premium + 1000000{old} WHERE id = 1")
                cursor.execute("COMMIT")
                good = True
            except Exception as problem:  # whatever the driver calls it
                if not any(word in str(problem) for word in (
                        "guarded", "since it was read", "was changed by", "is there already", "serialize", "Deadlock", "deadlock", "locked",
                        "Record has changed", "wait timeout", "began before")):
                    self.strange.add(str(problem))
                try:
                    cursor.execute("ROLLBACK")
                except Exception:  # SQLite may have ended it
                    pass
            with self.mutex:
                if number is not None and good:
                    self.numbers.append(number)
                self.acknowledged += guarded and good
                self.refused += guarded and not good
                self.raw_tries += not guarded
                self.raw_passed += not guarded and good
        connection.close()


def races(db):
    levels = {"sqlite": ["DEFERRED", "IMMEDIATE"]}.get(db.kind, ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
    for level in levels:
        db.drop(T)
        db.sql(f"CREATE TABLE {T} (id INTEGER PRIMARY KEY, premium BIGINT, version BIGINT NOT NULL); INSERT INTO {T} VALUES (1, 0, 1);")
        db.guard("add", T, "--type", "race", "--version", "version")
        judge(db, level, by_version, "by version")
        db.guard("remove", T)
    db.drop(T)


def locked(db):
    """The same by locks. The transaction begins before the lock is there, so that an old snapshot would lose a change."""
    if db.kind == "sqlite":
        return  # its program waits for the writer that is this very transaction
    db.run("install", db.url)
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]:
        db.drop(T)
        db.sql(f"CREATE TABLE {T} (id INTEGER PRIMARY KEY, premium BIGINT, version INTEGER); INSERT INTO {T} VALUES (1, 0, 1);")
        db.guard("add", T, "--type", "race", "--policy", "exclusive-write")
        judge(db, level, by_lock, "by locks")
        db.guard("remove", T)
    db.drop(T)
    db.run("uninstall", db.url, "--force")


def judge(db, level, work, name):
    """Three that carry their number, two that do not, or carry an old one."""
    race = Race(db, level, work)
    threads = [threading.Thread(target=race.run, args=(i < 3,)) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with TOTALING:
        TOTAL.update(acknowledged=race.acknowledged, refused=race.refused, raw=race.raw_tries, passed=race.raw_passed)
    row = db.rows(f"SELECT premium, version FROM {T};")
    told = f"{race.acknowledged} acknowledged, {race.refused} refused, {race.raw_passed} of {race.raw_tries} raw ones passed; {row} {race.strange}"
    check(f"{db.kind}, {level}, {name}: no acknowledged change is lost, no raw one passes",
          race.acknowledged > 0 and race.raw_tries > 0 and race.raw_passed == 0 and not race.strange
          and row == [f"{race.acknowledged}|{race.acknowledged + 1 if work == by_version else 1}"], told)


def aggregates(db):
    """The same by saves of a root, whose member is changed."""
    if db.kind == "sqlite":
        return
    root = f"group_{OWN}"
    db.run("install", db.url)
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]:
        db.drop(T, root)
        db.sql(f"CREATE TABLE {root} (id INTEGER PRIMARY KEY); INSERT INTO {root} VALUES (7);"
               f"CREATE TABLE {T} (id INTEGER PRIMARY KEY, root INTEGER, premium BIGINT, version INTEGER); INSERT INTO {T} VALUES (1, 7, 0, 1);")
        db.guard("add", root, "--type", "group", "--policy", "optimistic")
        db.guard("add", T, "--parent", root, "--link", "root")
        judge(db, level, by_save, "by saves")
        db.guard("remove", T)
        db.guard("remove", root)
    db.drop(T, root)
    db.run("uninstall", db.url, "--force")


def account(db):
    """An account that may only change the table: it needs nothing else."""
    if db.kind == "sqlite":
        return
    user = f"app_{OWN}"
    db.sql(f"CREATE TABLE {T} (id INTEGER PRIMARY KEY, premium INTEGER, version INTEGER NOT NULL); INSERT INTO {T} VALUES (1, 0, 1);")
    db.guard("add", T, "--type", "race", "--version", "version", "--mode", "log")
    if db.kind == "postgres":
        db.sql(f"CREATE ROLE {user} LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON {T} TO {user};")
    else:
        db.sql(f"CREATE USER {user}@localhost; GRANT SELECT, INSERT, UPDATE, DELETE ON {T} TO {user}@localhost;")
    connection, _ = connect(db, "READ COMMITTED", user)
    cursor = connection.cursor()
    cursor.execute(f"UPDATE {T} SET premium = 1")
    report = db.json("guard", "report", db.url)["bypasses"]
    check(f"{db.kind}: an account without other rights is logged by its name", len(report) == 1 and report[0]["account"].startswith(user), report)
    db.guard("mode", T, "fail")
    try:
        cursor.execute(f"UPDATE {T} SET premium = 2")
        told = "passed"
    except Exception as problem:
        told = str(problem)
    check(f"{db.kind}: ... refused", "race/1 is guarded" in told, told)
    cursor.execute(f"UPDATE {T} SET premium = 2, holdfast = 1")
    check(f"{db.kind}: ... and let pass with its number", db.rows(f"SELECT premium, version FROM {T};") == ["2|2"])
    connection.close()
    db.guard("remove", T)
    db.sql(f"DROP TABLE {T}; DROP {'ROLE ' + user if db.kind == 'postgres' else f'USER {user}@localhost'};")


def dump(db):
    """A dump of the database, restored elsewhere, is as guarded. On MariaDB and MySQL a database is dumped as a whole, so it has its own."""
    own, shared = f"own_{OWN}", db
    if db.mysql:
        db.sql(f"CREATE DATABASE {own};")
        db = type(db)(db.kind, db.bare.replace("/test?", f"/{own}?"))
    db.sql(f"CREATE TABLE {T} (id INTEGER PRIMARY KEY, premium INTEGER, version INTEGER NOT NULL); INSERT INTO {T} VALUES (1, 0, 1), (2, 0, 1);")
    db.guard("add", T, "--type", "race", "--version", "version")
    db.sql(f"UPDATE {T} SET premium = 5, holdfast = 1 WHERE id = 1;")
    other = f"copy_{OWN}"
    if db.kind == "sqlite":
        path = f"{scratch.name}/copy.db"
        sql = db.sql(".dump")
        subprocess.run(["sqlite3", path], input=sql, text=True, check=True)
        copy = type(db)("sqlite", "sqlite:" + path)
    elif db.kind == "postgres":
        # With -t alone functions and the schema are left out.
        sql = subprocess.run(["pg_dump", db.bare, "-n", OWN], capture_output=True, text=True, check=True).stdout
        sql += subprocess.run(["pg_dump", db.bare, "-t", T], capture_output=True, text=True, check=True).stdout
        db.sql(f"CREATE DATABASE {other};")
        copy = type(db)("postgres", db.bare.replace("/test?", f"/{other}?"))
        copy.sql(sql)
    else:
        base = db.bare.replace(f"/{own}?", f"/{other}?")
        command = ["mariadb-dump", *db.client()[1:3], *db.client()[4:5], "--routines", "--triggers", "--no-tablespaces", "--skip-comments", own]
        sql = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        db.sql(f"CREATE DATABASE {other};")
        copy = type(db)(db.kind, base)
        told = copy.sql(sql)
        check(f"{db.kind}: a dump is restored", told == "", told)
    rows = copy.rows(f"SELECT id, premium, version FROM {T} ORDER BY id;")
    told = copy.sql(f"UPDATE {T} SET premium = 1;")
    check(f"{db.kind}: after a dump and a restore rows are there, and guarded", rows == ["1|5|2", "2|0|1"] and copy.refused(told), (rows, told))
    found = copy.json("probe", copy.url)
    check(f"{db.kind}: ... and the prober finds nothing", copy.code == 0 and found["refused"] >= 15, found)
    if db.kind != "sqlite":
        db.sql(f"DROP DATABASE {other};")
    db.guard("remove", T)
    db.drop(T)
    if db.mysql:
        shared.sql(f"DROP DATABASE {own};")


def endure():
    """The databases side by side."""
    began, found = time.monotonic(), databases()
    if found[0].kind != "sqlite":
        found.insert(0, sqlite())

    def laps(database):
        while time.monotonic() < began + ENDURANCE:
            races(database)
            aggregates(database)
            locked(database)

    with concurrent.futures.ThreadPoolExecutor(len(found)) as pool:
        list(pool.map(laps, found))
    print(f"# {time.monotonic() - began:.0f} s: {TOTAL['acknowledged']} guarded writes acknowledged, {TOTAL['refused']} refused; "
          f"{TOTAL['passed']} of {TOTAL['raw']} raw ones passed")


if ENDURANCE:
    endure()
    finish()
for database in databases():
    races(database)
    aggregates(database)
    locked(database)
    account(database)
    dump(database)
finish()
