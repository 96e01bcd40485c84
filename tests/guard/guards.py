#!/usr/bin/env python3
"""Guards from the stock clients: what is refused, what passes, modes, and what can't be guarded (P10). docs/guards.md."""
import hashlib
import os
import subprocess

from lib import HOLDFAST, OWN, check, databases, finish, scratch

T = f"policy_{OWN}"


def make(db, rows="(1, 100, 'a', 7), (2, 200, 'b', 3), (3, 300, 'c', 1)"):
    db.drop(T)
    told = db.sql(f"CREATE TABLE {T} (id INTEGER PRIMARY KEY, premium INTEGER, holder VARCHAR(40) UNIQUE, "
                  f"version INTEGER NOT NULL); INSERT INTO {T} VALUES {rows};")
    assert told == "", told


def blind_shapes(db):
    """Statements that did not look, each by what it is called."""
    yield "a blind UPDATE", f"UPDATE {T} SET premium = 1 WHERE id = 1"
    yield "an UPDATE that leaves everything as it is", f"UPDATE {T} SET premium = premium WHERE id = 1"
    yield "version = version", f"UPDATE {T} SET premium = 1, version = version WHERE id = 1"
    yield "version + 1", f"UPDATE {T} SET premium = 1, version = version + 1 WHERE id = 1"
    yield "an older version", f"UPDATE {T} SET premium = 1, holdfast = 6 WHERE id = 1"
    yield "a version to come", f"UPDATE {T} SET premium = 1, holdfast = 8 WHERE id = 1"
    yield "holdfast = NULL", f"UPDATE {T} SET premium = 1, holdfast = NULL WHERE id = 1"
    yield "many rows", f"UPDATE {T} SET premium = 1"
    yield "many rows, the right number for one", f"UPDATE {T} SET premium = 1, holdfast = 7"
    yield "a subquery", f"UPDATE {T} SET premium = (SELECT 1) WHERE id IN (SELECT 1)"
    yield "a change of the key", f"UPDATE {T} SET id = 9, holdfast = 7 WHERE id = 1"
    yield "a blind DELETE", f"DELETE FROM {T} WHERE id = 1"
    yield "a DELETE of all", f"DELETE FROM {T}"
    yield "a mark that changes something", f"UPDATE {T} SET premium = 1, holdfast = -7 WHERE id = 1"
    yield "a mark that moves the version", f"UPDATE {T} SET version = 8, holdfast = -7 WHERE id = 1"
    yield "a mark of an older version, then DELETE", \
        f"BEGIN; UPDATE {T} SET holdfast = -6 WHERE id = 1; DELETE FROM {T} WHERE id = 1; COMMIT"
    yield "a row that brings its number along, then a blind UPDATE", \
        f"INSERT INTO {T} (id, premium, holder, version, holdfast) VALUES (8, 1, 'h', 5, 5); " + \
        ("" if db.kind != "postgres" else "COMMIT; ") + f"UPDATE {T} SET premium = 2 WHERE id = 8"
    if db.mysql:
        yield "REPLACE by the key", f"REPLACE INTO {T} (id, premium, holder, version) VALUES (1, 1, 'x', 1)"
        yield "REPLACE by a unique column", f"REPLACE INTO {T} (id, premium, holder, version) VALUES (9, 1, 'a', 1)"
        yield "ON DUPLICATE KEY UPDATE", \
            f"INSERT INTO {T} (id, premium, holder, version) VALUES (1, 1, 'x', 1) ON DUPLICATE KEY UPDATE premium = 1"
        yield "UPDATE IGNORE", f"UPDATE IGNORE {T} SET premium = 1 WHERE id = 1"
        yield "DELETE IGNORE", f"DELETE IGNORE FROM {T} WHERE id = 1"
        yield "an UPDATE of two tables", f"UPDATE {T} p JOIN {T} q ON q.id = p.id SET p.premium = 1"
        yield "a DELETE of two tables", f"DELETE p FROM {T} p JOIN {T} q ON q.id = p.id"
    else:
        yield "ON CONFLICT DO UPDATE", f"INSERT INTO {T} (id, premium, holder, version) VALUES (1, 1, 'x', 1) " \
                                       "ON CONFLICT (id) DO UPDATE SET premium = 1"
        yield "UPDATE ... FROM", f"UPDATE {T} SET premium = 1 FROM {T} q WHERE q.id = {T}.id"
        yield "WITH ... UPDATE", f"WITH w AS (SELECT 1 AS id) UPDATE {T} SET premium = 1 WHERE id IN (SELECT id FROM w)"
    if db.kind == "sqlite":
        yield "REPLACE by the key", f"REPLACE INTO {T} (id, premium, holder, version) VALUES (1, 1, 'x', 1)"
        yield "REPLACE by a unique column", f"REPLACE INTO {T} (id, premium, holder, version) VALUES (9, 1, 'a', 1)"
        yield "REPLACE by the row number", f"REPLACE INTO {T} (rowid, premium, holder, version) VALUES (1, 1, 'x', 1)"
        yield "a declared UPDATE OR REPLACE that would delete another row", \
            f"UPDATE OR REPLACE {T} SET holder = 'b', holdfast = 7 WHERE id = 1"
        yield "INSERT OR IGNORE, UPDATE OR IGNORE", f"UPDATE OR IGNORE {T} SET premium = 1 WHERE id = 1"
        yield "recursive triggers", f"PRAGMA recursive_triggers = ON; REPLACE INTO {T} (id, premium, version) VALUES (1, 1, 1)"
    if db.kind == "postgres":
        yield "TRUNCATE", f"TRUNCATE {T}"
        yield "session_replication_role", f"SET session_replication_role = replica; UPDATE {T} SET premium = 1"
        yield "WITH a changing query", \
            f"WITH w AS (DELETE FROM {T} WHERE id = 1 RETURNING *) SELECT count(*) FROM w"
        yield "COPY, then a blind UPDATE", \
            f"COPY {T} (id, premium, holder, version, holdfast) FROM stdin;\n8\t1\th\t5\t5\n\\.\nUPDATE {T} SET premium = 2 WHERE id = 8"
        if int(db.sql("SHOW server_version_num")) >= 150000:
            yield "MERGE", f"MERGE INTO {T} p USING (SELECT 1 AS id) q ON q.id = p.id WHEN MATCHED THEN UPDATE SET premium = 1"


def versions(db):
    make(db)
    db.guard("add", T, "--type", "policy", "--version", "version")
    check(f"{db.kind}: a table is guarded by its version column", db.code == 0 and "holdfast = VERSION" in db.out, db.out)
    whole = db.rows(f"SELECT * FROM {T} ORDER BY id;")
    for name, sql in blind_shapes(db):
        answer = db.sql(sql + ";")
        check(f"{db.kind}: refused: {name}", db.refused(answer, "23H02"), answer)
        db.sql(f"{'BEGIN; ' if db.kind != 'sqlite' else ''}UPDATE {T} SET holdfast = -5 WHERE id = 8; DELETE FROM {T} WHERE id = 8;"
               f"{' COMMIT;' if db.kind != 'sqlite' else ''}")
        now = db.rows(f"SELECT * FROM {T} ORDER BY id;")
        if now != whole:
            check(f"{db.kind}: ... and nothing was changed by {name}", False, "\n".join(now))
            whole = now
    if db.mysql:
        answer = db.sql(f"TRUNCATE {T};")
        check(f"{db.kind}: refused: TRUNCATE", "1701" in answer, answer)
        check(f"{db.kind}: ... and no row is gone", len(db.rows(f"SELECT * FROM {T};")) == 3)
    if db.mysql:
        if db.kind == "mysql":  # takes no local files unless its administrator allows it
            db.sql("SET GLOBAL local_infile = 1;")
        with open(f"{scratch.name}/rows", "w", encoding="ascii") as f:
            f.write("1\t1\tx\t1\n")
        answer = db.sql(f"LOAD DATA LOCAL INFILE '{scratch.name}/rows' REPLACE INTO TABLE {T} (id, premium, holder, version);")
        check(f"{db.kind}: refused: LOAD DATA ... REPLACE", db.refused(answer, "23H02"), answer)

    def row(key):
        return db.rows(f"SELECT premium, version, holdfast FROM {T} WHERE id = {key};")
    db.sql(f"UPDATE {T} SET premium = 120, holdfast = 7 WHERE id = 1;")
    check(f"{db.kind}: a statement that carries the version passes, and the version moves", row(1) == ["120|8|7"], row(1))
    answer = db.sql(f"UPDATE {T} SET premium = 130, holdfast = 7 WHERE id = 1;")
    check(f"{db.kind}: the slower of two that read the same version is refused", db.refused(answer), answer)
    check(f"{db.kind}: ... with the version that it has now", db.kind == "sqlite" or "now version 8" in answer, answer)
    answer = db.sql(f"UPDATE {T} SET premium = 130, holdfast = 6 WHERE id = 1;")
    check(f"{db.kind}: ... and the one that was read, where it can be told",
          db.kind == "sqlite" or "policy/1 was changed since it was read (you read version 6, it is now 8)." in answer, answer)
    db.sql(f"UPDATE {T} SET premium = 140, version = 9, holdfast = 8 WHERE id = 1;")
    check(f"{db.kind}: an ORM that counts up by itself may", row(1) == ["140|9|8"], row(1))
    db.sql(f"UPDATE {T} SET premium = premium + 1, holdfast = version;")
    check(f"{db.kind}: many rows at once pass, each with its number", row(1) + row(2) + row(3) == ["141|10|9", "201|4|3", "301|2|1"],
          row(1) + row(2) + row(3))
    db.sql(f"BEGIN; UPDATE {T} SET holdfast = -10 WHERE id = 1; DELETE FROM {T} WHERE id = 1; COMMIT;")
    check(f"{db.kind}: a row that was marked with its version is deleted", row(1) == [], row(1))
    db.sql(f"INSERT INTO {T} (id, premium, holder, version, holdfast) VALUES (4, 1, 'd', 1, 1);")
    check(f"{db.kind}: a new row keeps no number", row(4) in (["1|1|"], ["1|1|NULL"]), row(4))
    if db.kind == "postgres":
        db.sql(f"BEGIN; UPDATE {T} SET premium = 1, holdfast = 4 WHERE id = 2; SAVEPOINT s; UPDATE {T} SET premium = 2 WHERE id = 2;"
               f"RELEASE s; UPDATE {T} SET premium = 3 WHERE id = 2; COMMIT;")
        check("postgres: a row that this transaction has written may be written again", row(2) == ["3|5|4"], row(2))
        answer = db.sql(f"BEGIN; SAVEPOINT s; UPDATE {T} SET premium = 4, holdfast = 5 WHERE id = 2; ROLLBACK TO s;"
                        f"UPDATE {T} SET premium = 5 WHERE id = 2;")
        check("postgres: ... not after that was rolled back", db.refused(answer), answer)
        db.sql(f"BEGIN; UPDATE {T} SET holdfast = -5 WHERE id = 2; UPDATE {T} SET premium = 6 WHERE id = 2; COMMIT;")
        check("postgres: a change after a mark moves the version too", row(2)[0].startswith("6|6|"), row(2))


def modes(db):
    db.sql(f"UPDATE {T} SET premium = 1, holdfast = version;")
    db.guard("mode", T, "log")
    check(f"{db.kind}: mode log", db.code == 0, db.out)
    told = db.sql(f"UPDATE {T} SET premium = 2;") + db.sql(f"DELETE FROM {T} WHERE id = 4;")
    check(f"{db.kind}: in mode log everything passes", told == "" and db.rows(f"SELECT premium FROM {T};") == ["2", "2"], told)
    report = db.json("guard", "report", db.url)["bypasses"]
    seen = {(b["kind"], b["statements"], b["rows"]) for b in report}
    check(f"{db.kind}: ... and is reported, a row a statement", seen == {("update", 1, 3), ("delete", 1, 1)}, report)
    if db.kind == "postgres":
        check("postgres: ... with account and program", report[0]["account"] == "postgres" and report[0]["program"] == "psql", report)
    if db.mysql:
        check(f"{db.kind}: ... with the account", report[0]["account"].startswith("root@"), report)
        check(f"{db.kind}: in mode log TRUNCATE is not refused either", db.sql("SET autocommit = 1; CREATE TABLE k LIKE " + T +
              f"; DROP TABLE k; SELECT COUNT(*) FROM information_schema.referential_constraints WHERE referenced_table_name = '{T}';") == "0")
    db.guard("mode", T, "fail", "--until", "2099-01-01")
    told = db.sql(f"UPDATE {T} SET premium = 3;")
    check(f"{db.kind}: fail, suppressed until a date, logs", told == "" and "log until 2099-01-01" in db.guard("show"), told + db.out)
    db.guard("add", T, "--type", "policy", "--version", "version")
    check(f"{db.kind}: ... also when the guard is made again", "log until 2099-01-01" in db.guard("show"), db.out)
    check(f"{db.kind}: ... and counts on", sum(b["statements"] for b in db.json("guard", "report", db.url, T)["bypasses"]) == 3)
    db.guard("mode", T, "fail")
    told = db.sql(f"UPDATE {T} SET premium = 4;")
    check(f"{db.kind}: mode fail refuses again", db.refused(told), told)
    db.guard("mode", T, "off")
    told = db.sql(f"UPDATE {T} SET premium = 5;")
    check(f"{db.kind}: mode off lets everything pass, and logs nothing", told == "" and
          sum(b["statements"] for b in db.json("guard", "report", db.url)["bypasses"]) == 3, told)
    db.guard("add", T, "--type", "policy", "--version", "version", "--mode", "fail")
    check(f"{db.kind}: a guard can be added again", db.code == 0 and db.refused(db.sql(f"UPDATE {T} SET premium = 6;")), db.out)
    db.guard("remove", T)
    check(f"{db.kind}: a guard is removed, with its column", db.code == 0 and db.sql(f"UPDATE {T} SET premium = 7;") == "" and
          "holdfast" in db.sql(f"SELECT holdfast FROM {T};"), db.out)
    check(f"{db.kind}: ... and none is left", db.guard("show") == "No table is guarded.", db.out)


def step(db):
    make(db)
    db.guard("add", T, "--type", "policy", "--version", "version", "--check", "step")
    check(f"{db.kind}: --check step needs no column", db.code == 0 and "holdfast" in db.sql(f"SELECT holdfast FROM {T};"), db.out)
    told = db.sql(f"UPDATE {T} SET premium = 1 WHERE id = 1;")
    check(f"{db.kind}: ... refuses what does not count up", db.refused(told), told)
    told = db.sql(f"UPDATE {T} SET premium = 1, version = version + 1 WHERE id = 1;")
    check(f"{db.kind}: ... and show says what it lets through", told == "" and "does not stop" in db.guard("show"), told + db.out)
    db.guard("remove", T)


def printed(db):
    """--print: the stock client runs it, and nothing was done before."""
    make(db)
    sql = db.guard("add", T, "--type", "policy", "--version", "version", "--print")
    check(f"{db.kind}: --print changes nothing", db.code == 0 and db.sql(f"UPDATE {T} SET premium = 1;") == "", db.out)
    told = db.sql(sql)
    db.run("probe", db.url)
    check(f"{db.kind}: what add --print writes guards the table", "rror" not in told and "ERROR" not in told and db.code == 0
          and "in place" in db.guard("show"), told + db.out)
    told = db.sql(db.guard("remove", T, "--print"))
    check(f"{db.kind}: what remove --print writes takes the guard away", "No table is guarded." == db.guard("show")
          and db.sql(f"UPDATE {T} SET premium = 1;") == "", told + db.out)


def refusals(db):
    """Bad input: a sentence, and nothing changed."""
    make(db)
    other = f"other_{OWN}"

    def bad(name, wanted, *arguments, table=T):
        db.guard("add", table, *arguments)
        check(f"{db.kind}: can't be guarded: {name}", db.code != 0 and wanted in db.out, db.out)
    bad("no such table", "There is no table", "--type", "policy", "--version", "version", table="nowhere")
    bad("no such version column", "has no column v", "--type", "policy", "--version", "v")
    bad("a version that is text", "can't count saves", "--type", "policy", "--version", "holder")
    bad("no type", "--type", "--version", "version")
    bad("a bad type", "begins with a letter", "--type", "Policy", "--version", "version")
    bad("nothing said", "Say what a change", "--type", "policy")
    bad("a bad policy", "There is no policy", "--type", "policy", "--policy", "none")
    bad("a lock without a store here", "There are no tables of holdfast", "--type", "policy", "--policy", "exclusive-write")
    bad("a lock and a version", "one number", "--type", "policy", "--policy", "read-write", "--version", "version")
    bad("a parent without a link", "belong together", "--parent", T)
    bad("a parent that is not guarded", "is not guarded", "--parent", T, "--link", "premium")
    bad("a bad check", "--check is", "--type", "policy", "--version", "version", "--check", "x")
    db.sql(f"CREATE TABLE {other} (a INTEGER, version INTEGER);")
    bad("no primary key", "no primary key", "--type", "policy", "--version", "version", table=other)
    db.drop(other)
    db.sql(f"CREATE TABLE {other} (id INTEGER PRIMARY KEY, version INTEGER, holdfast INTEGER);")
    bad("somebody else's column holdfast", "that no guard made", "--type", "policy", "--version", "version", table=other)
    db.drop(other)
    db.sql(f"CREATE VIEW {other} AS SELECT * FROM {T};")
    bad("a view", "is a view", "--type", "policy", "--version", "version", table=other)
    db.sql(f"DROP VIEW {other};")
    if db.kind == "postgres":
        db.sql(f"CREATE TABLE {other} (id integer PRIMARY KEY, version integer) PARTITION BY RANGE (id);")
        bad("a partitioned table", "is a partitioned table", "--type", "policy", "--version", "version", table=other)
        db.drop(other)
        db.sql(f"CREATE TABLE {other} (more integer) INHERITS ({T});")
        bad("an inheritance child without a guard", f"guard public.{other} first", "--type", "policy", "--version", "version")
        db.drop(other)
        db.sql(f"CREATE ROLE low_{OWN} LOGIN; GRANT SELECT ON {T} TO low_{OWN};")
        low = db.bare.replace("postgres://postgres@", f"postgres://low_{OWN}@")
        db.run("guard", "add", low, T, "--type", "policy", "--version", "version")
        check("postgres: can't be guarded: by an account that lacks the right", db.code == 6 and "may not guard" in db.out, db.out)
        db.sql(f"DROP OWNED BY low_{OWN}; DROP ROLE low_{OWN};")
    if db.kind == "sqlite":
        db.sql(f"CREATE UNIQUE INDEX one ON {T} (premium) WHERE premium > 5;")
        bad("a partial unique index", "is partial", "--type", "policy", "--version", "version")
        db.sql("DROP INDEX one;")
    if db.mysql:
        db.sql(f"CREATE TABLE {other} (id INTEGER PRIMARY KEY, version INTEGER) ENGINE=MyISAM;")
        bad("a table without transactions", "engine MyISAM", "--type", "policy", "--version", "version", table=other)
        db.drop(other)
        db.sql(f"CREATE TABLE {other} (id INTEGER PRIMARY KEY, version INTEGER, p INTEGER, "
               f"FOREIGN KEY (p) REFERENCES {T} (id) ON DELETE CASCADE);")
        bad("a foreign key that cascades from outside", "no trigger fires", "--type", "policy", "--version", "version", table=other)
        db.drop(other)
        db.sql(f"CREATE TABLE {other} (id INTEGER PRIMARY KEY, version INTEGER) PARTITION BY HASH (id) PARTITIONS 2;")
        bad("a partitioned table", "is a partitioned table", "--type", "policy", "--version", "version", table=other)
        db.drop(other)
    check(f"{db.kind}: nothing of it changed anything", db.guard("show") == "No table is guarded." and
          "holdfast" in db.sql(f"SELECT holdfast FROM {T};"), db.out)
    db.drop(T)


def names(db):
    """Quotes, capitals, spaces, dots; keys of several columns and of text."""
    quote = "`" if db.mysql else '"'
    table = f"It's \"{OWN}\" 100%" if not db.mysql else f"It's \"{OWN}\" `100%"
    quoted = quote + table.replace(quote, quote * 2) + quote
    version = quote + "Row Version" + quote
    db.drop(quoted)
    told = db.sql(f"CREATE TABLE {quoted} (a INTEGER, {quote}B b{quote} VARCHAR(20), {version} INTEGER, c INTEGER, "
                  f"PRIMARY KEY (a, {quote}B b{quote})); INSERT INTO {quoted} VALUES (17, 'x,y', 2, 1);")
    db.guard("add", table, "--type", "line", "--version", "Row Version")
    check(f"{db.kind}: a table with any name is guarded", told == "" and db.code == 0, told + db.out)
    told = db.sql(f"UPDATE {quoted} SET c = 2;")
    check(f"{db.kind}: ... and refuses", db.refused(told) and (db.kind == "sqlite" or "line/17,x%2Cy" in told), told)
    told = db.sql(f"UPDATE {quoted} SET c = 2, holdfast = 2; SELECT c, {version} FROM {quoted};")
    check(f"{db.kind}: ... and lets pass", told in ("2|3", "2\t3"), told)
    db.guard("show")
    check(f"{db.kind}: ... and shows", "in place" in db.out, db.out)
    db.guard("remove", table)
    check(f"{db.kind}: ... and goes", db.code == 0, db.out)
    db.drop(quoted)
    if db.kind == "postgres":
        os.environ["PGOPTIONS"] = "-c standard_conforming_strings=off"
        table = f"back\\slash' {OWN}"
        told = db.sql(f'CREATE TABLE "{table}" (id integer PRIMARY KEY, version integer); INSERT INTO "{table}" VALUES (1, 1);')
        db.guard("add", table, "--type", "line", "--version", "version")
        check("postgres: a name with a backslash, where strings do not conform to the standard", told == "" and db.code == 0, told + db.out)
        told = db.sql(f'UPDATE "{table}" SET version = 2;')
        check("postgres: ... is refused a blind write", db.refused(told, "23H02"), told)
        db.guard("remove", table)
        db.sql(f'DROP TABLE "{table}";')
        del os.environ["PGOPTIONS"]
        db.sql(f"CREATE TABLE {T} (at timestamptz PRIMARY KEY, n integer);")
        db.run("install", db.url)
        db.guard("add", T, "--type", "line", "--policy", "exclusive-read", "--reads")
        check("postgres: a key whose text depends on who reads is no name for reading", db.code == 2 and "--reads wants keys" in db.out, db.out)
        db.run("uninstall", db.url, "--force")
        db.drop(T)
    if db.mysql:
        db.sql(f"CREATE TABLE {T} (id INTEGER PRIMARY KEY, version INTEGER, at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6) "
               f"ON UPDATE CURRENT_TIMESTAMP(6)); INSERT INTO {T} (id, version) VALUES (1, 1);")
        db.guard("add", T, "--type", "policy", "--version", "version")
        told = db.sql(f"BEGIN; UPDATE {T} SET holdfast = -1; DELETE FROM {T}; COMMIT; SELECT COUNT(*) FROM {T};")
        check(f"{db.kind}: a column that the server sets on update is no change of a marked row", told == "0", told)
        db.guard("remove", T)
        db.drop(T)
    if db.kind == "sqlite":
        db.sql(f"CREATE TABLE {T} (a TEXT NOT NULL, b INTEGER, rowid INTEGER, version INTEGER, PRIMARY KEY (a, b)) STRICT, WITHOUT ROWID;"
               f"INSERT INTO {T} VALUES ('x', 1, 1, 1), ('x', 2, 2, 1);")
        db.guard("add", T, "--type", "policy", "--version", "version")
        found = db.json("probe", db.url)
        check("sqlite: a strict table without row numbers is guarded", db.code == 0 and found["refused"] > 15, db.out)
        db.guard("remove", T)
        db.drop(T)


def replaces(db):
    """SQLite: REPLACE deletes rows by every unique key, and puts the default in place of NULL; in each an honest change still passes."""
    if db.kind != "sqlite":
        return
    n, new = "n INTEGER, version INTEGER NOT NULL DEFAULT 1", "INSERT OR REPLACE INTO {T} (id, n, e) VALUES (9, 0, NULL)"
    db.sql(subprocess.run([HOLDFAST, "install", db.url, "--print"], capture_output=True, text=True).stdout)
    shapes = {
        "a unique column": ("id INTEGER PRIMARY KEY, e TEXT NOT NULL DEFAULT 'none' UNIQUE", new),
        "an index that came after the table": ("id INTEGER PRIMARY KEY, e TEXT NOT NULL DEFAULT 'none'", new, "CREATE UNIQUE INDEX u_{T} ON {T} (e)"),
        "the table's own ON CONFLICT REPLACE": ("id INTEGER PRIMARY KEY, e TEXT NOT NULL ON CONFLICT REPLACE DEFAULT 'none' "
                                                "UNIQUE ON CONFLICT REPLACE", new.replace("OR REPLACE ", "")),
        "a default that is an expression": ("id INTEGER PRIMARY KEY, e TEXT NOT NULL DEFAULT (lower('NO') || 'ne') UNIQUE", new),
        "a pair": ("id INTEGER PRIMARY KEY, pair INTEGER DEFAULT 1, e TEXT NOT NULL DEFAULT 'none', UNIQUE (pair, e)", new),
        "the primary key": ("e TEXT NOT NULL DEFAULT 'none' PRIMARY KEY, id INTEGER", new),
        "the primary key without row numbers": ("e TEXT DEFAULT 'none' PRIMARY KEY, id INTEGER", new, "", "WITHOUT ROWID"),
        "a generated column": ("id INTEGER PRIMARY KEY, e TEXT NOT NULL DEFAULT 'none', u TEXT AS (upper(e)) UNIQUE", new),
        "UPDATE OR REPLACE": ("id INTEGER PRIMARY KEY, e TEXT NOT NULL DEFAULT 'none' UNIQUE",
                              "UPDATE OR REPLACE {T} SET e = NULL, holdfast = 1 WHERE id = 2"),
        "a primary key with another collation": ("e TEXT, id INTEGER, PRIMARY KEY (e COLLATE NOCASE)",
                                                 "REPLACE INTO {T} (id, n, e) VALUES (9, 0, 'NONE')"),
        "UPDATE OR REPLACE by an index with another collation": (
            "id INTEGER PRIMARY KEY, e TEXT COLLATE NOCASE", "UPDATE OR REPLACE {T} SET e = 'none', holdfast = 1 WHERE id = 2",
            "CREATE UNIQUE INDEX u_{T} ON {T} (e COLLATE BINARY); UPDATE {T} SET e = 'NONE' WHERE id = 2"),
        "a key that only its own collation takes for the same": (
            "e TEXT COLLATE NOCASE PRIMARY KEY, id INTEGER", "UPDATE {T} SET e = 'NONE', holdfast = 1 WHERE e = 'none'"),
    }
    for name, (columns, sql, *more) in shapes.items():
        db.drop(T)
        told = db.sql(f"CREATE TABLE {T} ({columns.replace(', UNIQUE', ', ' + n + ', UNIQUE').replace(', PRIMARY', ', ' + n + ', PRIMARY')}"
                      f"{'' if ', UNIQUE' in columns or ', PRIMARY' in columns else ', ' + n}) {more[1] if len(more) > 1 else ''};"
                      f"INSERT INTO {T} (id, n, e) VALUES (1, 100, 'none'), (2, 200, 'b');" + "".join(one.format(T=T) + ";" for one in more[:1]))
        for arguments in (("--version", "version"), ("--policy", "exclusive-write")):
            db.guard("add", T, "--type", "policy", *arguments)
            before = db.rows(f"SELECT * FROM {T} ORDER BY n;")
            answer = db.sql(sql.format(T=T) + ";")
            check(f"sqlite: refused: REPLACE by {name}, guarded by {arguments[0]}", told == "" and db.code == 0 and db.refused(answer) and
                  db.rows(f"SELECT * FROM {T} ORDER BY n;") == before, told + db.out + answer)
            if arguments[0] == "--version":
                told = db.sql(f"UPDATE {T} SET n = n + 1, holdfast = version; INSERT INTO {T} (id, n, e, version) VALUES (3, 300, 'c', 1);"
                              f"INSERT INTO {T} (id, n, e, version) VALUES (4, 400, 'd', 1) ON CONFLICT DO NOTHING;")
                check("sqlite: ... and an honest change is not", told == "" and len(db.rows(f"SELECT * FROM {T};")) == 4, told)
                found = db.json("probe", db.url, T)
                check("sqlite: ... and the prober gets nothing through", db.code == 0,
                      [one for one in found["attacks"] if one["outcome"] != "refused"])
            db.guard("remove", T)
    db.run("uninstall", db.url, "--force")
    db.drop(T)


def renewed(db):
    """Install makes all guards anew that it can, and names the others."""
    ours = [f"{letter}_{OWN}" for letter in "abcd"]
    a, b, c, d = ours
    if db.kind == "sqlite":
        db.sql(subprocess.run([HOLDFAST, "install", db.url, "--print"], capture_output=True, text=True).stdout)
    else:
        db.run("install", db.url)
    for table in ours:
        db.sql(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, version INTEGER); INSERT INTO {table} VALUES (1, 1);")
        db.guard("add", table, "--type", "line", "--version", "version")
        db.guard("mode", table, "log")
    db.drop(a, c)
    told = db.sql(f"CREATE TABLE {a} (id INTEGER, version INTEGER);")
    name = "{}"
    if db.kind == "postgres":
        name = "public.{}"
        told += db.sql(f'DROP TRIGGER "0_holdfast_update" ON {b}; DROP TRIGGER "0_holdfast_update" ON {d};')
    else:
        trigger = "{ns}_g_{hash}_update" if db.mysql else "{ns}_guard {table} update"
        for table in (b, d):
            trigger_name = trigger.format(ns=OWN, hash=hashlib.sha256(table.encode()).hexdigest()[:12], table=table)
            told += db.sql(f"DROP TRIGGER {'`' if db.mysql else chr(34)}{trigger_name}{'`' if db.mysql else chr(34)};")
    assert told == "", told
    db.run("install", db.url)
    wanted = f"the guards of {name.format(a)}, {name.format(c)}. "
    check(f"{db.kind}: install names the guards that no longer fit", db.code != 0 and wanted in db.out and "guard remove" in db.out, db.out)
    shown = {one["table"]: one for one in db.json("guard", "show", db.url)["guards"]}
    check(f"{db.kind}: ... and makes the others anew", all(shown[name.format(table)]["in_place"] for table in (b, d)), shown)
    for table in (a, c):
        db.guard("remove", name.format(table))
        check(f"{db.kind}: ... and such a guard can be taken away", db.code == 0, db.out)
    db.run("install", db.url)
    check(f"{db.kind}: ... after which nothing fails", db.code == 0, db.out)
    for table in (b, d):
        db.guard("remove", table)
    db.run("uninstall", db.url, "--force")
    db.drop(*ours)


for database in databases():
    versions(database)
    modes(database)
    step(database)
    printed(database)
    refusals(database)
    names(database)
    replaces(database)
    renewed(database)
finish()
