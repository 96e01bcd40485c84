#!/usr/bin/env python3
"""MariaDB and MySQL: what an account sets or makes in its own session deceives neither procedures nor guards, and keeps nobody else from
anything: its clock, its time zone, temporary tables by the names of holdfast's, its snapshot, locking reads. docs/sql.md, docs/guards.md."""
import contextlib
import time
import urllib.parse

import pymysql
from lib import OWN, check, databases, finish

BY_VERSION, BY_LOCK, ROOT, MIDDLE, LEAF = (f"{name}_{OWN}" for name in ("version", "lock", "root", "middle", "leaf"))
MINE = (LEAF, MIDDLE, ROOT, BY_VERSION, BY_LOCK)
APP = f"app_{OWN}"
DAY = 86400
SESSION = ("id VARBINARY(32), user VARBINARY(255), name VARBINARY(255), ended_us BIGINT, expires_us BIGINT", "'x', 'u', 'u', NULL, 1 << 61")
LOCK = ("type VARBINARY(64), id VARBINARY(255), session VARBINARY(32), mode VARBINARY(16), fence BIGINT, since_us BIGINT, ends_us BIGINT,"
        " purpose VARBINARY(255), request VARBINARY(64)", "'{type}', '1', 'x', 'exclusive', 5, 0, NULL, NULL, NULL")


class App:
    """The application's own connection: it may call the procedures, change its own tables and make temporary ones. No more."""

    def __init__(self, db, user=APP):
        url = urllib.parse.urlsplit(db.bare)
        self.connection = pymysql.connect(unix_socket=dict(urllib.parse.parse_qsl(url.query))["socket"], user=user, database=url.path[1:],
                                          autocommit=True, charset="utf8mb4")
        self.cursor = self.connection.cursor()

    def __call__(self, sql, *values):
        """The first column of the first row, None if there is none; a refusal is its number and sentence."""
        try:
            self.cursor.execute(sql, values or None)
            rows = self.cursor.fetchall()
            return rows[0][0] if rows else None
        except pymysql.MySQLError as error:
            return error.args

    def refused(self, sql, *values, numbers=(1216, 1217)):
        told = self(sql, *values)
        return isinstance(told, tuple) and told[0] in numbers, told

    def save(self, db, id, version, type):
        """The fence, or a refusal."""
        return self(f"CALL {db.ns}save(%s, %s, %s, 'app', NULL, NULL, @f)", type, id, version) or self("SELECT @f")


@contextlib.contextmanager
def an_app(db, *before):
    app = App(db)
    for sql in before:
        told = app(sql)
        assert not isinstance(told, tuple), told
    yield app
    app.connection.close()


def install(db):
    db.drop(*MINE)
    for words in (["install", db.url], ["type", "set", "policy", "--policy", "exclusive-write", "--store", db.url],
                  ["type", "set", "root", "--policy", "exclusive-write", "--store", db.url]):
        db.run(*words)
        assert db.code == 0, db.out
    told = db.sql(f"""
CREATE TABLE {BY_VERSION} (id INT PRIMARY KEY, name VARCHAR(40), version INT NOT NULL DEFAULT 1);
CREATE TABLE {BY_LOCK} (id INT PRIMARY KEY, name VARCHAR(40));
CREATE TABLE {ROOT} (id INT PRIMARY KEY, name VARCHAR(40));
CREATE TABLE {MIDDLE} (id INT PRIMARY KEY, root_id INT, name VARCHAR(40));
CREATE TABLE {LEAF} (id INT PRIMARY KEY, middle_id INT, name VARCHAR(40));
INSERT INTO {BY_VERSION} VALUES (1, 'start', 1);
INSERT INTO {BY_LOCK} VALUES (1, 'start');
INSERT INTO {ROOT} VALUES (1, 'start'), (2, 'start');
INSERT INTO {MIDDLE} VALUES (10, 1, 'start');
INSERT INTO {LEAF} VALUES (100, 10, 'start');
CREATE USER {APP}@localhost;
GRANT CREATE TEMPORARY TABLES ON * TO {APP}@localhost;
""" + "".join(f"GRANT EXECUTE ON PROCEDURE {db.ns}{name} TO {APP}@localhost;" for name in ("save", "remove", "check", "expect"))
                  + "".join(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {name} TO {APP}@localhost;" for name in MINE)
                  + "".join(f"GRANT SELECT ON {db.ns}{name} TO {APP}@localhost;" for name in ("locks", "versions")))
    assert told == "", told
    for words in ([BY_VERSION, "--type", "version", "--version", "version"], [BY_LOCK, "--type", "policy"], [ROOT, "--type", "root"],
                  [MIDDLE, "--parent", ROOT, "--link", "root_id"], [LEAF, "--parent", MIDDLE, "--link", "middle_id"]):
        db.guard("add", *words)
        assert db.code == 0, db.out


def clocks(db):
    """SET timestamp moves no clock of holdfast's."""
    session = db.json("session", "open", "--user", "bob", "--name", "Bob Smith", store=True)["id"]
    fence = db.json("acquire", "policy/1", store=True)["locks"][0]["fence"]
    db.run("type", "set", "memo", "--policy", "optimistic", store=True)
    ages = {"tomorrow": "UNIX_TIMESTAMP() + 86400", "2038": "2147400000", "yesterday": "UNIX_TIMESTAMP() - 86400", "1970": "1.5"}
    for number, (what, stamp) in enumerate(ages.items()):
        name = f"{db.kind}, a session in {what}: "
        with an_app(db, "SET time_zone = '+05:45'", f"SET timestamp = {stamp}") as app:
            began = app("SELECT NOW(6)")
            good, told = app.refused(f"CALL {db.ns}save('policy', '1', NULL, 'mallory', NULL, NULL, @f)")
            check(name + "a live lock of another stays", good and "Bob Smith" in told[1], told)
            told = app(f"CALL {db.ns}save('memo', '{number}', NULL, 'app', NULL, NULL, @f)") or app("SELECT @f")
            check(name + "the fence of a save is of today", isinstance(told, int) and abs(told / 1e6 - time.time()) < 600, told)
            told = app(f"CALL {db.ns}remove('memo', '{number}', 1, 'app', NULL, NULL, @f)") or app("SELECT @f")
            check(name + "... and that of a deletion", isinstance(told, int) and abs(told / 1e6 - time.time()) < 600, told)
            told = app(f"CALL {db.ns}check('policy', '1', %s, %s)", session, fence)
            check(name + "a live lock is live for check", told is None, told)
            told = app(f"UPDATE {BY_LOCK} SET name = %s, holdfast = %s WHERE id = 1", what, fence)
            check(name + "... and for a guard", told is None and app(f"SELECT name FROM {BY_LOCK} WHERE id = 1") == what, told)
            check(name + "clock and zone of the session are what they were",
                  app("SELECT NOW(6)") == began and app("SELECT @@time_zone") == "+05:45", app("SELECT CONCAT(NOW(6), @@time_zone)"))
            db.sql(f"UPDATE {db.ns}lock SET ends_us = since_us;")
            told = app.refused(f"CALL {db.ns}check('policy', '1', %s, %s)", session, fence)
            check(name + "a lock that is over is over for check", *told)
            told = app.refused(f"UPDATE {BY_LOCK} SET name = 'late', holdfast = %s WHERE id = 1", fence)
            check(name + "... and for a guard", *told)
            db.sql(f"UPDATE {db.ns}lock SET ends_us = NULL;")
    events = db.sql(f"SELECT COUNT(*) FROM {db.ns}event WHERE kind = 'expired' OR at_us > UNIX_TIMESTAMP(NOW(6)) * 1000000;")
    check(f"{db.kind}: nothing expired, and no event is of another day", events == "0", events)
    db.run("session", "close", store=True)


def numbers(db):
    """A session can't give an event the highest of all ids, after which nothing could be saved."""
    with an_app(db, "SET insert_id = 9223372036854775807") as app:
        check(f"{db.kind}: a session that has set insert_id is refused", *app.refused(
            f"CALL {db.ns}save('memo', 'n', NULL, 'app', NULL, NULL, @f)", numbers=(1264,)))
    with an_app(db) as app:
        told = app(f"CALL {db.ns}save('memo', 'n', NULL, 'app', NULL, NULL, @f)")
        check(f"{db.kind}: ... and others save", told is None, told)


def until(db):
    """A guard that was suppressed once is not, for a session whose clock says that it still is."""
    hour = 3600 * 1000000
    db.sql(f"UPDATE {db.ns}guard SET suppressed_us = UNIX_TIMESTAMP() * 1000000 - {hour} WHERE table_name = '{BY_VERSION}';")
    with an_app(db, f"SET timestamp = UNIX_TIMESTAMP() - {DAY}") as app:
        check(f"{db.kind}: a guard that was suppressed until a time refuses after it, also in a session of the day before",
              *app.refused(f"UPDATE {BY_VERSION} SET name = 'raw' WHERE id = 1"))
        db.sql(f"UPDATE {db.ns}guard SET suppressed_us = UNIX_TIMESTAMP() * 1000000 + {hour} WHERE table_name = '{BY_VERSION}';")
        told = app(f"UPDATE {BY_VERSION} SET name = 'raw' WHERE id = 1")
        late = db.sql(f"SELECT UNIX_TIMESTAMP() - MAX(at_us) / 1000000 FROM {db.ns}guard_log;")
        check(f"{db.kind}: ... and what passes before it is logged with the true time", told is None and abs(float(late)) < 600, (told, late))
    db.sql(f"UPDATE {db.ns}guard SET suppressed_us = 0;")


def temporary(db):
    """A temporary table by the name of one of holdfast's is not read, and nothing is written to it."""
    def forged(name, columns, row):
        return f"CREATE TEMPORARY TABLE {db.ns}{name} ({columns})", f"INSERT INTO {db.ns}{name} VALUES ({row})"

    name = f"{db.kind}, temporary tables: "
    anything = (1216, 1217, 1146, 1100, 1137)  # the tables it was deceived by are gone; the next try is judged by the true ones
    guard = forged("guard", "table_name VARBINARY(255), mode VARBINARY(8), suppressed_us BIGINT", f"'{BY_VERSION}', 'off', 0")
    with an_app(db, *guard) as app:
        for sql in (f"UPDATE {BY_VERSION} SET name = 'raw' WHERE id = 1", f"DELETE FROM {BY_VERSION}",
                    f"UPDATE IGNORE {BY_VERSION} SET name = 'raw' WHERE id = 1",
                    f"UPDATE IGNORE {BY_VERSION} JOIN {db.ns}guard t SET name = 'raw' WHERE id = 1"):  # it is in use, and can't be dropped
            check(name + f"a guard that is off: {sql[:13]}{'... JOIN' * ('JOIN' in sql)}", *app.refused(sql, numbers=anything))
            for again in guard:
                app(again)
    locks = [*forged("lock", LOCK[0], LOCK[1].format(type="policy")), *forged("session", *SESSION)]
    with an_app(db, *locks) as app:
        check(name + "a forged lock does not open a guard",
              *app.refused(f"UPDATE {BY_LOCK} SET name = 'forged', holdfast = 5 WHERE id = 1", numbers=anything))
        for again in locks:
            app(again)
        check(name + "a forged lock is none for check", *app.refused(f"CALL {db.ns}check('policy', '1', 'x', 5)"))
    with an_app(db, f"CREATE TEMPORARY TABLE {db.ns}resource (type VARBINARY(64), id VARBINARY(255), fence BIGINT, rev BIGINT, version BIGINT,"
                " gone INT, saved_fence BIGINT, saved_us BIGINT, saved_name VARBINARY(255), PRIMARY KEY (type, id))",
                *forged("session", *SESSION)) as app:
        app(f"INSERT INTO {db.ns}resource VALUES ('memo', 'p', 1, 1, 7, 0, 1, 1, 'x')")
        check(name + "a forged version is none for expect", *app.refused(f"CALL {db.ns}expect('memo', 'p', 7)"))
    db.json("session", "open", "--user", "bob", "--name", "Bob Smith", store=True)
    fence = db.json("acquire", "root/2", store=True)["locks"][0]["fence"]
    with an_app(db, f"CREATE TEMPORARY TABLE {MIDDLE} (id INT PRIMARY KEY, root_id INT)", f"INSERT INTO {MIDDLE} VALUES (10, 2)") as app:
        check(name + "a forged table between does not lead a member to another root",
              *app.refused(f"UPDATE {LEAF} SET name = 'stray', holdfast = %s WHERE id = 100", fence, numbers=anything))
    fence = db.json("acquire", "policy/1", store=True)["locks"][0]["fence"]
    before = db.sql(f"SELECT COUNT(*) FROM {db.ns}event; SELECT COUNT(*) FROM {db.ns}lost;")
    every = ("resource", "lock", "session", "meta", "type", "event", "lost", "save")
    with an_app(db) as app:
        for table in every:
            columns = db.sql(f"SELECT GROUP_CONCAT(column_name, ' ', IF(data_type LIKE '%int%', 'BIGINT', 'VARBINARY(320)') ORDER BY"
                             f" ordinal_position) FROM information_schema.columns WHERE table_name = '{db.ns}{table}';")
            told = app(f"CREATE TEMPORARY TABLE {db.ns}{table} ({columns})")
            assert told is None, told
        good, told = app.refused(f"CALL {db.ns}save('policy', '1', NULL, 'mallory', NULL, NULL, @f)")
        check(name + "a save that would be written beside the true tables is judged by these", good and "Bob Smith" in told[1], told)
        check(name + "... and leaves no event", db.sql(f"SELECT COUNT(*) FROM {db.ns}event; SELECT COUNT(*) FROM {db.ns}lost;") == before)
    rows = db.rows(f"SELECT name FROM {BY_VERSION}; SELECT name FROM {LEAF};")
    check(name + "no row was changed", rows == ["raw", "start"], rows)  # "raw" is of until(), in its time
    with an_app(db) as app:
        told = app(f"UPDATE {BY_LOCK} SET name = 'true', holdfast = %s WHERE id = 1", fence)
        check(name + "the true lock opens its guard, without a warning", told is None and app("SHOW WARNINGS") is None, (told, app("SHOW WARNINGS")))
    db.run("session", "close", store=True)


def snapshots(db):
    """MariaDB with innodb_snapshot_isolation: who saves what was saved since the snapshot is told to run the transaction again."""
    with an_app(db) as app, an_app(db) as other:
        if app("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'") is None:
            return
        app("SET innodb_snapshot_isolation = 1")
        for version, (what, call) in enumerate((("save", "save('memo', 's', 1, 'app', NULL, NULL, @f)"), ("expect", "expect('memo', 's', 1)"),
                                                ("check", "check('memo', 's', 'x', 1)"))):
            other.save(db, "s", version or None, type="memo")
            app("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            app("START TRANSACTION")
            app(f"SELECT COUNT(*) FROM {db.ns}versions")
            told = other.save(db, "s", version + 1, type="memo")
            assert isinstance(told, int), told
            good, told = app.refused(f"CALL {db.ns}{call}", numbers=(1213,))
            check(f"{db.kind}, innodb_snapshot_isolation: {what} is to be run again, and the sentence says so",
                  good and told[1] == "The transaction began before the last change of memo/s; run it again.", told)
            check(f"{db.kind}, innodb_snapshot_isolation: ... the server has rolled back", app("SELECT @@in_transaction") == 0)


def readers(db):
    """A report that locks what it reads keeps nobody from anything; SERIALIZABLE, where every read locks, can't be helped."""
    db.json("session", "open", "--user", "bob", "--name", "Bob Smith", store=True)
    db.json("acquire", "policy/1", store=True)
    with an_app(db) as app, an_app(db) as other:
        other.save(db, "read", None, type="memo")
        for level in ("READ COMMITTED", "REPEATABLE READ"):
            for lock in ("LOCK IN SHARE MODE", "FOR UPDATE"):
                app(f"SET TRANSACTION ISOLATION LEVEL {level}")
                app("START TRANSACTION")
                for view in ("locks", "versions"):
                    told = app(f"SELECT COUNT(*) FROM {db.ns}{view} {lock}")
                    check(f"{db.kind}, {level}: {view} can be read {lock}, or it is refused",
                          isinstance(told, int) or told[0] in (1142, 1143), told)
                db.run("session", "beat", store=True)
                beaten = db.code, db.out
                db.run("acquire", "policy/1", store=True)
                check(f"{db.kind}, {level}: ... beats and acquires go on", beaten[0] == 0 and db.code == 0, (beaten, db.out))
                app("ROLLBACK")
    db.run("session", "close", store=True)


def premises(db):
    """Two transactions rely at once on a record's absence, if it was there once; check refuses names that no store takes."""
    with an_app(db, "SET innodb_lock_wait_timeout = 1") as one, an_app(db, "SET innodb_lock_wait_timeout = 1") as two:
        one.save(db, "gone", None, type="memo")
        one(f"CALL {db.ns}remove('memo', 'gone', 1, 'app', NULL, NULL, @f)")
        for app in (one, two):
            app("START TRANSACTION")
        told = [app(f"CALL {db.ns}expect('memo', 'gone', NULL)") for app in (one, two)]
        check(f"{db.kind}: two transactions rely on the same absence", told == [None, None], told)
        with an_app(db, "SET innodb_lock_wait_timeout = 1") as third:
            check(f"{db.kind}: ... and nobody makes it meanwhile", *third.refused(
                f"CALL {db.ns}save('memo', 'gone', NULL, 'app', NULL, NULL, @f)", numbers=(1205,)))
        for app in (one, two):
            app("ROLLBACK")
        for type, id in (("No Type", "1"), ("memo", ""), (None, "1"), ("memo", "a\nb")):
            check(f"{db.kind}: check refuses a name like {type}/{id!r}", *one.refused(f"CALL {db.ns}check(%s, %s, 'x', 1)", type, id, numbers=(1264,)))


def names(db):
    """One row has one name: a key that each session sees in its own time zone gives none."""
    stamped = f"stamped_{OWN}"
    db.drop(stamped)
    db.sql(f"CREATE TABLE {stamped} (day INT, at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, version INT NOT NULL DEFAULT 1, PRIMARY KEY (day, at));")
    db.guard("add", stamped, "--type", "policy")
    check(f"{db.kind}: a TIMESTAMP in the key is refused where it names a lock, with the remedy",
          db.code == 2 and "at of" in db.out and "DATETIME" in db.out, db.out)
    db.guard("add", stamped, "--type", "stamped", "--version", "version")
    check(f"{db.kind}: ... and does no harm where the version is in the row", db.code == 0, db.out)
    db.guard("remove", stamped)
    db.drop(stamped)


for database in databases():
    install(database)
    try:
        clocks(database)
        numbers(database)
        until(database)
        temporary(database)
        snapshots(database)
        readers(database)
        premises(database)
        names(database)
    finally:
        for table in MINE:
            database.guard("remove", table)
        database.drop(*MINE)
        database.sql(f"DROP USER {APP}@localhost;")
        database.run("uninstall", database.url, "--force")
finish()
