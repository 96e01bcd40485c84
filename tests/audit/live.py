#!/usr/bin/python3
"""--db on live databases: schema, executed statements and idle transactions, on servers of its own that keep what they executed."""
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse

import psycopg2
import pymysql

from check import ROOT, audit, check, finish, run

SCHEMA = """
CREATE TABLE account (id bigint PRIMARY KEY, balance numeric(20, 2) NOT NULL, lock_version integer NOT NULL DEFAULT 0);
CREATE TABLE page_lock (page bigint NOT NULL, user_id bigint NOT NULL, locked_at timestamp, PRIMARY KEY (page, user_id));
CREATE TABLE good_lock (page bigint NOT NULL PRIMARY KEY, user_id bigint NOT NULL, expires_at timestamp)
"""
SAVES = ["INSERT INTO account (id, balance, lock_version) VALUES (1, 10, 0)",
         "UPDATE account SET balance = 11 WHERE id = 1",
         "UPDATE account SET balance = 12, lock_version = lock_version + 1 WHERE id = 1 AND lock_version = 0"]


def connect(url):
    parts = urllib.parse.urlsplit(url)
    more = dict(urllib.parse.parse_qsl(parts.query))
    if parts.scheme.startswith("postgres"):
        return psycopg2.connect(url + "&application_name=till")
    return pymysql.connect(unix_socket=more["socket"], user=parts.username, database=parts.path[1:])


def judge(name, url):
    """A table with a version written past, a bad table of locks, and a clerk who thinks while rows are locked."""
    connection = connect(url)
    cursor = connection.cursor()
    if name == "postgres":
        cursor.execute("CREATE EXTENSION pg_stat_statements")
    for statement in SCHEMA.split(";") + SAVES:
        cursor.execute(statement)
    connection.commit()
    report = audit("--db", url, "--idle", "1s")
    rules = sorted(f["rule"] for f in report["findings"])
    check(f"{name}: what it declares and executes is judged", rules == ["lock-table-not-unique", "version-not-compared"], report)
    past = [f for f in report["findings"] if f["rule"] == "version-not-compared"]
    check(f"{name}: the statement is told, and how often it ran", past and "executed 1 times: update" in past[0]["statement"].lower()
          and past[0]["confidence"] == "high", past)
    cursor.execute("SELECT balance FROM account WHERE id = 1 FOR UPDATE")
    for _ in range(100):  # until it has been idle for long enough
        report = audit("--db", url, "--idle", "1s")
        idle = [f for f in report["findings"] if f["rule"] == "idle-in-transaction"]
        if idle:
            break
        time.sleep(0.2)
    check(f"{name}: who sits idle with rows locked is named", idle and "holds row locks" in idle[0]["message"]
          and (name != "postgres" or "till" in idle[0]["message"] and "on account" in idle[0]["message"]), report)
    check(f"{name}: but not one that is idle for less", "idle-in-transaction" not in
          [f["rule"] for f in audit("--db", url, "--idle", "1h")["findings"]])
    connection.rollback()
    text = run("--db", url)
    check(f"{name}: people read where it is", text.returncode == 9 and "[lock-table-not-unique]" in text.stdout
          and "the database" in text.stdout, text)
    connection.close()


with tempfile.TemporaryDirectory(prefix="holdfast-audit-") as scratch:
    path = pathlib.Path(scratch) / "shop.db"
    database = sqlite3.connect(path)
    database.executescript(SCHEMA)
    database.close()
    (pathlib.Path(scratch) / "save.py").write_text('def save(c):\n    c.execute("UPDATE account SET balance = ? WHERE id = ?")\n')
    report = audit("--db", f"sqlite:{path}", pathlib.Path(scratch) / "save.py")
    check("sqlite: its schema judges the code", sorted(f["rule"] for f in report["findings"])
          == ["lock-table-not-unique", "version-not-compared"], report)
    check("a database that is not there is named", run("--db", f"sqlite:{scratch}/none.db").returncode == 6)
    check("a URL that makes no sense is named", run("--db", "nonsense").returncode == 2)
    folder = os.path.join(scratch, "servers")
    started = subprocess.run([ROOT / "tools/servers", "start", folder, "--statistics", "--while", str(os.getpid()), "postgres", "mariadb",
                              "mysql"], capture_output=True, text=True)
    try:
        urls = dict(line.split("=", 1) for line in started.stdout.splitlines())
        check("the servers start", started.returncode == 0, started)
        for name in ("postgres", "mariadb", "mysql") if urls else ():
            judge(name, urls[f"HF_TEST_{name.upper()}"])
    finally:
        subprocess.run([ROOT / "tools/servers", "stop", folder], check=False)
sys.stdout.flush()
finish()
