"""What the tests of the SQL surface from Python share: servers, people who hold locks by the program, TAP."""
import json
import os
import subprocess
import sys
import traceback
import urllib.parse

HOLDFAST = os.environ["HOLDFAST"]
LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
failures = 0


def passed(sentence, good, told=""):
    global failures
    failures += not good
    print(("ok - " if good else "not ok - ") + sentence, flush=True)
    if not good:
        print("\n".join("#   " + line for line in str(told).splitlines()))


class Server:
    """A namespace on a server, installed while it is used."""

    def __init__(self, name, url):
        self.name, self.names, self.own_url = name, f"py{os.getpid()}", url
        self.url = url + ("&" if "?" in url else "?") + "namespace=" + self.names
        self.parts = urllib.parse.urlsplit(url)
        self.more = dict(urllib.parse.parse_qsl(self.parts.query))
        self.is_postgres = self.parts.scheme.startswith("postgres")
        self.table = f"doc_{self.names}"

    def holdfast(self, *words, person=None, fails=False):
        env = {**os.environ, "HOLDFAST_STORE": self.url}
        if person:
            env["HOLDFAST_SESSION"] = person
        done = subprocess.run([HOLDFAST, *words, "--json"], env=env, capture_output=True, text=True)
        if done.returncode and not fails:
            raise Exception(f"{words}: {done.stdout}{done.stderr}")
        return done.returncode if fails else json.loads(done.stdout)

    def __enter__(self):
        self.holdfast("install", self.url)
        return self

    def __exit__(self, *_):
        self.holdfast("uninstall", self.url, "--force")

    def opens(self, user, *options):
        session = self.holdfast("session", "open", "--user", user, "--name", user.title() + " Smith", "--no-remember", *options)
        return session["id"], f"{session['id']}.{session['key']}"

    def takes(self, person, resource, *options):
        return self.holdfast("acquire", resource, *options, person=person)["locks"][0]["fence"]

    def check_sql(self):
        """With the placeholders of the DB-API."""
        return f"SELECT {self.names}.check(%s, %s, %s, %s)" if self.is_postgres else f"CALL {self.names}_check(%s, %s, %s, %s)"

    def save_sql(self, *arguments):
        """Arguments: type, id, version and user, as placeholders of any kind."""
        if self.is_postgres:
            return f"SELECT {self.names}.save({', '.join(arguments)})"
        return f"CALL {self.names}_save({', '.join(arguments)}, NULL, NULL, @fence)"

    def expect_sql(self, *arguments):
        return (f"SELECT {self.names}.expect" if self.is_postgres else f"CALL {self.names}_expect") + f"({', '.join(arguments)})"


# The Python drivers of MySQL tell only the number (docs/sql.md).
STATES = {1216: "23H01", 1217: "23H02"}


def surface(server, level, save, read, open_transaction):
    """save(level, session, fence, text) saves as an application does and answers None, or (code, sentence) of a refusal; read()
    answers what is saved; open_transaction(level, session, fence, text) is a context in which the save is done but not committed."""
    name = f"{server.name}, {level}: "
    alice, alice_session = server.opens("alice")
    fence = server.takes(alice_session, "doc/1", "--purpose", "renewal")
    told = save(level, alice, fence, "by alice")
    passed(name + "a save with the right fence is done", told is None and read() == "by alice", told)
    told = save(level, alice, None, "wrong")
    passed(name + "a save without a fence is refused", told and "A fence is needed" in told[1], told)
    with open_transaction(level, alice, fence, "again"):
        code = server.holdfast("force-release", "doc/1", "--reason", "in a hurry", fails=True)
        passed(name + "nobody takes the lock away while a save is open", code == 3, code)
    passed(name + "... and it is saved", read() == "again", read())
    server.holdfast("force-release", "doc/1", "--reason", "Alice went home")
    told = save(level, alice, fence, "late")
    passed(name + "a save after a forced release is refused", told == ("23H01", "Your editing session has expired; reload the record."),
           told)
    bob, bob_session = server.opens("bob")
    server.takes(bob_session, "doc/1", "--purpose", "renewal")
    told = save(level, alice, fence, "late")
    passed(name + "a save after it was taken over names who has it",
           told and told[0] == "23H01" and told[1].startswith("doc/1 is being edited by Bob Smith since "), told)
    passed(name + "nothing of it was saved", read() == "again", read())
    server.holdfast("session", "close", person=bob_session)


def versions(server, save, expect):
    """save(id, version, user) and expect(id, version) do that in a transaction and answer None, or (code, sentence) of a refusal."""
    name = server.name + ": "
    passed(name + "a new record is saved", save("9", None, "alice") is None)
    passed(name + "... and saved again by its version", save("9", 1, "bob") is None)
    for what, told in (("save", save("9", 1, "carol")), ("premise", expect("9", 1))):
        passed(name + f"a stale {what} is an IntegrityError that names who",
               told and told[0] == "23H02" and told[1].startswith("doc/9 was changed by bob at "), told)
    passed(name + "what is so is relied on", expect("9", 2) is None)


def main(run, names):
    """run(server) for each of the servers that are there."""
    for name in names:
        url = os.environ.get("HF_TEST_" + name)
        if not url:
            print(f"ok - {name} # SKIP HF_TEST_{name} is not set")
            continue
        try:
            with Server(name, url) as server:
                run(server)
        except Exception:
            passed(f"{name} without a stumble", False, traceback.format_exc())
    sys.exit(1 if failures else 0)
