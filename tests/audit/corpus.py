#!/usr/bin/env python3
"""Precision on public code: HF_AUDIT_CORPUS is a folder of checkouts named OWNER+NAME at the commits of corpus.tsv. At least 0.9 of the findings of high
confidence and 0.6 of all must be labelled true."""
import os
import pathlib

from check import ROOT, audit, check, finish

CORPUS = os.environ.get("HF_AUDIT_CORPUS")
labels, repos = {}, []
for line in (ROOT / "tests" / "audit" / "corpus.tsv").read_text().splitlines():
    words = line.split("\t")
    if words[0] == "repo":
        repos.append(words[1].replace("/", "+"))
    elif words[0] == "finding":
        labels[repos[-1], words[1], words[2]] = words[3] == "true"
if not CORPUS:
    print("ok - precision on public code # SKIP HF_AUDIT_CORPUS is not set")
    finish()
there = [name for name in repos if (pathlib.Path(CORPUS) / name).is_dir()]
check("checkouts are there", there, repos)
judged = []
for name in there:
    for finding in audit(".", cwd=pathlib.Path(CORPUS) / name)["findings"]:
        place = f"{finding['at']['file']}:{finding['at']['line']}"
        true = labels.pop((name, finding["rule"], place), False)
        judged.append((finding["confidence"], true))
        print(f"# {'true ' if true else 'FALSE'} {finding['confidence']} {name} {place} {finding['rule']}")
for place in labels:
    if place[0] in there:
        print("# no longer found:", *place)
for least, chosen, sentence in ((0.9, [t for c, t in judged if c == "high"], "of high confidence"), (0.6, [t for _, t in judged], "in all")):
    check(f"{sum(chosen)} of {len(chosen)} findings {sentence} are true, at least {least:.0%}", sum(chosen) >= least * len(chosen), judged)
lost = [place for place in labels if place[0] in there]
check("what was found once is still found", len(lost) <= 0.1 * (len(lost) + len(judged)), lost)
finish()
