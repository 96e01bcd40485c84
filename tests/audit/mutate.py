#!/usr/bin/env python3
"""Recall by mutation: comparisons of a version are taken out of correct public code, some at a time, and audit must see it. HF_AUDIT_CORPUS is a
folder of checkouts named OWNER+NAME (tests/audit/corpus.tsv has the commits); without it the good samples are what is mutated."""
import os
import pathlib
import re
import shutil
import tempfile

from check import SAMPLES, audit, check, finish

CORPUS = os.environ.get("HF_AUDIT_CORPUS")
# AND version = <something bound>, at the end of a condition or in it.
COMPARE = re.compile(r"\s+and\s+(?:\w+\.)?(?:rev_|version|lock_version|record_version)\s*=\s*(?:#\{[^}]*\}|\?|:\w+|%s|\$\d+)", re.I)
ENDINGS = {".java", ".py", ".rb", ".php", ".js", ".ts", ".xml"}
FOLDS, NEEDED = 4, 0.8


def sites(folder):
    """(file, start, end) of each comparison inside an UPDATE that sets something else from outside."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in ENDINGS or re.search(r"(^|/)(test|tests|spec|qa|migrate)/", str(path.relative_to(folder))):
            continue
        text = path.read_text(errors="replace") if path.is_file() else ""
        for found in COMPARE.finditer(text):
            before = text[max(0, found.start() - 4000):found.start()]
            verbs = list(re.finditer(r"\b(update|delete|select|insert)\b", before, re.I))
            statement = before[verbs[-1].start():] if verbs and verbs[-1].group().lower() == "update" else ""
            written = re.findall(r"(\w+)\s*=\s*(?:#\{|\?|:\w|%s|\$\d)", statement.split("where")[0].split("WHERE")[0])
            if [name for name in written if not re.fullmatch("rev_|version|lock_version", name, re.I)]:
                yield path, found.start(), found.end()


def mutate(cut):
    """Takes these comparisons out; where they were, and the files as they were."""
    lines, before = [], {path: path.read_text(errors="replace") for path, _, _ in cut}
    for path, text in before.items():
        for _, start, end in sorted((site for site in cut if site[0] == path), key=lambda site: -site[1]):
            lines.append((path, text.count("\n", 0, start) + 1))
            text = text[:start] + "\n" * text.count("\n", start, end) + text[end:]
        path.write_text(text)
    return lines, before


def seen(report, folder, path, line):
    near = [f["at"]["line"] for f in report["findings"] if f["rule"] == "version-not-compared"
            and (folder / f["at"]["file"]).resolve() == path.resolve()]
    return any(line - 60 <= at <= line for at in near)


total = found = 0
missed = []
folders = sorted(pathlib.Path(CORPUS).iterdir()) if CORPUS else sorted((SAMPLES / "version-not-compared").glob("good"))
with tempfile.TemporaryDirectory(prefix="holdfast-mutate-") as scratch:
    for folder in folders:
        copy = pathlib.Path(scratch) / folder.name
        shutil.copytree(folder, copy, ignore=lambda at, names: [
            name for name in names if pathlib.Path(name).suffix not in ENDINGS | {".sql"} and not os.path.isdir(os.path.join(at, name))])
        every = list(sites(copy))
        for fold in range(FOLDS if every else 0):
            lines, before = mutate([site for number, site in enumerate(every) if number % FOLDS == fold])
            report = audit(".", cwd=copy)
            for path, line in lines:
                total += 1
                if seen(report, copy, path, line):
                    found += 1
                else:
                    missed.append(f"{folder.name}/{path.relative_to(copy)}:{line}")
            for path, text in before.items():
                path.write_text(text)
        shutil.rmtree(copy)
check(f"of {total} comparisons taken out at least {NEEDED:.0%} are seen", total > 0 and found >= NEEDED * total,
      (found, total, missed))
print(f"# {found} of {total} found")
for place in missed:
    print(f"#   missed {place}")
finish()
