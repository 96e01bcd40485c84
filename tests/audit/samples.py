#!/usr/bin/env python3
"""Every rule on its samples: the bad ones are found, line by line, and the good ones are silent under all rules."""
import json

from check import ROOT, SAMPLES, audit, check, finish, places, run

rules = [rule["id"] for rule in json.loads(run(SAMPLES, "--format", "sarif").stdout)["runs"][0]["tool"]["driver"]["rules"]]
have = sorted(folder.name for folder in SAMPLES.iterdir() if folder.is_dir() and folder.name not in ("mappings", "deployments", "questions"))
check("every rule that judges code has samples", sorted(set(rules) - {"idle-in-transaction"}) == have, (rules, have))

page = (ROOT / "docs" / "audit.md").read_text()
check("docs/audit.md has every rule", all(f"| `{rule}` |" in page for rule in rules), rules)

for rule in have:
    bad = audit(".", cwd=SAMPLES / rule / "bad")
    expected = sorted((SAMPLES / rule / "bad" / "expect").read_text().split())
    check(f"{rule}: what is wrong is found", places(bad, rule) == expected and bad["skipped"] == [], (places(bad, rule), expected, bad["skipped"]))
    good = audit(".", cwd=SAMPLES / rule / "good")
    check(f"{rule}: what is right is silent", good["findings"] == [] and good["skipped"] == [],
          [(f["rule"], f["at"], f["message"]) for f in good["findings"]])

# Each mapping declares a version, and a statement goes past it.
for folder in sorted((SAMPLES / "mappings").iterdir()):
    report = audit(".", cwd=folder)
    expected = sorted((folder / "expect").read_text().split())
    seen = places(report, "version-not-compared")
    check(f"{folder.name}: a version is known", seen == expected and all(f["confidence"] == "high" for f in report["findings"]),
          (seen, expected, report))

# Where a deployment file starts several processes of the program, a lock map in memory is certainly wrong.
for folder in sorted((SAMPLES / "deployments").iterdir()):
    report = audit(".", cwd=folder)
    found = [f for f in report["findings"] if f["rule"] == "lock-map-in-memory"]
    expected = (folder / "expect").read_text().split()
    seen = sorted({f"{f['declared']['file']}:{f['declared']['line']}" for f in found if f["confidence"] == "high"})
    check(f"{folder.name}: {expected[0] + ' starts several processes' if expected else 'nothing says that there are several'}",
          found != [] and report["skipped"] == [] and seen == expected and all(place in f["message"] for f in found for place in seen), (seen, expected, found))

# Questions are asked where something suggests them; they are no findings.
for folder in sorted((SAMPLES / "questions").iterdir()):
    report = audit(".", cwd=folder)
    seen = sorted(f"{q['question']} {q['at']['file']}:{q['at']['line']}" for q in report["questions"])
    expected = [line for line in (folder / "expect").read_text().splitlines() if line]
    check(f"questions, {folder.name}: what is suggested is asked", seen == expected, (seen, expected, report["questions"]))
    check(f"questions, {folder.name}: none is a finding", report["findings"] == [] and report["skipped"] == [], report)
text = run(".", cwd=SAMPLES / "questions" / "asked")
check("people read them at the end", text.returncode == 0 and "Question: schema.sql:1: Are a person's locks in app_lock given back" in text.stdout, text)
finish()
