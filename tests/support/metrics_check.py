#!/usr/bin/python3
"""Judges a text that is to be read by Prometheus (text format 0.0.4), more strictly than Prometheus does, and compares what it read with
what Prometheus' own client library reads.

  tests/support/metrics_check.py FILE     says what is wrong, a line each; ends with 3 when something is
"""
import re
import sys

from prometheus_client.parser import text_string_to_metric_families

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
LABELS = rf"\{{({LABEL}(?:,{LABEL})*)\}}"
SAMPLE = re.compile(rf"({NAME})(?:{LABELS})? (\+Inf|-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)")
KINDS = {"counter", "gauge", "histogram"}
UNITS = ("_milliseconds", "_ms", "_us", "_minutes", "_kilobytes", "_percent")
ESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def unescaped(text):
    return re.sub(r'\\[\\"n]', lambda match: ESCAPED[match.group()], text)


class Family:
    def __init__(self, name, kind):
        self.name, self.kind, self.samples = name, kind, {}

    def names(self):
        return {self.name + end for end in ("_bucket", "_sum", "_count")} if self.kind == "histogram" else {self.name}


class Judge:
    def __init__(self, text):
        self.flaws, self.families = [], {}
        if not text.endswith("\n"):
            self.flaw(0, "the last line does not end")
        help_of = current = None
        for number, line in enumerate(text.split("\n")[:-1], 1):
            if line.startswith("# HELP "):
                help_of = self.help(number, line)
            elif line.startswith("# TYPE "):
                current = self.type(number, line, help_of)
            elif not (match := SAMPLE.fullmatch(line)):
                self.flaw(number, f"not a sample: {line}")
            elif current is None or match[1] not in current.names():
                self.flaw(number, f"{match[1]} stands outside its family")
            else:
                self.sample(number, current, match)
        for family in self.families.values():
            if family.kind == "histogram":
                self.histogram(family)

    def flaw(self, number, sentence):
        self.flaws.append(f"line {number}: {sentence}")

    def help(self, number, line):
        words = line.split(" ", 3)
        if len(words) < 4 or not words[3].strip() or not words[3].endswith("."):
            self.flaw(number, "help that says nothing, or no sentence")
        return words[2]

    def type(self, number, line, help_of):
        name, kind = line.split(" ")[2:]
        if name in self.families:
            self.flaw(number, f"{name} is there twice")
        if help_of != name:
            self.flaw(number, f"{name} has no help before its type")
        if kind not in KINDS or not re.fullmatch(NAME, name):
            self.flaw(number, f"{name} of kind {kind}")
        if (kind == "counter") != name.endswith("_total"):
            self.flaw(number, f"{name} is a {kind}: counters, and only they, end in _total")
        if name.endswith(UNITS):
            self.flaw(number, f"{name} is not in a base unit")
        return self.families.setdefault(name, Family(name, kind))

    def sample(self, number, family, match):
        pairs = re.findall(LABEL, match[2] or "")
        labels = tuple(sorted((name, unescaped(value)) for name, value in pairs))
        value = float(match[match.lastindex].replace("+Inf", "inf"))
        if len({name for name, _ in pairs}) < len(pairs):
            self.flaw(number, "a label is there twice")
        if "le" in dict(labels) and not match[1].endswith("_bucket"):
            self.flaw(number, "le is for buckets")
        if (match[1], labels) in family.samples:
            self.flaw(number, f"the series {match[1]}{labels} is there twice")
        if value < 0:
            self.flaw(number, f"{match[1]} is below zero")
        family.samples[match[1], labels] = value

    def histogram(self, family):
        series = {}
        for (name, labels), value in family.samples.items():
            rest = tuple(pair for pair in labels if pair[0] != "le")
            own = series.setdefault(rest, {"buckets": []})
            if name.endswith("_bucket"):
                own["buckets"].append((float(dict(labels)["le"].replace("+Inf", "inf")), value))
            else:
                own[name[len(family.name):]] = value
        for rest, own in series.items():
            bounds, counts = zip(*own["buckets"])
            where = f"{family.name}{dict(rest)}"
            if "_sum" not in own or "_count" not in own:
                self.flaw(0, f"{where} lacks its sum or count")
            elif bounds[-1] != float("inf") or counts[-1] != own["_count"]:
                self.flaw(0, f"the last bucket of {where} is not all of it")
            if list(bounds) != sorted(set(bounds)):
                self.flaw(0, f"the bounds of {where} do not grow")
            if list(counts) != sorted(counts):
                self.flaw(0, f"the buckets of {where} do not add up")

    def compare(self, text):
        mine = {key: value for family in self.families.values() for key, value in family.samples.items()}
        theirs = {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
                  for family in text_string_to_metric_families(text) for sample in family.samples}
        if mine != theirs:
            self.flaw(0, f"the client library reads it differently: {sorted(set(mine.items()) ^ set(theirs.items()))[:4]}")


def main():
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        text = file.read()
    judge = Judge(text)
    if not judge.flaws:
        judge.compare(text)
    for flaw in judge.flaws:
        print(flaw)
    sys.exit(3 if judge.flaws else 0)


if __name__ == "__main__":
    main()
