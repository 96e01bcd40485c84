#!/usr/bin/env python3
"""The prober: finds nothing on guarded tables, finds every protection that was taken away, and leaves every row as it was."""
from lib import OWN, check, databases, finish

T, M, FREE = f"policy_{OWN}", f"cover_{OWN}", f"free_{OWN}"


def make(db):
    db.drop(M, T, FREE)
    told = db.sql(f"""
CREATE TABLE {T} (id INTEGER PRIMARY KEY, premium INTEGER, holder VARCHAR(40) UNIQUE, version INTEGER NOT NULL);
INSERT INTO {T} VALUES (1, 100, 'a', 7), (2, 200, 'b', 3), (3, 300, NULL, 1);
CREATE TABLE {FREE} (id INTEGER PRIMARY KEY, amount INTEGER, version INTEGER);
INSERT INTO {FREE} VALUES (1, 1, 1), (2, 2, 2);""")
    assert told == "", told
    db.guard("add", T, "--type", "policy", "--version", "version")
    assert db.code == 0, db.out


def trigger(db, kind):
    """The name of one of the guard's triggers, quoted."""
    if db.kind == "sqlite":
        return f'"{OWN}_guard {T} {kind}"'
    return db.sql(f"SELECT trigger_name FROM information_schema.triggers WHERE event_object_table = '{T}' "
                  f"AND trigger_name LIKE '%{kind}';")


def holes(db):
    """What is taken away, how, and which attacks must then get through. The first that is named is enough to be found."""
    if db.kind == "postgres":
        yield "a disabled trigger for UPDATE", f'ALTER TABLE {T} DISABLE TRIGGER "0_holdfast_update";', \
            {"triggers", "update_blind", "update_all", "update_join", "update_with", "upsert", "merge", "key_change", "update_no_number",
             "mark_and_change", "replica_role", "update_same_version", "update_next_version"}
        yield "no trigger for DELETE", f'DROP TRIGGER "0_holdfast_delete" ON {T};', \
            {"triggers", "delete", "delete_all", "delete_join", "delete_with"}
        yield "a trigger that replication does not fire", f'ALTER TABLE {T} ENABLE TRIGGER "0_holdfast_update";', {"triggers", "replica_role"}
        yield "a table that inherits and has no guard", f"CREATE TABLE kid_{OWN} () INHERITS ({T});", {"triggers"}
        yield "no trigger for TRUNCATE", f'DROP TRIGGER "0_holdfast_truncate" ON {T};', {"triggers", "truncate"}
        return
    yield "no trigger for UPDATE", f"DROP TRIGGER {trigger(db, 'update')};", \
        {"triggers", "update_blind", "update_all", "update_join", "update_ignore", "key_change", "update_old_number", "mark_and_change"}
    yield "no trigger for DELETE", f"DROP TRIGGER {trigger(db, 'delete')};", {"triggers", "delete", "delete_all"}
    if db.kind == "sqlite":
        yield "no trigger for INSERT", f"DROP TRIGGER {trigger(db, 'insert')};", {"triggers", "replace", "replace_by_unique"}
        yield "a unique column with a default", f"ALTER TABLE {T} ADD COLUMN e TEXT NOT NULL DEFAULT 'none'; " \
            f"UPDATE {T} SET e = id, holdfast = version; CREATE UNIQUE INDEX later_{OWN} ON {T} (e);", {"replace_default"}
        yield "a unique index that came later", f"CREATE UNIQUE INDEX later_{OWN} ON {T} (premium);", {"replace_by_unique"}
    else:
        procedure = (f"DROP PROCEDURE {db.ns}guard_refuse;\nDELIMITER //\n"
                     f"CREATE PROCEDURE {db.ns}guard_refuse(t VARBINARY(255), k VARBINARY(16), n INT, s TEXT) "
                     f"IF (SELECT mode FROM {db.ns}guard WHERE table_name = t) <> 'off' "
                     "THEN SIGNAL SQLSTATE '23H02' SET MESSAGE_TEXT = 'refused', MYSQL_ERRNO = 1217; END IF//\nDELIMITER ;")
        yield "a procedure of an older version", procedure, {"update_hidden"}
        yield "REPLACE without a trigger for DELETE", f"DROP TRIGGER {trigger(db, 'delete')};", {"replace", "replace_by_unique", "delete_ignore"}
        keeper = db.sql(f"SELECT table_name FROM information_schema.referential_constraints WHERE referenced_table_name = '{T}';")
        yield "nothing that keeps TRUNCATE away", f"DROP TABLE {keeper};", {"truncate"}


def attacks(db, *tables):
    found = db.json("probe", db.url, *tables)
    return {a["shape"] for a in found["attacks"] if a["outcome"] == "through"}, \
        {a["shape"] for a in found["attacks"] if a["outcome"] == "not_tried"}, found["refused"]


def own_trigger(db):
    """Somebody's own guard: the version moves by one. It stops the forgetful, and not who counts up blindly."""
    if db.kind == "sqlite":
        db.sql(f"CREATE TRIGGER own_{OWN} BEFORE UPDATE ON {FREE} WHEN NEW.version IS NOT OLD.version + 1 "
               "BEGIN SELECT RAISE(ABORT, 'stale'); END;")
    elif db.kind == "postgres":
        db.sql(f"CREATE FUNCTION own_{OWN}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.version IS DISTINCT FROM OLD.version + 1 "
               f"THEN RAISE 'stale'; END IF; RETURN NEW; END $$; "
               f"CREATE TRIGGER own BEFORE UPDATE ON {FREE} FOR EACH ROW EXECUTE FUNCTION own_{OWN}();")
    else:
        db.sql(f"DELIMITER //\nCREATE TRIGGER own_{OWN} BEFORE UPDATE ON {FREE} FOR EACH ROW BEGIN IF NOT NEW.version <=> OLD.version + 1 "
               "THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'stale'; END IF; END//\nDELIMITER ;")


for db in databases():
    make(db)
    look = f"SELECT * FROM {T} ORDER BY id; SELECT * FROM {FREE} ORDER BY id;"
    before = db.sql(look)
    through, not_tried, refused = attacks(db)
    check(f"{db.kind}: nothing gets through a guard", not through and not not_tried and db.code == 0 and refused >= 18,
          (db.code, through, not_tried, refused))
    through, _, _ = attacks(db, FREE)
    check(f"{db.kind}: a table without a guard lets everything through, and the exit code says so",
          db.code == 9 and {"update_blind", "update_next_version", "delete", "upsert"} <= through, (db.code, through))
    own_trigger(db)
    through, _, _ = attacks(db, FREE)
    check(f"{db.kind}: somebody's own trigger is judged too",
          "update_blind" not in through and {"update_next_version", "delete"} <= through, through)
    check(f"{db.kind}: every row is as it was", db.sql(look) == before, db.sql(look))
    for name, sql, wanted in list(holes(db)):
        told = db.sql(sql)
        before = db.sql(look)
        through, _, _ = attacks(db)
        check(f"{db.kind}: found: {name}", told == "" and db.code == 9 and wanted <= through, f"{told} missing {wanted - through}, {db.out}")
        check(f"{db.kind}: ... and every row is as it was", db.sql(look) == before, db.sql(look))
        shown = db.json("guard", "show", db.url)["guards"][0]["in_place"]
        check(f"{db.kind}: ... and show tells, where it is the triggers, or a procedure",
              shown == ("triggers" not in through and "procedure" not in name), shown)
        if db.kind == "sqlite":
            db.sql(f"DROP INDEX IF EXISTS later_{OWN};")
        db.drop(f"kid_{OWN}")
        db.guard("add", T, "--type", "policy", "--version", "version")
        through, _, _ = attacks(db)
        check(f"{db.kind}: ... and adding the guard again closes it", db.code == 0 and not through, through)
    if db.kind == "postgres":
        db.sql(f"CREATE FUNCTION back_{OWN}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.version := OLD.version; RETURN NEW; END $$; "
               f"CREATE TRIGGER zz BEFORE UPDATE ON {T} FOR EACH ROW EXECUTE FUNCTION back_{OWN}(); "
               f"UPDATE {T} SET holdfast = version WHERE id = 2; DROP TRIGGER zz ON {T}; DROP FUNCTION back_{OWN};")
        through, _, _ = attacks(db)
        check("postgres: found: a row that a trigger of somebody's own has left with its version as its number", "update_left" in through, through)
        db.sql(f"UPDATE {T} SET holdfast = version WHERE holdfast = version;")
        through, _, _ = attacks(db)
        check("postgres: ... and carrying the number mends it", not through, through)
    db.guard("mode", T, "log")
    through, _, _ = attacks(db)
    check(f"{db.kind}: a guard in mode log is told", "mode" in through and "update_blind" in through, through)
    log = db.json("guard", "report", db.url)["bypasses"]
    check(f"{db.kind}: ... and the attacks are not in its log", log == [], log)
    db.sql(f"CREATE TABLE {M} (id INTEGER PRIMARY KEY, a INTEGER);")
    _, not_tried, _ = attacks(db, M)
    check(f"{db.kind}: an empty table is told", "rows" in not_tried, not_tried)
    db.run("probe", db.url, "nowhere")
    check(f"{db.kind}: no such table: a sentence", db.code == 1 and "There is no table nowhere" in db.out, db.out)
    db.guard("remove", T)
    db.drop(M, T, FREE)
    if db.kind == "postgres":
        db.sql(f"DROP FUNCTION own_{OWN};")
finish()
