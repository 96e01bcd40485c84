#!/usr/bin/env python3
"""Guards by locks and by saves, over aggregates three deep, from the stock clients. docs/guards.md."""
import os
import subprocess
import time

from lib import HOLDFAST, OWN, check, databases, finish, scratch

POLICY, COVER, CLAUSE, ORDER, LINE = (f"{name}_{OWN}" for name in ("policy", "cover", "clause", "orders", "line"))


def install(db):
    if db.kind != "sqlite":
        db.run("install", db.url)
    else:
        sql = subprocess.run([HOLDFAST, "install", db.url, "--print"], capture_output=True, text=True).stdout
        db.sql(sql)
    for table in (CLAUSE, COVER, POLICY, LINE, ORDER):
        db.drop(table)
    told = db.sql(f"""
CREATE TABLE {POLICY} (id INTEGER PRIMARY KEY, premium INTEGER);
CREATE TABLE {COVER} (id INTEGER PRIMARY KEY, policy_id INTEGER REFERENCES {POLICY} (id), amount INTEGER);
CREATE TABLE {CLAUSE} (id INTEGER PRIMARY KEY, cover_id INTEGER REFERENCES {COVER} (id), amount INTEGER);
INSERT INTO {POLICY} VALUES (1, 100), (2, 200);
INSERT INTO {COVER} VALUES (10, 1, 5), (20, 2, 5);
INSERT INTO {CLAUSE} VALUES (100, 10, 5), (200, 20, 5);
CREATE TABLE {ORDER} (id VARCHAR(20) PRIMARY KEY, total INTEGER);
CREATE TABLE {LINE} (order_id VARCHAR(20), n INTEGER, amount INTEGER, PRIMARY KEY (order_id, n));
INSERT INTO {ORDER} VALUES ('A-1', 1);
INSERT INTO {LINE} VALUES ('A-1', 1, 1);
""")
    assert told == "", told
    db.run("type", "set", "policy", "--policy", "read-write", store=True)
    assert db.code == 0, db.out


def person(name):
    os.environ["HOLDFAST_STATE"] = f"{scratch.name}/{name}"


def opens(db, name):
    person(name)
    return db.json("session", "open", "--user", name, "--name", f"{name.title()} Smith", store=True)


def takes(db, resource, *more):
    return db.json("acquire", resource, *more, store=True)["locks"][0]["fence"]


def reads(db):
    """A policy that raises for whoever reads without a lock. Superusers pass it, so another account reads."""
    if db.kind == "postgres":
        db.sql(f"DELETE FROM {db.ns}meta WHERE name = 'secret';")
        db.guard("add", POLICY, "--type", "policy", "--reads")
        check("tables of an earlier version are installed anew first", db.code == 2 and "holdfast install" in db.out, db.out)
        db.run("install", db.url)
    db.guard("add", POLICY, "--type", "policy", "--reads")
    if db.kind != "postgres":
        check(f"{db.kind}: reading is guarded on PostgreSQL only", db.code == 2 and "PostgreSQL" in db.out, db.out)
        return
    check("a table is guarded for reading", db.code == 0, db.out)
    db.guard("add", COVER, "--parent", POLICY, "--link", "policy_id", "--reads")
    db.guard("add", CLAUSE, "--parent", COVER, "--link", "cover_id", "--reads")
    check("... and its members", db.code == 0, db.out)
    shown = {one["table"]: one["reads"] for one in db.json("guard", "show", db.url)["guards"]}
    check("... which show tells", all(shown[f"public.{name}"] for name in (POLICY, COVER, CLAUSE)), shown)
    reader = f"reader_{OWN}"
    db.sql(f"CREATE ROLE {reader}; GRANT SELECT, INSERT, UPDATE ON {POLICY}, {COVER}, {CLAUSE} TO {reader};")

    def read(sql, fences=None):
        setting = f"SET LOCAL holdfast.fences = '{fences}'; " if fences is not None else ""
        return db.sql(f"SET ROLE {reader}; BEGIN; {setting}{sql}; COMMIT;")

    told = read(f"SELECT premium FROM {POLICY} WHERE id = 1")
    check("reading without a lock is refused, not empty", "23H01" in told and "policy/1 is guarded" in told and "SET LOCAL" in told, told)
    opens(db, "rita")
    fence = takes(db, "policy/1", "--mode", "shared")
    check("a shared lock lets one read", read(f"SELECT premium FROM {POLICY} WHERE id = 1", fence) == "100")
    check("... the members, too", read(f"SELECT amount FROM {CLAUSE} WHERE cover_id = 10", f"7,{fence}") == "5")
    told = read(f"SELECT count(*) FROM {POLICY}", fence)
    check("... and no other record", "policy/2 is guarded" in told, told)
    told = read(f"SELECT premium FROM {POLICY} WHERE id = 1", "seven")
    check("a setting that is no list is named", "holdfast.fences is not a list" in told, told)
    told = read(f"INSERT INTO {POLICY} VALUES (3, 300) RETURNING id")
    check("INSERT ... RETURNING tells what it has inserted", told == "3", told)
    told = read(f"INSERT INTO {POLICY} VALUES (4, 400) ON CONFLICT DO NOTHING; SELECT premium FROM {POLICY} WHERE id = 4; ROLLBACK")
    check("... and the transaction reads it", told.startswith("400"), told)
    for insert in (f"INSERT INTO {POLICY} VALUES (2, 1) ON CONFLICT DO NOTHING; SELECT premium FROM {POLICY} WHERE id = 2",
                   f"WITH i AS (INSERT INTO {POLICY} VALUES (2, 1) ON CONFLICT DO NOTHING RETURNING id) "
                   f"SELECT premium FROM (SELECT count(*) FROM i) c, {POLICY} WHERE id = 2",
                   f"INSERT INTO {POLICY} VALUES (2, 1) ON CONFLICT (id) DO UPDATE SET id = 2 RETURNING premium"):
        told = read(insert)
        check("an INSERT of a row that is there opens it to nobody", "policy/2 is guarded" in told, told)
    told = read(f"INSERT INTO {POLICY} VALUES (5, 500); INSERT INTO {POLICY} VALUES (5, 1) ON CONFLICT DO NOTHING; "
                f"SELECT premium FROM {POLICY} WHERE id = 5; ROLLBACK")
    check("... and takes it from nobody", told.startswith("500"), told)
    db.run("release", "policy/1", store=True)
    exclusive = takes(db, "policy/1")
    told = read(f"UPDATE {POLICY} SET premium = 101, holdfast = {exclusive} WHERE id = 1", exclusive)
    check("the holder reads and writes", told == "" and read(f"SELECT premium FROM {POLICY} WHERE id = 1", exclusive) == "101", told)
    told = read(f"SELECT premium FROM {POLICY} WHERE id = 1")
    check("who has it is named", "Rita Smith" in told, told)
    told = db.sql(f"GRANT USAGE ON SCHEMA {OWN} TO {reader}; REVOKE SELECT ON {COVER} FROM {reader}; SET SESSION AUTHORIZATION {reader};"
                  f"SELECT {OWN}.guard_read('public.{COVER}', 'policy', '1');")
    check("... to who may read the table only", "policy/1 is guarded" in told and "Rita" not in told, told)
    told = db.sql(f"SET SESSION AUTHORIZATION {reader}; SELECT {OWN}.guard_read('public.{POLICY}', 'other', '1');")
    check("... and of records of that table only", "other/1 is guarded" in told, told)
    db.guard("mode", POLICY, "log")
    check("in mode log reading passes", read(f"SELECT premium FROM {POLICY} WHERE id = 2") == "200")
    kinds = [one["kind"] for one in db.json("guard", "report", db.url)["bypasses"]]
    check("... and is reported", "select" in kinds, kinds)
    db.run("release", "policy/1", store=True)
    for table in (CLAUSE, COVER, POLICY):
        db.guard("remove", table)
    told = db.sql(f"SELECT relrowsecurity OR relforcerowsecurity FROM pg_class WHERE relname = '{POLICY}';")
    check("removing leaves no policy", told == "f" and db.sql(f"SELECT count(*) FROM pg_policy WHERE polrelid = '{POLICY}'::regclass;") == "0", told)
    db.sql(f"ALTER TABLE {POLICY} ENABLE ROW LEVEL SECURITY;")
    db.guard("add", POLICY, "--type", "policy", "--reads")
    check("a table with policies of its own is refused", db.code == 2 and "row level security of its own" in db.out, db.out)
    db.sql(f"ALTER TABLE {POLICY} DISABLE ROW LEVEL SECURITY; DELETE FROM {POLICY} WHERE id = 3; UPDATE {POLICY} SET premium = 100 WHERE id = 1;"
           f"DROP OWNED BY {reader}; DROP ROLE {reader}; DELETE FROM {db.ns}guard_log;")


def locks(db):
    db.guard("add", COVER, "--parent", POLICY, "--link", "policy_id")
    check(f"{db.kind}: a member is guarded after its root", db.code != 0 and "is not guarded" in db.out, db.out)
    db.guard("add", POLICY, "--type", "policy")
    check(f"{db.kind}: a type's policy comes from the store", db.code == 0 and "fence of its lock" in db.out, db.out)
    db.guard("add", COVER, "--parent", POLICY, "--link", "policy_id")
    db.guard("add", CLAUSE, "--parent", COVER, "--link", "cover_id")
    check(f"{db.kind}: aggregates three deep", db.code == 0, db.out)
    db.guard("remove", COVER)
    check(f"{db.kind}: a parent's guard stays while a member has one", db.code != 0 and CLAUSE in db.out, db.out)

    def refused(name, sql):
        told = db.sql(sql)
        check(f"{db.kind}: refused: {name}", db.refused(told, "23H01"), told)
        return told

    def passes(name, sql, look, wanted):
        told = db.sql(sql)
        rows = db.rows(look)
        check(f"{db.kind}: passes: {name}", told == "" and rows == wanted, told + "\n".join(rows))

    def nothing(row):
        return row.replace("|NULL", "|")
    refused("an UPDATE of a root without a lock", f"UPDATE {POLICY} SET premium = 1;")
    refused("an INSERT of a member without a lock", f"INSERT INTO {COVER} (id, policy_id, amount) VALUES (11, 1, 1);")
    opens(db, "bob")
    fence = takes(db, "policy/1", "--purpose", "renewal")
    told = refused("a blind UPDATE while it is locked", f"UPDATE {POLICY} SET premium = 1 WHERE id = 1;")
    if db.kind == "postgres":
        check("postgres: ... and the sentence names the holder", "policy/1 is being edited by Bob Smith since" in told, told)
    refused("a number that no lock has", f"UPDATE {POLICY} SET premium = 1, holdfast = {fence - 1} WHERE id = 1;")
    refused("the fence of another root", f"UPDATE {POLICY} SET premium = 1, holdfast = {fence} WHERE id = 2;")
    refused("... of a member's other root", f"UPDATE {CLAUSE} SET amount = 1, holdfast = {fence} WHERE id = 200;")
    refused("a blind UPDATE of a member", f"UPDATE {COVER} SET amount = 1 WHERE id = 10;")
    refused("a blind DELETE of a member's member", f"DELETE FROM {CLAUSE} WHERE id = 100;")
    refused("moving a member to another root", f"UPDATE {COVER} SET policy_id = 2, holdfast = {fence} WHERE id = 10;")
    refused("a mark that changes something", f"UPDATE {COVER} SET amount = 9, holdfast = -{fence} WHERE id = 10;")
    passes("the root with its fence", f"UPDATE {POLICY} SET premium = 120, holdfast = {fence} WHERE id = 1;",
           f"SELECT premium, COALESCE(holdfast, 0) FROM {POLICY} ORDER BY id;", ["120|0", "200|0"])
    passes("a member's member with the root's fence", f"UPDATE {CLAUSE} SET amount = 7, holdfast = {fence} WHERE id = 100;",
           f"SELECT amount FROM {CLAUSE} ORDER BY id;", ["7", "5"])
    passes("a new member with the root's fence", f"INSERT INTO {COVER} (id, policy_id, amount, holdfast) VALUES (12, 1, 1, {fence});",
           f"SELECT id, COALESCE(holdfast, 0) FROM {COVER} ORDER BY id;", ["10|0", "12|0", "20|0"])
    refused("a blind UPDATE after it", f"UPDATE {COVER} SET amount = 2 WHERE id = 12;")
    passes("a DELETE of what was marked", f"BEGIN; UPDATE {COVER} SET holdfast = -{fence} WHERE id = 12; DELETE FROM {COVER} WHERE id = 12; COMMIT;",
           f"SELECT id FROM {COVER} ORDER BY id;", ["10", "20"])
    if db.kind == "postgres":
        passes("rows that this transaction has written", f"BEGIN; UPDATE {POLICY} SET premium = 121, holdfast = {fence} WHERE id = 1; "
               f"UPDATE {POLICY} SET premium = 122 WHERE id = 1; COMMIT;", f"SELECT premium FROM {POLICY} WHERE id = 1;", ["122"])
    # Between load and save: handed over, forced, released, expired.
    carol = opens(db, "carol")
    person("bob")
    db.run("hand-over", "policy/1", "--to", carol["id"], store=True)
    assert db.code == 0, db.out
    refused("the fence of before a hand-over", f"UPDATE {POLICY} SET premium = 1, holdfast = {fence} WHERE id = 1;")
    person("carol")
    new = takes(db, "policy/1")
    passes("the fence of after", f"UPDATE {POLICY} SET premium = 130, holdfast = {new} WHERE id = 1;",
           f"SELECT premium FROM {POLICY} WHERE id = 1;", ["130"])
    person("bob")
    db.run("force-release", "policy/1", "--reason", "test", store=True)
    refused("the fence of a lock that was forced", f"UPDATE {POLICY} SET premium = 1, holdfast = {new} WHERE id = 1;")
    fence = takes(db, "policy/1")
    db.run("release", "policy/1", store=True)
    refused("the fence of a lock that was released", f"UPDATE {POLICY} SET premium = 1, holdfast = {fence} WHERE id = 1;")
    fence = takes(db, "policy/1", "--ttl", "300ms")
    time.sleep(0.5)
    refused("the fence of a lock that has expired", f"UPDATE {POLICY} SET premium = 1, holdfast = {fence} WHERE id = 1;")
    fence = takes(db, "policy/2", "--mode", "shared")
    refused("the fence of a shared lock", f"UPDATE {POLICY} SET premium = 1, holdfast = {fence} WHERE id = 2;")
    db.run("release", "policy/2", store=True)
    check(f"{db.kind}: nothing of it was changed", db.rows(f"SELECT premium FROM {POLICY} ORDER BY id;") == ["130", "200"])


def saves(db):
    db.run("type", "set", "order", "--policy", "optimistic", store=True)
    db.guard("add", ORDER, "--type", "order")
    check(f"{db.kind}: without a version column a save of holdfast's is the proof", db.code == 0 and "fence of its save" in db.out, db.out)
    db.guard("add", LINE, "--parent", ORDER, "--link", "order_id")
    told = db.sql(f"UPDATE {ORDER} SET total = 2;")
    check(f"{db.kind}: refused: without a save", db.refused(told, "23H02"), told)
    number = {"version": "NULL"}

    def saved(statements):
        """The statements in a transaction after a save; FENCE is its fence."""
        if db.kind == "sqlite":
            more = ["--new"] if number["version"] == "NULL" else ["--version", number["version"]]
            fence = db.json("save", "order/A-1", *more, "--user", "bob", store=True)["fence"]
            told = db.sql(f"BEGIN; {statements.replace('FENCE', str(fence))} COMMIT;")
        elif db.kind == "postgres":
            told = db.sql(f"BEGIN;\nSELECT {db.ns}save('order', 'A-1', {number['version']}, 'bob') AS fence \\gset\n"
                          f"{statements.replace('FENCE', ':fence')}\nCOMMIT;")
        else:
            told = db.sql(f"BEGIN; CALL {db.ns}save('order', 'A-1', {number['version']}, 'bob', NULL, NULL, @fence); "
                          f"{statements.replace('FENCE', '@fence')} COMMIT;")
        number["version"] = str(int(number["version"].replace("NULL", "0")) + 1)
        return told
    told = saved(f"UPDATE {ORDER} SET total = 2, holdfast = FENCE; "
                 f"INSERT INTO {LINE} (order_id, n, amount, holdfast) VALUES ('A-1', 2, 5, FENCE);"
                 f"UPDATE {LINE} SET amount = 6, holdfast = FENCE WHERE order_id = 'A-1' AND n = 1;")
    rows = db.rows(f"SELECT total FROM {ORDER}; SELECT n, amount FROM {LINE} ORDER BY n;")
    check(f"{db.kind}: passes: root and members with the fence of the save", told == "" and rows == ["2", "1|6", "2|5"], told + str(rows))
    told = saved(f"UPDATE {LINE} SET holdfast = -FENCE WHERE n = 2; DELETE FROM {LINE} WHERE n = 2;")
    check(f"{db.kind}: passes: a member is deleted", told == "" and db.rows(f"SELECT n FROM {LINE};") == ["1"], told)
    last = db.json("version", "order/A-1", store=True)["versions"][0]["fence"]
    told = db.sql(f"UPDATE {ORDER} SET total = 3, holdfast = {last};")
    if db.kind == "postgres":
        check("postgres: refused: the fence of a save of another transaction", db.refused(told, "23H02"), told)
    else:
        check(f"{db.kind}: the fence of a save is good until the next", told == "", told)
        saved("SELECT 1 WHERE 1 = 0;" if not db.mysql else "DO 0;")
        told = db.sql(f"UPDATE {ORDER} SET total = 4, holdfast = {last};")
        check(f"{db.kind}: ... and not after it", db.refused(told, "23H02"), told)


def written_since(db):
    """PostgreSQL knows a save of its own transaction also where something else has written the anchor there."""
    if db.kind != "postgres":
        return
    note = f"note_{OWN}"
    db.sql(f"DROP TABLE IF EXISTS {note}; CREATE TABLE {note} (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO {note} VALUES (1, 0);")
    db.guard("add", note, "--type", "note", "--policy", "optimistic")
    old = db.json("save", "note/1", "--new", "--user", "bob", store=True)["fence"]
    holder = opens(db, "dora")["id"]
    fence = takes(db, "note/1")
    checks = f"SELECT {db.ns}\"check\"('note', '1', '{holder}', {fence});"
    told = db.sql(f"BEGIN; {checks} UPDATE {note} SET n = 1, holdfast = {old}; COMMIT;")
    check("postgres: refused: the fence of an older save where this transaction has written the anchor", db.refused(told, "23H02"), told)
    told = db.sql(f"BEGIN; {checks} SELECT {db.ns}save('note', '1', 1, NULL, '{holder}', {fence}) AS saved \\gset\n"
                  f"{checks} SAVEPOINT s; UPDATE {note} SET n = 2, holdfast = :saved; COMMIT;")
    check("postgres: passes: the fence of its own save, whatever has written the anchor", db.sql(f"SELECT n FROM {note};") == "2", told)
    db.guard("remove", note)
    db.drop(note)


def probed(db):
    found = db.json("probe", db.url)
    bad = [(a["table"], a["shape"], a["why"]) for a in found["attacks"] if a["outcome"] != "refused"]
    members = {a["table"].rpartition(".")[2] for a in found["attacks"] if a["shape"] == "insert_member"}
    check(f"{db.kind}: the prober gets nothing through any of the tables", db.code == 0 and not bad and {COVER, CLAUSE} <= members, (bad, members))


def uninstall(db):
    db.run("install", db.url)
    check(f"{db.kind}: installing again leaves guards in place", db.code == 0 and db.refused(db.sql(f"UPDATE {POLICY} SET premium = 1;")), db.out)
    db.run("uninstall", db.url, "--force")
    check(f"{db.kind}: uninstalling is refused while tables are guarded", db.code != 0 and "guard remove" in db.out, db.out)
    for table in (CLAUSE, COVER, POLICY, LINE, ORDER):
        db.guard("remove", table)
        assert db.code == 0, db.out
    db.run("uninstall", db.url, "--force")
    check(f"{db.kind}: ... and done when none is", db.code == 0, db.out)
    told = db.sql(f"SELECT COUNT(*) FROM {db.ns}guard;")
    check(f"{db.kind}: ... with the tables of guards", "exist" in told or "no such table" in told, told)
    if db.kind == "postgres":
        check("postgres: ... and the schema with all functions", db.sql(f"SELECT count(*) FROM pg_namespace WHERE nspname = '{OWN}';") == "0")
    for table in (CLAUSE, COVER, POLICY, LINE, ORDER):
        db.drop(table)


for database in databases():
    install(database)
    reads(database)
    locks(database)
    saves(database)
    written_since(database)
    probed(database)
    uninstall(database)
finish()
