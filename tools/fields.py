"""The table of fields (lib/lock/fields_table.h) for SQL: what stands for the words of sql/ that name a row. Used by tools/embed.

A row's fields are chosen by a mask, letters of its flags: K key, N key named by the question, M moves, V of a version, E ends,
R all that have none of these, S those that the public struct shows. Without a mask: KNMVR. A row may have an alias: l.lock.

  {cols l.lock MR}          l.fence, l.rev ...
  {null lock fence=1}       as many nulls, but for the columns given
  {values lock}             (type, id ...) VALUES (?1, ?2 ...)
  {insert lock}             the same from a list (hf_stmt_list): SELECT ... FROM unnest($1, $2 ...), or VALUES $1*
  {update lock}             SET mode = ?4 ... WHERE type = ?1 ...
  {where lock}              WHERE type = ?1 ...: its key
  {conflict lock}           ON CONFLICT (its key) DO UPDATE SET the rest
  {unnest lock +place}      unnest($1, $2 ...) u (type, id ... place)
  {set lock}                mode = u.mode ...: all but the key
  {slots l.lock}            for a UNION of different rows: texts, numbers and bytes each in places of their own, the others null
  {fill text}  {fill int 2}  {fill bytes}     the same nulls, all or so many
  {columns lock}            the columns of CREATE TABLE

Parameters go on from word to word of a statement."""
import hashlib
import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE, LIMITS = ROOT / "lib/lock/fields_table.h", ROOT / "include/holdfast/limits.h"
LETTERS = {"K": "KEY", "N": "NAMED", "M": "MOVES", "V": "VERSION", "E": "ENDS"}
NUMBERS = ("NUM", "TIME", "SPAN", "FLAG")
WORD = re.compile(r"\{(cols|null|values|insert|update|where|conflict|unnest|set|slots|fill|columns) ([^{}]*)\}")


class BadWord(Exception):
    pass


@dataclass(frozen=True)
class Field:
    row: str
    kind: str
    column: str
    limit: str
    flags: tuple
    shown: bool

    def is_in(self, mask):
        groups = [letter for letter, flag in LETTERS.items() if flag in self.flags] or ["R"]
        return any(letter in mask for letter in groups) or (self.shown and "S" in mask)

    def is_key(self):
        return "KEY" in self.flags or "NAMED" in self.flags

    def slot(self):
        return "int" if self.kind in NUMBERS else "bytes" if self.kind == "HASH" else "text"


def read_table():
    text = TABLE.read_text(encoding="utf-8")
    for match in re.finditer(r"\b(KEPT|SHOWN) ?\((\w+),\s*(\w+),\s*[\w.]+,\s*\"(\w+)\",\s*(\w+),\s*([A-Z0 |]+?)\s*[,)]", text):
        how, row, kind, column, limit, flags = match.groups()
        yield Field(row, kind, column, limit, tuple(flag.strip() for flag in flags.split("|")), how == "SHOWN")


FIELDS = list(read_table())

# The places of a UNION of different rows ({slots}): as many as the largest of them has, and a text for where a lock is kept.
SLOTS = {slot: max(sum(field.row == row and field.slot() == slot for field in FIELDS) for row in ("session", "lock", "lost", "request", "type"))
         for slot in ("text", "int", "bytes")}
SLOTS["text"] += 1


def limit_of(field):
    if field.limit.isdigit():
        return int(field.limit)
    found = re.search(rf"#define {field.limit}\s+(\d+)", LIMITS.read_text(encoding="utf-8"))
    if found is None:
        raise BadWord(f"the limit {field.limit} of {field.row}.{field.column} is no number of limits.h")
    return int(found.group(1))


def fingerprint(schemas):
    """Of the table of fields, and of the tables that are made of it: what is written by hand there, as keys and indexes."""
    texts = [" ".join((f.row, f.kind, f.column, f.limit, *f.flags)) for f in FIELDS]
    for path in schemas:
        sql = Words(pathlib.Path(path).parent.name).fill_in(pathlib.Path(path).read_text(encoding="utf-8"))
        texts += [line.strip() for line in sql.splitlines() if line.strip() and not line.lstrip().startswith("--")]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


class Words:
    """Replaces the words of one statement."""

    def __init__(self, dialect):
        self.dialect, self.used = dialect, 0

    def fill_in(self, sql):
        return WORD.sub(lambda match: self.word(match.group(1), match.group(2).split()), sql)

    def chosen(self, words):
        """The alias, the fields, and what else was said."""
        if not words:
            raise BadWord("a word names no row")
        alias, _, row = words[0].rpartition(".")
        mask = words[1] if len(words) > 1 and re.fullmatch("[KNMVERS]+", words[1]) else "KNMVR"
        fields = [field for field in FIELDS if field.row == row and field.is_in(mask)]
        if not fields:
            raise BadWord(f"no field of '{row}' is meant by '{mask}'")
        return alias, fields, words[1 + (len(words) > 1 and words[1] == mask):]

    def word(self, verb, words):
        if verb == "fill":
            return self.nulls(words[0], int(words[1]) if len(words) > 1 else SLOTS[words[0]])
        alias, fields, more = self.chosen(words)
        return getattr(self, "word_" + verb)(alias, fields, more)

    def name(self, field, alias=""):
        quoted = f'"{field.column}"' if field.column == "user" and self.dialect == "postgres" else field.column
        return f"{alias}.{quoted}" if alias else quoted

    def names(self, fields):
        return ", ".join(self.name(field) for field in fields)

    def read(self, field, alias):
        """PostgreSQL has booleans; C reads numbers."""
        name = self.name(field, alias)
        return f"{name}::int::bigint" if field.kind == "FLAG" and self.dialect == "postgres" else name

    def mark(self):
        self.used += 1
        return ("?" if self.dialect == "sqlite" else "$") + str(self.used)

    def flag(self, field, value):
        return f"{value} <> 0" if field.kind == "FLAG" and self.dialect == "postgres" else value

    def nulls(self, slot, count):
        null = {"text": "{none}", "int": "NULL::bigint", "bytes": "NULL::bytea"}[slot] if self.dialect == "postgres" else "NULL"
        return ", ".join([null] * count)

    def word_cols(self, alias, fields, more):
        return ", ".join(self.read(field, alias) for field in fields)

    def word_null(self, alias, fields, more):
        given = dict(word.split("=", 1) for word in more)
        return ", ".join(given.get(field.column) or self.nulls(field.slot(), 1) for field in fields)

    def word_values(self, alias, fields, more):
        return f"({self.names(fields)}) VALUES ({', '.join(self.flag(field, self.mark()) for field in fields)})"

    def word_insert(self, alias, fields, more):
        if self.dialect == "mysql":
            return f"({self.names(fields)}) VALUES ${self.used + 1}*"
        unnest = self.word_unnest("", fields, [])
        chosen = ", ".join(self.flag(field, self.name(field, "u")) for field in fields)
        return f"({self.names(fields)}) SELECT {chosen} FROM {unnest}"

    def word_unnest(self, alias, fields, more):
        extra = [word.lstrip("+") for word in more]
        marks = ", ".join(self.mark() for _ in range(len(fields) + len(extra)))
        return f"unnest({marks}) u ({', '.join([self.name(field) for field in fields] + extra)})"

    def word_set(self, alias, fields, more):
        return ", ".join(f"{self.name(field)} = {self.flag(field, self.name(field, 'u'))}"
                         for field in fields if not field.is_key())

    def word_update(self, alias, fields, more):
        given = [(field, f"{self.name(field)} = {self.mark()}") for field in fields]
        return ("SET " + ", ".join(text for field, text in given if not field.is_key()) +
                " WHERE " + " AND ".join(text for field, text in given if field.is_key()))

    def word_where(self, alias, fields, more):
        return "WHERE " + " AND ".join(f"{self.name(field)} = {self.mark()}" for field in fields if field.is_key())

    def word_conflict(self, alias, fields, more):
        rest = [self.name(field) for field in fields if not field.is_key()]
        if self.dialect == "mysql":
            return "ON DUPLICATE KEY UPDATE " + ", ".join(f"{name} = VALUES({name})" for name in rest)
        key = ", ".join(self.name(field) for field in FIELDS if field.row == fields[0].row and field.is_key())
        return f"ON CONFLICT ({key}) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in rest)

    def word_slots(self, alias, fields, more):
        out = []
        for slot, room in SLOTS.items():
            mine = [self.read(field, alias) for field in fields if field.slot() == slot]
            mine += [word.lstrip("+") for word in more if slot == "text"]
            if len(mine) > room:
                raise BadWord(f"{fields[0].row} needs {len(mine)} places of {slot}, there are {room}")
            out += mine + ([self.nulls(slot, room - len(mine))] if len(mine) < room else [])
        return ", ".join(out)

    def word_columns(self, alias, fields, more):
        return "\n".join(f"    {self.name(field)} {self.column_type(field)}," for field in fields).lstrip()

    def column_type(self, field):
        sqlite, postgres = {
            "int": ("INTEGER", "boolean" if field.kind == "FLAG" else "bigint"),
            "bytes": ("BLOB", "bytea"),
            "text": ("TEXT", 'text COLLATE "C"'),
        }[field.slot()]
        mysql = ("TINYINT" if field.kind == "FLAG" else "BIGINT" if field.slot() == "int" else
                 "BINARY(32)" if field.slot() == "bytes" else f"VARBINARY({limit_of(field)})") if self.dialect == "mysql" else ""
        of = {"sqlite": sqlite, "postgres": postgres, "mysql": mysql}[self.dialect]
        if "MAYBE" in field.flags:
            return of
        zero = "" if "VERSION" not in field.flags else " DEFAULT false" if of == "boolean" else " DEFAULT 0"
        return f"{of} NOT NULL{zero}"
