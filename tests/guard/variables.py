#!/usr/bin/python3
"""Guards and SQL functions believe nobody's session. The list of settable variables comes from the server itself; each is set to two
other values. With each a connection saves, checks and writes guarded rows, and then writes blindly: the answers are those of a connection
without the setting, the fence is the true time, and nothing blind passes. Once the variable is set before all, once between two rounds,
when plans and procedures are cached. On SQLite it is the pragmas."""
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from connecting import connect  # noqa: E402
from lib import HOLDFAST, OWN, check, databases, finish  # noqa: E402

APP, FALSE = f"app_{OWN}", f"false_{OWN}"
V, L, S, R = (f"{name}_{OWN}" for name in ("bills", "things", "papers", "files"))

# With these an honest statement may fail, by an error that says why; still nothing blind may pass.
READ_ONLY, ENDS, TIGHT = "who reads only writes nothing", "the connection ends by itself", "the server has no room or no time for it"
MAY_FAIL = {
    "postgres": {"transaction_read_only": READ_ONLY, "default_transaction_read_only": READ_ONLY, "exit_on_error": ENDS,
                 "idle_in_transaction_session_timeout": ENDS, "idle_session_timeout": ENDS, "transaction_timeout": TIGHT,
                 "statement_timeout": TIGHT, "row_security": "off refuses what a policy would judge"},
    "mariadb": {"tx_read_only": READ_ONLY, "transaction_read_only": READ_ONLY, "completion_type": ENDS, "max_join_size": TIGHT,
                "max_session_mem_used": TIGHT, "sort_buffer_size": TIGHT, "insert_id": "it is the id of the next row, and may be taken"},
    "mysql": {"transaction_read_only": READ_ONLY, "completion_type": ENDS, "max_join_size": TIGHT,
              "insert_id": "it is the id of the next row, and may be taken",
              "binlog_format": "with STATEMENT, a right of its own, the log takes no temporary table in a procedure",
              "require_row_format": "only what a replica applies is let through"},
    "sqlite": {"query_only": READ_ONLY}}
# Never set.
LEFT_OUT = {
    # Other people; slow; what has no value of its own.
    "postgres": {"role", "session_authorization", "post_auth_delay", "pre_auth_delay", "ignore_system_indexes", "seed"},
    # What the driver itself would not understand.
    "mariadb": {"character_set_results"},
    "mysql": {"character_set_results"},
    # Of the file, the owner's; of the whole process.
    "sqlite": {"writable_schema", "schema_version", "user_version", "application_id", "journal_mode", "auto_vacuum", "page_size", "encoding",
               "hard_heap_limit", "soft_heap_limit", "locking_mode"}}
# Better values for texts than any. They name what a session of somebody else's may have.
TEXTS = {
    "DateStyle": ["SQL, DMY", "German"], "TimeZone": ["Asia/Kathmandu", "America/St_Johns"], 
    "search_path": ["pg_temp, public", "nowhere", *[f"{FALSE}, pg_catalog, public"] * 2],
    "client_encoding": ["SQL_ASCII", "LATIN1"], "lc_monetary": ["C.UTF-8", "POSIX"], "lc_numeric": ["C.UTF-8", "POSIX"],
    "lc_time": ["C.UTF-8", "POSIX"], "wal_consistency_checking": ["all", "heap"], "default_table_access_method": ["heap", "none"],
    "plpgsql.extra_errors": ["all", "strict_multi_assignment"], "plpgsql.extra_warnings": ["all", "too_many_rows"],
    "time_zone": ["+05:45", "-09:30"], "sql_mode": ["ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH", ""],
    "character_set_client": ["latin1", "cp1251"], "character_set_connection": ["latin1", "ucs2"], "character_set_server": ["latin1", "ucs2"],
    "character_set_database": ["latin1", "ucs2"], "character_set_filesystem": ["latin1", "ucs2"],
    "collation_connection": ["utf8mb4_bin", "latin1_german1_ci"], "collation_database": ["utf8mb4_bin", "latin1_german1_ci"],
    "collation_server": ["utf8mb4_bin", "latin1_german1_ci"], "default_storage_engine": ["MEMORY", "MyISAM"],
    "default_tmp_storage_engine": ["MEMORY", "MyISAM"], "lc_time_names": ["de_DE", "ja_JP"], "lc_messages": ["de_DE", "ja_JP"],
    "gtid_next": ["AUTOMATIC", "ANONYMOUS"], "old_mode": ["UTF8_IS_UTF8MB3", "NO_PROGRESS_INFO"],
    "holdfast.guard_new": ["files/1", "files/1\n"], "timestamp": [str(int(time.time()) + 86400), "1"]}
ANY_TEXT = ["x", "holdfast"]


class Table:
    """What is written: the columns of the key, their values, and what the key is called."""

    def __init__(self, columns, values, name):
        self.columns, self.values, self.name = columns, values, name


def lock_key(db):
    """A key whose text could depend on the session, and what the guard calls it."""
    if db.kind == "postgres":
        return Table("at timestamptz, day date, bits bytea, x float8, span interval, cash money, days daterange, names text[]",
                     "'2026-02-01 10:00:00+00', '2026-02-01', '\\x6162', '0.30000000000000004', '1 day 02:03:04', 7.50, '[2026-02-01,2026-02-03)', '{a,b}'",
                     "2026-02-01 10:00:00+00,2026-02-01,\\x6162,0.30000000000000004,1 day 02:03:04,$7.50,[2026-02-01%2C2026-02-03),{a%2Cb}")
    if db.mysql:
        return Table("day DATE, amount DECIMAL(10, 2), word VARCHAR(20)", "'2026-02-01', 7.50, 'a,b'", "2026-02-01,7.50,a%2Cb")
    return Table("a INTEGER, b TEXT", "7, 'a,b'", "7,a%2Cb")


def false_schema():
    """A schema of PostgreSQL whose operators, functions and types answer for those of pg_catalog, if it comes first in the path."""
    made = [f"CREATE SCHEMA {FALSE}; GRANT USAGE ON SCHEMA {FALSE} TO {APP};"]
    for left, right in (("integer", "integer"), ("bigint", "integer"), ("integer", "bigint"), ("bigint", "bigint")):
        made.append(f"CREATE FUNCTION {FALSE}.stay({left}, {right}) RETURNS {left} LANGUAGE sql AS 'SELECT $1';"
                    f"CREATE FUNCTION {FALSE}.always({left}, {right}) RETURNS boolean LANGUAGE sql AS 'SELECT true';")
        made += [f"CREATE OPERATOR {FALSE}.{sign} (leftarg = {left}, rightarg = {right}, function = {FALSE}.stay);" for sign in "+-*"]
        made += [f"CREATE OPERATOR {FALSE}.{sign} (leftarg = {left}, rightarg = {right}, function = {FALSE}.always);"
                 for sign in ("=", "<>", "<", "<=", ">", ">=")]
    made += [f"CREATE FUNCTION {FALSE}.always(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';",
             f"CREATE OPERATOR {FALSE}.= (leftarg = text, rightarg = text, function = {FALSE}.always);"]
    for name, types, answer in (
            ("md5", "text", "text"), ("lower", "text", "text"), ("upper", "text", "text"), ("set_config", "text, text, boolean", "text"),
            ("current_setting", "text, boolean", "text"), ("current_setting", "text", "text"), ("clock_timestamp", "", "timestamptz"),
            ("statement_timestamp", "", "timestamptz"), ("pg_current_xact_id_if_assigned", "", "xid8"), ("pg_xact_status", "xid8", "text"),
            ("octet_length", "text", "integer"), ("replace", "text, text, text", "text"), ("sha256", "bytea", "bytea")):
        made.append(f"CREATE FUNCTION {FALSE}.{name}({types}) RETURNS {answer} LANGUAGE sql AS 'SELECT NULL::{answer}';")
    made += [f"CREATE DOMAIN {FALSE}.{name} AS pg_catalog.{name} CHECK (false);" for name in ("text", "xid8", "xid", "timestamptz")]
    return "".join(made)


def must(told):
    assert told == "", told


class Scene:
    """Guarded tables, locks that live and one that is dead, and an account as an application has it."""

    def __init__(self, db):
        self.db, self.key = db, lock_key(db)
        public = self.public = "public." if db.kind == "postgres" else ""
        if db.kind == "sqlite":
            must(db.sql(subprocess.run([HOLDFAST, "install", db.url, "--print"], capture_output=True, text=True).stdout))
        else:
            db.run("install", db.url)
        names = ", ".join(re.findall(r"(\w+) [a-zA-Z]", self.key.columns))
        must(db.sql(f"CREATE TABLE {V} (id INTEGER PRIMARY KEY, n INTEGER, version INTEGER NOT NULL); INSERT INTO {V} VALUES (1, 0, 1);"
                    f"CREATE TABLE {S} (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO {S} VALUES (1, 0);"
                    f"CREATE TABLE {R} (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO {R} VALUES (1, 0);"
                    f"CREATE TABLE {L} ({self.key.columns}, row_no INTEGER, n INTEGER, PRIMARY KEY (row_no, {names}));"
                    f"INSERT INTO {L} VALUES ({self.key.values}, 1, 0), ({self.key.values}, 2, 0);"))
        for arguments in ((V, "--type", "bill", "--version", "version"), (S, "--type", "paper", "--policy", "optimistic"),
                          (L, "--type", "thing", "--policy", "exclusive-write"),
                          (R, "--type", "files", "--policy", "exclusive-read", *["--reads"][:db.kind == "postgres"])):
            db.guard("add", *arguments)
            assert db.code == 0, db.out
        self.alice, self.fence = self.holds("alice", f"thing/1,{self.key.name}")
        _, self.dead = self.holds("bob", f"thing/2,{self.key.name}", "--ttl", "1ms")
        self.holds("carol", "paper/held")
        self.version = "NULL"
        self.n = 0
        self.account()

    def holds(self, user, resource, *more):
        opened = self.db.json("session", "open", "--user", user, "--name", user.title(), "--idle", "12h", "--no-remember", store=True)
        taken = self.db.json("acquire", resource, "--session", f"{opened['id']}.{opened['key']}", *more, store=True)
        return opened["id"], taken["locks"][0]["fence"]

    def account(self):
        db = self.db
        if db.kind == "postgres":
            must(db.sql(f"CREATE ROLE {APP} LOGIN; {false_schema()} ALTER ROLE {APP} SET synchronous_commit = off; GRANT USAGE ON SCHEMA {OWN} TO {APP};"
                        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {V}, {S}, {L}, {R} TO {APP};"
                        f'GRANT EXECUTE ON FUNCTION {OWN}."check", {OWN}.save, {OWN}.remove, {OWN}.expect TO {APP};'))
        elif db.mysql:
            database = db.sql("SELECT DATABASE();")
            must(db.sql(f"CREATE USER {APP}@localhost; GRANT CREATE TEMPORARY TABLES ON {database}.* TO {APP}@localhost;" +
                        "".join(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {APP}@localhost;" for table in (V, S, L, R)) +
                        "".join(f"GRANT EXECUTE ON PROCEDURE {OWN}_{one} TO {APP}@localhost;" for one in ("check", "save", "remove", "expect"))))

    def remove(self):
        for table in (V, S, L, R):
            self.db.guard("remove", table)
        if self.db.kind == "postgres":
            self.db.sql(f"DROP SCHEMA {FALSE} CASCADE; DROP OWNED BY {APP}; DROP ROLE {APP};")
        elif self.db.mysql:
            self.db.sql(f"DROP USER {APP}@localhost;")
        self.db.run("uninstall", self.db.url, "--force")
        self.db.drop(V, S, L, R)


# ---- a round ----

class Refused(Exception):
    pass


def told_by(scene, error):
    """The error as (code, sentence). Numbers and times come and go, but for those of the key."""
    code, sentence = code_and_sentence(scene.db, error)
    return code, re.sub(r"\d+", "#", sentence.replace(scene.key.name, "KEY"))


def code_and_sentence(db, error):
    if db.kind == "postgres":
        return error.pgcode, (error.diag.message_primary or str(error)).strip() if error.pgcode else str(error)
    if db.mysql:
        return error.args[0], error.args[1] if len(error.args) > 1 else ""
    return "", str(error)


class Round:
    """What one connection does; the answers of it, as (step, answer)."""

    def __init__(self, scene, connection):
        self.scene, self.db, self.connection = scene, scene.db, connection
        self.cursor = connection.cursor()
        self.answers, self.fence = [], None
        self.before = []  # statements at the beginning of each transaction

    def ask(self, sql):
        if self.db.kind == "postgres":  # what the statements themselves mean is the same with every search_path
            sql = re.sub(r"\b(n|version|WHERE \w+) ([-+=]) (?=\d)", r"\1 OPERATOR(pg_catalog.\2) ", sql)
        self.cursor.execute(sql)
        if self.cursor.description is None:
            return self.cursor.rowcount
        row = self.cursor.fetchone()
        if self.db.mysql:
            while self.cursor.nextset():
                pass
        return row[0] if row else None

    def begin(self):
        self.ask("BEGIN")
        for sql in self.before:
            self.ask(sql)

    def step(self, name, sql):
        """A step of an open transaction."""
        try:
            answer = self.ask(sql)
        except Exception as error:
            self.answers.append((name, told_by(self.scene, error)))
            raise Refused from error
        self.answers.append((name, answer))
        return answer

    def alone(self, name, sql):
        """A step in a transaction that is rolled back."""
        try:
            self.begin()
            self.step(name, sql)
        except Refused:
            pass
        except Exception as error:
            self.answers.append((name, told_by(self.scene, error)))
        try:
            self.ask("ROLLBACK")
        except Exception:
            if self.db.kind != "sqlite":
                raise

    def save(self, id, version):
        s, db = self.scene, self.db
        if db.kind == "postgres":
            return f"SELECT {OWN}.save('paper', '{id}', {version}, 'app')"
        return f"CALL {OWN}_save('paper', '{id}', {version}, 'app', NULL, NULL, @fence)"

    def check(self, row, fence):
        s = self.scene
        text = f"'{row},{s.key.name}'"
        if self.db.kind == "postgres":  # whatever standard_conforming_strings says
            text = text.replace("'", "E'", 1).replace("\\", "\\\\")
        call = f"'thing', {text}, '{s.alice}', {fence}"
        return f'SELECT {OWN}."check"({call})' if self.db.kind == "postgres" else f"CALL {OWN}_check({call})"

    def honest(self):
        """One save, one check, guarded writes; False: it was refused."""
        s, p = self.scene, self.scene.public
        try:
            self.begin()
            if self.db.kind != "sqlite":
                began = time.time()
                fence = self.step("save", self.save(1, s.version))
                self.fence = int(fence if self.db.kind == "postgres" else self.ask("SELECT @fence LIMIT 1"))
                self.late = max(began - self.fence / 1e6, self.fence / 1e6 - time.time())
                self.answers[-1] = ("save", "a fence")
                self.step("a write by its save", f"UPDATE {p}{S} SET n = n + 1, holdfast = {self.fence} WHERE id = 1")
                self.step("check", self.check(1, s.fence))
                self.answers[-1] = ("check", "the fence")
            self.step("a write by its lock", f"UPDATE {p}{L} SET n = n + 1, holdfast = {s.fence} WHERE row_no = 1")
            self.step("a write by its version", f"UPDATE {p}{V} SET n = n + 1, holdfast = version WHERE id = 1")
            if self.db.kind == "postgres":
                self.step("a read by its lock", f"SET LOCAL holdfast.fences = '{s.fence}'")
            self.ask("COMMIT")
            return True
        except Exception as error:
            if not isinstance(error, Refused):
                self.answers.append(("transaction", told_by(self.scene, error)))
            try:
                self.ask("ROLLBACK")
            except Exception:
                pass
            return False

    def blind(self, reads):
        s, p = self.scene, self.scene.public
        if self.db.kind != "sqlite":
            self.alone("save over somebody's lock", self.save("held", "NULL"))
            self.alone("save of a stale version", self.save(1, 4711))
            self.alone("check of a dead lock", self.check(2, s.dead))
        self.alone("a blind UPDATE, by version", f"UPDATE {p}{V} SET n = n + 1 WHERE id = 1")
        self.alone("an old version", f"UPDATE {p}{V} SET n = n + 1, holdfast = version - 1 WHERE id = 1")
        self.alone("a blind DELETE, by version", f"DELETE FROM {p}{V} WHERE id = 1")
        self.alone("a blind UPDATE, by lock", f"UPDATE {p}{L} SET n = n + 1 WHERE row_no = 1")
        self.alone("the fence of a dead lock", f"UPDATE {p}{L} SET n = n + 1, holdfast = {s.dead} WHERE row_no = 2")
        self.alone("the fence of another lock", f"UPDATE {p}{L} SET n = n + 1, holdfast = {s.fence} WHERE row_no = 2")
        self.alone("a blind DELETE, by lock", f"DELETE FROM {p}{L} WHERE row_no = 1")
        self.alone("a blind UPDATE, by save", f"UPDATE {p}{S} SET n = n + 1 WHERE id = 1")
        if self.db.kind == "postgres" and self.fence:
            self.alone("the fence of a save of before", f"UPDATE {p}{S} SET n = n + 1, holdfast = {self.fence} WHERE id = 1")
        if self.db.kind == "postgres" and reads:
            self.alone("a blind SELECT", f"SELECT n FROM {p}{R} WHERE id = 1")
        if self.db.kind == "sqlite":
            self.alone("REPLACE", f"REPLACE INTO {V} (id, n, version) VALUES (1, 5, 1)")

    def play(self, reads=True):
        done = self.honest()
        self.blind(reads)
        return done


HONEST = {"save", "a write by its save", "check", "a write by its lock", "a write by its version", "a read by its lock", "transaction"}


def passed_blind(answers):
    """Steps that had to be refused and were not: their answer is no error, and not that no row was changed."""
    return [name for name, answer in answers if name not in HONEST and not isinstance(answer, tuple) and
            (answer != 0 or name.startswith(("save", "check", "a blind SELECT")))]


# ---- what can be set ----

def two_others(kind, now, least, most, words, name):
    """Two values other than the present one, by type."""
    if name in TEXTS:
        return TEXTS[name]
    kind = kind.lower()
    if kind in ("bool", "boolean"):
        return ["0", "1"] if now.lower() in ("on", "1", "true", "yes") else ["1", "0"]
    if words:
        return [word for word in words if word.lower() != now.lower()][:2]
    if kind in ("integer", "int", "real", "numeric", "double") or kind.startswith(("int", "bigint", "float")):
        found = [value for value in (least, most) if value not in (None, "", now)]
        return found + ([str(int(float(now)) + 1)] if len(found) < 2 and now not in (None, "") else [])
    if kind.startswith("enum") or kind == "set":
        return [value for value in ("0", "1", "2") if value != now][:2]
    return [text for text in ANY_TEXT if text != now]


def postgres_variables(cursor):
    cursor.execute("DO 'BEGIN END'")  # loads plpgsql
    cursor.execute("SELECT name, context, vartype, setting, min_val, max_val, enumvals FROM pg_settings "
                   "WHERE context IN ('user', 'superuser', 'backend', 'superuser-backend') ORDER BY name")
    for name, context, kind, now, least, most, words in cursor.fetchall():
        yield name, context, two_others(kind, now, least, most, words, name)
    yield "holdfast.guard_new", "user", TEXTS["holdfast.guard_new"]


def mariadb_variables(cursor):
    cursor.execute("SELECT variable_name, variable_type, session_value, numeric_min_value, numeric_max_value, enum_value_list "
                   "FROM information_schema.system_variables WHERE session_value IS NOT NULL AND read_only = 'NO' ORDER BY 1")
    for name, kind, now, least, most, words in cursor.fetchall():
        yield name.lower(), "user", two_others(kind, str(now), least, most, words.split(",") if words and kind == "ENUM" else None, name.lower())


def mysql_variables(cursor):
    cursor.execute("SELECT s.variable_name, m.data_type, s.variable_value, m.min_value, m.max_value FROM performance_schema.session_variables s "
                   "JOIN performance_schema.variables_metadata m USING (variable_name) WHERE m.variable_scope LIKE 'SESSION%' ORDER BY 1")
    for name, kind, now, least, most in cursor.fetchall():
        yield name.lower(), "user", two_others(kind, str(now), str(least), str(most), None, name.lower())


def sqlite_variables(cursor):
    for (name,) in cursor.execute("SELECT name FROM pragma_pragma_list ORDER BY 1").fetchall():
        now = cursor.execute(f"PRAGMA {name}").fetchone() if name not in LEFT_OUT["sqlite"] else None
        if now is not None and re.fullmatch(r"-?\d+", str(now[0])):
            yield name, "user", [value for value in ("0", "1", "2") if value != str(now[0])][:2]


VARIABLES = {"postgres": postgres_variables, "mariadb": mariadb_variables, "mysql": mysql_variables, "sqlite": sqlite_variables}


def setting(db, name, value):
    if db.kind == "sqlite":
        return f"PRAGMA {name} = {value}"
    if db.kind == "postgres":
        quoted = name if "." in name else f'"{name}"'
        return f"SET {quoted} = " + (value if "," in value else "'" + value.replace("'", "''") + "'")
    return f"SET SESSION {name} = " + (value if re.fullmatch(r"-?\d+(\.\d+)?", value) else f"'{value}'")


def opened(db, user, options=None):
    os.environ["PGOPTIONS"] = options or ""
    return connect(db, "READ COMMITTED", user)[0]


class Run:
    def __init__(self, db):
        self.db, self.scene = db, Scene(db)
        self.user = None if db.kind == "sqlite" else APP
        self.plain = connect(db, "READ COMMITTED")[0]  # untouched
        self.baselines, self.warm = {}, {}
        self.set, self.not_set, self.wrong, self.excused = 0, [], [], set()

    def baseline(self, user):
        """The answers without any setting; of a second round, when numbers stand in the rows."""
        connection = opened(self.db, user)
        for _ in range(2):
            round = Round(self.scene, connection)
            round.play(reads=user == self.user)
            self.settle()
        connection.close()
        self.baselines[user] = round.answers
        return round.answers

    def settle(self):
        """How often was written, which version it is now, as the untouched connection sees it."""
        cursor = self.plain.cursor()
        found = []
        for table in (V, L, *([S] if self.db.kind != "sqlite" else [])):
            cursor.execute(f"SELECT sum(n) FROM {table}")
            found.append(int(cursor.fetchone()[0]))
        cursor.execute(f"SELECT version FROM {V}")
        found.append(int(cursor.fetchone()[0]) - 1)
        if self.db.kind != "sqlite":
            cursor.execute(f"SELECT version FROM {self.db.ns}versions WHERE type = 'paper' AND id = '1'")
            row = cursor.fetchone()
            self.scene.version = str(row[0]) if row else "NULL"
            found.append(int(row[0]) if row else 0)
        before, self.scene.n = self.scene.n, max(found)
        return len(set(found)) == 1 and found[0] - before <= 1 or f"rows written, and versions: {found}, before it {before}"

    def one(self, name, context, value, later):
        """One value; by the owner what an account may not set."""
        db = self.db
        user = self.user if context in ("user", "backend") else None
        may_fail = name in MAY_FAIL[db.kind]
        at_start = "backend" in context
        sql = setting(db, name, value)
        later = later and not at_start
        try:
            connection = self.warm.pop(user, None) if later else None
            played = connection is not None
            connection = connection or opened(db, user, f"-c {name}={value}" if at_start else None)
        except Exception as error:
            self.not_set.append((name, value, code_and_sentence(db, error)[1]))
            return
        round = Round(self.scene, connection)
        reads = user == self.user
        try:
            if later and not played:
                round.play(reads)
                assert self.settle() is True, (name, value)
                round.answers = []
            if not at_start:
                try:
                    if name.startswith("transaction_"):
                        round.ask("BEGIN")
                        round.ask(sql)
                        round.ask("ROLLBACK")
                        round.before = [sql]
                    else:
                        round.ask(sql)
                except Exception as error:
                    code, sentence = code_and_sentence(db, error)
                    if code == 1227 and context == "user":
                        self.one(name, "superuser", value, later)
                    else:
                        self.not_set.append((name, value, sentence))
                    return
            self.set += 1
            broken = None
            try:
                done = round.play(reads)
            except Exception as error:
                done, broken = False, error
            flaws = []
            settled = self.settle()
            if settled is not True:
                flaws.append(settled)
            blind = passed_blind(round.answers)
            if blind:
                flaws.append(f"passed: {blind}")
            if done and db.kind != "sqlite" and round.late > 1:
                flaws.append(f"the fence {round.fence} is {round.late:.0f} s from the time")
            if broken and not may_fail:
                flaws.append(f"the connection broke: {broken}")
            elif may_fail:
                flaws += self.unexplained(round.answers, user)
            elif round.answers != self.baselines[user]:
                flaws += [f"{got} instead of {wanted}" for got, wanted in zip(round.answers, self.baselines[user]) if got != wanted] or [
                    f"{len(round.answers)} answers"]
            if may_fail and round.answers != self.baselines[user]:
                self.excused.add(name)
            if flaws:
                self.wrong.append(f"{sql}: " + "; ".join(flaws[:3]))
        finally:
            self.keep(connection, user, db.kind == "postgres" and later)

    def unexplained(self, answers, user):
        """Answers that are other ones, and neither errors with a sentence nor, of what is blind, that no row was changed."""
        wanted = dict(self.baselines[user])
        return [f"{name}: {answer} instead of {wanted.get(name)}" for name, answer in answers
                if answer != wanted.get(name) and not (isinstance(answer, tuple) and answer[1].strip()) and not (answer == 0 and name not in HONEST)]

    def keep(self, connection, user, warm):
        """For the next variable, as if nothing had been set; a connection to PostgreSQL is dear."""
        try:
            if warm:
                connection.cursor().execute("RESET ALL")
                connection.cursor().execute("RESET SESSION AUTHORIZATION")
                self.warm[user] = connection
            else:
                connection.close()
        except Exception:
            pass

    def all(self):
        db = self.db
        for user in {self.user, None}:
            answers = self.baseline(user)
            steps = [step for step in answers if step[0] in HONEST and isinstance(step[1], tuple)]
            check(f"{db.kind}: without a setting all that is honest passes, and nothing blind ({'an account' if user else 'the owner'})",
                  not steps and not passed_blind(answers) and len(answers) > 6, answers)
        connection = connect(db, "READ COMMITTED")[0]
        variables = [one for one in VARIABLES[db.kind](connection.cursor()) if one[0] not in LEFT_OUT[db.kind]]
        connection.close()
        began = time.monotonic()
        for name, context, values in variables:
            for i, value in enumerate(values):
                self.one(name, context, str(value), i % 2 == 1)
        check(f"{db.kind}: with {self.set} settings of {len(variables)} variables all answers are the same, and nothing blind passes",
              self.set >= (20 if db.kind == "sqlite" else 200) and not self.wrong, "\n".join(self.wrong))
        print(f"# {db.kind}: {self.set} values were set in {time.monotonic() - began:.0f} s; {len(self.not_set)} were refused by the server: " +
              ", ".join(sorted({name for name, _, _ in self.not_set})))
        print(f"# {db.kind}: excused: {', '.join(sorted(self.excused))}")
        for one in (self.plain, *self.warm.values()):
            one.close()
        self.scene.remove()


for database in databases():
    Run(database).all()
finish()
