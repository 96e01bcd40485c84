#!/usr/bin/python3
"""The SQL of docs/patterns.md, played by psql in the order in which it stands there; every file that it links to is there. Before a block
stands <!-- played with psql -->, with ": 23H02" when it is to be refused so, or ": needs a lock" for the variables session and fence."""
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from surface import Server, passed  # noqa: E402

DOCUMENT = pathlib.Path(os.environ["HF_SOURCE_ROOT"]) / "docs/patterns.md"
KINDS = {"": 4, ": 23H02": 2, ": needs a lock": 1}


def psql(url, sql, *variables):
    """(whether it went well, what it said)"""
    done = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose",
                           *(word for name, value in variables for word in ("-v", f"{name}={value}")), url],
                          input=sql, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def play(url, text):
    server = Server("POSTGRES", url)
    server.url = url  # without a namespace, as the document has it
    blocks = re.findall(r"<!-- played with psql(.*?) -->\n\n((?:(?:    .*)?\n)+)", text)
    for kind, count in KINDS.items():
        passed(f"the document has blocks of the kind '{kind}'", [k for k, _ in blocks].count(kind) == count, blocks)
    with server:
        for kind, sql in blocks:
            variables = []
            if kind == ": needs a lock":
                person, secret = server.opens("alice")
                variables = [("session", person), ("fence", server.takes(secret, "customer/42"))]
            good, told = psql(url, sql, *variables)
            refused = kind == ": 23H02"
            passed(sql.strip().split("\n")[-1], "23H02" in told if refused else good, told)
            if variables:
                server.holdfast("session", "close", person=secret)
        good, told = psql(url, "SELECT 'version', version FROM holdfast.versions; SELECT 'price', price FROM line;")
        passed("all saves were counted, and the last price is there", good and re.search(r"version +\| +6\b", told)
               and re.search(r"price +\| +750\b", told), told)


text, url = DOCUMENT.read_text(), os.environ.get("HF_TEST_POSTGRES")
for link in sorted(set(re.findall(r"\]\(([^)#:]+)\)", text))):
    passed(f"there is {link}", (DOCUMENT.parent / link).resolve().exists())
if url:
    name = f"patterns_{os.getpid()}"
    own = re.sub(r"(://[^/]*/)[^?]*", rf"\g<1>{name}", url)
    psql(url, f"CREATE DATABASE {name}")
    try:
        play(own, text)
    finally:
        psql(url, f"DROP DATABASE {name} WITH (FORCE)")
else:
    print("ok - the patterns # SKIP HF_TEST_POSTGRES is not set")
from surface import failures  # noqa: E402  as it has come to be
sys.exit(1 if failures else 0)
