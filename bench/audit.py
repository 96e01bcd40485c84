#!/usr/bin/python3
"""How many lines a minute `holdfast audit` reads, and what its largest process needs, beside `grep -rc` over the same tree. The trees are made of
the samples of tests/audit, copied many times. In one tree every file is parsed. In the other every second file has its letters moved, so that it
has none of the words that make a file worth parsing, as most files of a real program have none.

    HOLDFAST=build/holdfast HF_SOURCE_ROOT=. bench/audit.py [--lines N] [--check]

--check exits with 1 below the floor: 10 million lines a minute, each process under 500 MB, and twice the lines in at most 2.5 times the time.
"""
import argparse
import codecs
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ["HF_SOURCE_ROOT"]).resolve()
HOLDFAST = str(pathlib.Path(os.environ["HOLDFAST"]).resolve())
ENDINGS = (".java", ".py", ".rb", ".php", ".js", ".ts", ".sql")
FILE_LINES, ROUNDS = 400, 3
FLOOR, MEMORY_MAX, LINEAR_MAX = 10_000_000, 500, 2.5


def pieces():
    """The good samples of each language; of one rule the bad ones too, so that something is found."""
    found = {ending: [] for ending in ENDINGS}
    for path in sorted((ROOT / "tests" / "audit" / "samples").rglob("*")):
        if path.suffix in found and (path.parent.name == "good" or "version-not-moved" in path.parts):
            found[path.suffix].append(path.read_text().removeprefix("<?php\n"))
    return found


def make(folder, lines, mixed):
    """Files of a few hundred lines, in turn of each language. Answers how many lines there are."""
    of, made, number = pieces(), 0, 0
    while made < lines:
        ending = ENDINGS[number % len(ENDINGS)]
        text, at = "<?php\n" if ending == ".php" else "", number
        while text.count("\n") < FILE_LINES:
            text += of[ending][at % len(of[ending])] + "\n"
            at += 1
        if mixed and number // len(ENDINGS) % 2 == 1:
            text = codecs.encode(text, "rot13")
        path = folder / f"part{number // 200}" / f"file{number}{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        made += text.count("\n")
        number += 1
    return made


MEASURED = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
took = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([took, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime, done.returncode]))
sys.stdout.flush()
sys.stderr.buffer.write(done.stdout)
"""


def measured(*command):
    """Seconds, the largest process in MB, seconds of processors, what it printed; in a process of its own, which sees no children but these."""
    done = subprocess.run([sys.executable, "-c", MEASURED, *map(str, command)], capture_output=True, text=True, timeout=600, check=True)
    took, memory, worked, code = json.loads(done.stdout)
    if code not in (0, 9):
        raise SystemExit(f"{command} exits with {code}")
    return took, memory, worked, done.stderr


arguments = argparse.ArgumentParser()
arguments.add_argument("--lines", type=int, default=400_000)
arguments.add_argument("--check", action="store_true")
chosen = arguments.parse_args()
with tempfile.TemporaryDirectory(prefix="holdfast-bench-audit-") as scratch:
    trees = {name: pathlib.Path(scratch) / name for name in ("mixed", "parsed", "half")}
    lines = {name: make(trees[name], chosen.lines // (2 if name == "half" else 1), name == "mixed") for name in trees}
    took, worked, greps = ({name: [] for name in trees} for _ in range(3))
    memory, reports = 0, {}
    for _ in range(ROUNDS):
        for name, tree in trees.items():
            seconds, most, processors, printed = measured(HOLDFAST, "audit", tree, "--json", "--fail-on", "never")
            took[name].append(seconds)
            worked[name].append(processors)
            memory = max(memory, most)
            reports[name] = json.loads(printed)
            greps[name].append(measured("grep", "-rc", "UPDATE", tree)[0])
    for name, report in reports.items():
        if report["skipped"] or report["notes"] or report["statements"] < lines[name] / 100 or not report["findings"]:
            raise SystemExit(f"{name}: not read as a whole: {report['skipped'][:3]} {report['notes']} {report['statements']} statements")
    speed = {name: lines[name] * 60 / statistics.median(took[name]) for name in trees}
    linear = speed["half"] / speed["parsed"] * 2
    print(f"{'audit':36} {'ours':>12} {'grep -rc':>13} {'times':>6}  target")
    for name, what, target in (("parsed", "lines a minute, all of them parsed", "none"), ("mixed", "lines a minute, half of them parsed", f"{FLOOR:,}")):
        bare = lines[name] * 60 / statistics.median(greps[name])
        print(f"{what:36} {speed[name]:12,.0f} {bare:13,.0f} {speed[name] / bare:6.3f}  {target}")
    print(f"{'... in a minute of one processor':36} {lines['mixed'] * 60 / statistics.median(worked['mixed']):12,.0f} {'':20}  none: a busy machine has no part in it")
    print(f"{'largest process, MB':36} {memory:12.0f} {'':20}  at most {MEMORY_MAX}")
    print(f"{'time for twice the lines':36} {linear:12.2f} {'':20}  at most {LINEAR_MAX}")
    print(f"{lines['parsed']:,} lines in {reports['parsed']['files']:,} files on {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; "
          f"{reports['parsed']['statements']:,} statements, {len(reports['parsed']['findings']):,} findings", flush=True)
good = speed["mixed"] >= FLOOR and memory <= MEMORY_MAX and linear <= LINEAR_MAX
raise SystemExit(1 if chosen.check and not good else 0)
