#!/usr/bin/env python3
"""Reports, baseline, suppression, exit codes, bad input, parsers that die: audit as people and programs use it."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from check import HOLDFAST, SAMPLES, audit, check, finish, places, run

scratch = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-audit-"))
BAD = SAMPLES / "version-not-compared" / "bad"

# ---- text, for people ----

done = run(".", cwd=BAD)
check("findings exit with 9", done.returncode == 9, done)
for part in ("save.py:2: high: UPDATE of account writes balance by key and does not compare version, nor move it. [version-not-compared]",
             '  >    2 |     cursor.execute("UPDATE account SET balance = %s WHERE id = %s"', "declared in schema.sql:4",
             "Why it matters:", "With holdfast:", "Without:"):
    check(f"the report says: {part}", part in done.stdout, done.stdout)
check("no colour where there is no terminal", "\033" not in done.stdout, done.stdout)
check("why and how are told once for a rule", done.stdout.count("Why it matters:") == 1, done.stdout)
colored = subprocess.run(["script", "-qec", f"{HOLDFAST} audit {BAD}", "/dev/null"], capture_output=True, text=True, timeout=60,
                         env={k: v for k, v in os.environ.items() if k != "NO_COLOR"})
check("on a terminal there is colour", "\033[31mhigh\033[0m" in colored.stdout, colored.stdout)
check("--fail-on never exits with 0", run(BAD, "--fail-on", "never").returncode == 0)
check("--fail-on high leaves the others alone",
      run(SAMPLES / "locks-in-no-order" / "bad", "--fail-on", "high").returncode == 0
      and run(SAMPLES / "locks-in-no-order" / "bad", "--fail-on", "low").returncode == 9)
check("nothing wrong exits with 0", run(SAMPLES / "version-not-compared" / "good").returncode == 0)

# ---- baseline ----

for form in ("json", "sarif"):
    baseline = scratch / f"baseline.{form}"
    made = run(".", "--format", form, "--out", baseline, cwd=BAD)
    check(f"a report of {form} goes to a file", made.returncode == 9 and f"Wrote the report to {baseline}." in made.stderr, made)
    again = run(".", "--baseline", baseline, cwd=BAD)
    check(f"what a baseline of {form} has is known", again.returncode == 0 and "11 in the baseline" in again.stdout, again)
copy = scratch / "copy"
shutil.copytree(BAD, copy)
(copy / "save.py").write_text("# moved down\n\n" + (copy / "save.py").read_text() + """

def worse(cursor, id, owner):
    cursor.execute("UPDATE account SET owner = %s WHERE id = %s", (owner, id))
""")
report = audit(".", "--baseline", scratch / "baseline.json", cwd=copy)
fresh = [f for f in report["findings"] if not f["known"]]
check("lines may move, and what is new is new", [f["message"].split()[4] for f in fresh] == ["owner"], fresh)
check("a baseline that is not there is named", run(BAD, "--baseline", scratch / "none").returncode == 6)

# ---- suppression ----

source = copy / "save.py"
source.write_text('''def save(cursor, account):
    # holdfast-audit: ignore version-not-compared this job runs alone at night
    cursor.execute("UPDATE account SET balance = %s WHERE id = %s", account)


def again(cursor, account):
    cursor.execute("UPDATE account SET balance = %s WHERE id = %s", account)  # holdfast-audit: ignore version-not-compared


def other(cursor, account):
    # holdfast-audit: ignore row-count-ignored not this rule
    cursor.execute("UPDATE account SET balance = %s WHERE id = %s", account)
''')
report = audit("save.py", "schema.sql", cwd=copy)
check("a reason suppresses, and is kept", [(f["at"]["line"], f["suppressed"]) for f in report["findings"]]
      == [(3, "this job runs alone at night"), (7, None), (12, None)], report)
check("a suppression without a reason does not count, and is named", any("save.py:7 ignores version-not-compared without a reason" in n
                                                                          for n in report["notes"]), report["notes"])

# ---- bad input ----

hostile = scratch / "hostile"
(hostile / "x.js").mkdir(parents=True)
(hostile / "x.js" / "schema.sql").write_text((BAD / "schema.sql").read_text())
(hostile / "loop").symlink_to(hostile)
(hostile / "binary.py").write_bytes(b"UPDATE account\0SET")
(hostile / "broken.java").write_text('class { void x( { "UPDATE account SET balance = ? WHERE id = ?" + + ) }')
(hostile / "empty.php").write_text("")
(hostile / "deep.js").write_text("x = 'update account set '; " + ("(" * 70 + "\n") * 1000)
(hostile / "large.ts").write_bytes(b"// update \n" * 300000)
(hostile / "lib.min.js").write_text("update ")
(hostile / "one.js").write_text("var a = 'update x set'; " * 1000)
(hostile / "latin.rb").write_bytes(b"sql = 'UPDATE account SET n\xe4me = 1 WHERE id = 2'\n")
(hostile / "open.sql").write_text("CREATE TABLE t (a int, 'unclosed")
(hostile / "save.py").write_text((BAD / "save.py").read_text())
os.mkfifo(hostile / "pipe.py")
done = run(".", "--json", cwd=hostile)
check("hostile files do not end the run", done.returncode == 9, done)
report = json.loads(done.stdout)
why = {s["file"]: s["why"] for s in report["skipped"]}
check("each that was not read is named with the reason", {name: why.get(name, "") for name in (
    "binary.py", "large.ts", "lib.min.js", "one.js", "pipe.py", "deep.js")} == {
        "binary.py": "it is binary", "large.ts": "it is larger than 2 MB", "lib.min.js": "it is minified", "one.js": "it is minified",
        "pipe.py": "it is no regular file", "deep.js": "its parser died"}, why)
check("and the others are judged, a folder called x.js is a folder", "save.py:2" in places(report), places(report))
check("no file at all is named", run(scratch / "nowhere").returncode == 1)
check("no operand says what to do", "holdfast audit src" in run().stderr and run().returncode == 2, run())
check("a file of another kind is named", run(SAMPLES.parent.parent / "meson.build").returncode == 2)
check("an unknown format is named", "text, json or sarif" in run(BAD, "--format", "xml").stderr)
check("an unknown level is named", "high, medium, low or never" in run(BAD, "--fail-on", "x").stderr)

# ---- without the module ----

empty = scratch / "modules"
empty.mkdir()
report = audit(".", cwd=BAD, env={"HOLDFAST_MODULES": str(empty)})
check("without the module programs are left out, and it is said", report["findings"] == [] and len(report["skipped"]) == 6
      and any("Programs were not read" in note for note in report["notes"]), report)
alone = audit(".", cwd=SAMPLES / "lock-table-not-unique" / "bad", env={"HOLDFAST_MODULES": str(empty)})
check("and SQL is read all the same", places(alone) == ["schema.sql:1", "schema.sql:8"], alone)

# ---- for the advisor ----

orders = SAMPLES.parent.parent.parent / "examples" / "advise" / "orders.json"
advised = subprocess.run([HOLDFAST, "advise", "--answers", orders, "--audit", scratch / "baseline.sarif", "--json"],
                         capture_output=True, text=True, timeout=60)
check("advise reads the findings", "(version-not-compared)" in advised.stdout, advised)

shutil.rmtree(scratch)
finish()
