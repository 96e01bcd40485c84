#!/usr/bin/env python3
"""Every rule on its samples: the bad ones are found, line by line, and the good ones are silent under all rules."""
import json

from check import ROOT, SAMPLES, audit, check, finish, places, run

rules = [rule["id"] for rule in json.loads(run(SAMPLES, "--format", "sarif").stdout)["runs"][0]["tool"]["driver"]["rules"]]
have = sorted(folder.name for folder in SAMPLES.iterdir() if folder.is_dir() and folder.name != "mappings")
check("every rule that judges code has samples", sorted(set(rules) - {"idle-in-transaction"}) == have, (rules, have))

page = (ROOT / "docs" / "audit.md").read_text()
check("docs/audit.md has every rule", all(f"| `{rule}` |" in page for rule in rules), rules)

for rule in have:
    bad = audit(".", cwd=SAMPLES / rule / "bad")
    expected = sorted((SAMPLES / rule / "bad" / "expect").read_text().split())
    check(f"{rule}: what is wrong is found", places(bad, rule) == expected, (places(bad, rule), expected, bad["skipped"]))
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
finish()
