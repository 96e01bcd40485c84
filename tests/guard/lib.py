"""What the tests of guards share: the program, the stock clients (sqlite3, psql, mariadb), TAP. A test gets URLs of database servers in
HF_TEST_POSTGRES, HF_TEST_MARIADB and HF_TEST_MYSQL; without any it works on a SQLite file. Names are this process's own."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

HOLDFAST = os.environ["HOLDFAST"]
OWN = f"g{os.getpid()}"
scratch = tempfile.TemporaryDirectory(prefix="holdfast-guard.")
os.environ.update(HOME=scratch.name, HOLDFAST_STATE=scratch.name + "/state")
for name in ("HOLDFAST_STORE", "HOLDFAST_SESSION", "HOLDFAST_TOKEN"):
    os.environ.pop(name, None)
failures = 0


def check(sentence, good, told=""):
    global failures
    print(f"{'ok' if good else 'not ok'} - {sentence}", flush=True)
    if not good:
        failures += 1
        print("".join(f"#   {line}\n" for line in str(told).splitlines()), end="", flush=True)


def finish():
    sys.exit(1 if failures else 0)


class Database:
    """One database, its stock client, and the program on it."""

    def __init__(self, kind, url):
        self.kind, self.bare = kind, url
        self.mysql = kind in ("mariadb", "mysql")
        self.url = url + ("&" if "?" in url else "?") + f"namespace={OWN}"
        self.ns = f"{OWN}." if kind == "postgres" else f"{OWN}_"

    def client(self):
        if self.kind == "sqlite":
            return ["sqlite3", "-batch", "-bail", self.bare.removeprefix("sqlite:")]
        if self.kind == "postgres":
            return ["psql", "-X", "-q", "-At", "-v", "VERBOSITY=verbose", "-v", "ON_ERROR_STOP=1",
                    self.bare.replace("&pooler=transaction", "")]
        url = urllib.parse.urlsplit(self.bare)
        more = dict(urllib.parse.parse_qsl(url.query))
        return ["mariadb", "--no-defaults", "-u" + url.username, "-D" + url.path[1:], "-S" + more["socket"], "--local-infile=1",
                "-N", "-B"]

    def sql(self, text):
        """What the stock client answers; the first error ends it, and an open transaction is rolled back."""
        done = subprocess.run(self.client(), input=text, capture_output=True, text=True, timeout=300)
        return (done.stdout + done.stderr).strip()

    def rows(self, text):
        return [line.replace("\t", "|") for line in self.sql(text).splitlines()]

    def refused(self, answer, state=None):
        if self.kind == "sqlite":
            return "(19)" in answer and re.search(r"holdfast|key|version", answer) is not None
        return (state or "23H0") in answer

    def run(self, *arguments, store=False):
        more = ["--store", self.url] if store else []
        done = subprocess.run([HOLDFAST, *arguments, *more], capture_output=True, text=True, timeout=300)
        self.out = (done.stdout + done.stderr).strip()
        self.code = done.returncode
        return self.out

    def guard(self, verb, *arguments):
        return self.run("guard", verb, self.url, *arguments)

    def json(self, *arguments, store=False):
        self.run(*arguments, "--json", store=store)
        return json.loads(self.out)

    def drop(self, *tables):
        for table in tables:
            self.sql(f"DROP TABLE IF EXISTS {table};")


def databases():
    found = [Database(kind, os.environ["HF_TEST_" + kind.upper()]) for kind in ("postgres", "mariadb", "mysql")
             if os.environ.get("HF_TEST_" + kind.upper())]
    return found or [sqlite()]


def sqlite():
    path = pathlib.Path(scratch.name) / "app.db"
    subprocess.run(["sqlite3", path, "PRAGMA user_version = 1"], check=True)
    return Database("sqlite", f"sqlite:{path}")
