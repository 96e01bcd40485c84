#!/bin/bash
# advise and plan, as people and programs use them: the scenarios reach their strategies, documents are whole, bad input is named.
source "$(dirname "$0")/lib.sh"
examples=$HF_SOURCE_ROOT/examples/advise

# NAME EXPRESSION: the record for an example's answers.
scenario() {
    run advise --answers "$examples/$1.json" --json
    expect_json "$1: $2" 0 "$3"
}
scenario articles "few editors, rare collisions, cheap rework: versions, with who and when" \
    'd["strategy"] == "optimistic" and d["lock_type"] is None and d["storage"] == "none" and "rare" in d["reasons"][0]
     and d["aggregate"]["required"] is False and d["implicit"]["integration"] == "abstract-mapper"
     and d["bills"]["optimistic"] < 0.5'
scenario underwriting "long edits that can't be done again: locks, for readers too, on the whole policy" \
    'd["strategy"] == "pessimistic" and d["lock_type"] == "exclusive-read" and "Rework is high" in d["reasons"][0]
     and d["aggregate"] == {"required": True, "scope": ["policy", "coverage", "endorsement", "named insured"], "implementation": "shared-version"}
     and d["implicit"] == {"required": True, "integration": "mapper-decorator"} and d["storage"] == "postgres"
     and d["timeouts"] == {"lock_minutes": 120, "idle_minutes": 5, "beat_seconds": 30}
     and d["bills"]["optimistic"] > 3 * d["bills"]["pessimistic"] and any("FOR UPDATE" in w for w in d["warnings"])'
scenario orders "short edits of parts of one thing: versions, one for the group" \
    'd["strategy"] == "optimistic" and d["aggregate"]["required"] and d["aggregate"]["implementation"] == "shared-version"
     and d["aggregate"]["scope"][0] == "order" and d["implicit"]["required"]'
scenario newsroom "locks in Redis, on the root" \
    'd["strategy"] == "pessimistic" and d["lock_type"] == "exclusive-write" and d["storage"] == "redis"
     and d["aggregate"]["implementation"] == "root-lock" and d["timeouts"]["lock_minutes"] == 40 and d["timeouts"]["idle_minutes"] == 5'
scenario picking "locks in PostgreSQL, on the root, one entry point" \
    'd["strategy"] == "pessimistic" and d["lock_type"] == "exclusive-write" and d["storage"] == "postgres" and d["aggregate"]["implementation"] == "root-lock"
     and d["timeouts"]["lock_minutes"] == 30 and d["implicit"] == {"required": False, "integration": "single-entry-point"}'
check "every answer has its mark" python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))["answers"]
assert set(d["editors"]) == {"value", "mark"} and d["editors"]["mark"] == "expert" and d["work"]["mark"] == "assumed"' "$scratch/out"

check "docs/advise.md has every answer and every field of a record" python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); page = open(sys.argv[2]).read()
missing = [n for n in [*d, *d["answers"]] if f"`{n}`" not in page]; assert not missing, missing' "$scratch/out" "$HF_SOURCE_ROOT/docs/advise.md"

# Documents

run advise --answers "$examples/underwriting.json" --out "$scratch/record.md"
expect "the record goes to a file, which is named" 0 "holdfast: Wrote the record to $scratch/record.md."
code=0 out=$(cat "$scratch/record.md") err=
for section in 1.?Primary 2.?Lock 3.?Aggregate 4.?Enforcement 5.?Infrastructure 6.?What 7.?Warnings 8.?Next; do
    expect "the record has a section $section" 0 "*## $section*"
done
expect "it has the sentences people will see" 0 '*policy/12345 is being edited by Bob Smith since*Your editing session has expired*'
expect "it has the statements for the database" 0 '*ADD COLUMN version     bigint*ADD COLUMN modified_by*holdfast install postgres*--policy exclusive-read --ttl 120m*'
run advise --answers "$scratch/record.md" --out "$scratch/again.md"
check "a record is a file of answers, and comes to itself" cmp "$scratch/record.md" "$scratch/again.md"
printf '\n\nticket\n' | "$HOLDFAST" advise --out "$scratch/none.md" >"$scratch/out" 2>"$scratch/err"
code=$? out=$(cat "$scratch/out") err=$(cat "$scratch/err")
expect "questions whose input ends are named" 2 '*How many people edit*The input ended in the middle of the questions; nothing was written.'
check "and nothing is written" test ! -e "$scratch/none.md"
printf '%s\n' '' '' ticket '' '' '' '' '' '' '' '' '' '' '' '' '' '' '' '' '' '' '' | "$HOLDFAST" advise --json >"$scratch/out" 2>"$scratch/err"
code=$? err=
expect_json "questions may be answered by a program" 0 'd["entities"] == ["ticket"] and d["by_heuristic"] and d["certainty"] == "low"'
run advise --answers - --json
expect "an empty standard input is named" 2 '*The answers file is empty.*'

# A log: measured, and replayed

python3 - >"$scratch/access.log" <<'END'
for edit in range(400):
    minute, who = edit * 7, edit % 5
    for at, line in ((minute, f'"GET /p/{edit % 3}/edit HTTP/1.1" 200 9'), (minute + 6 + 30 * (edit % 10 == 0), f'"PUT /p/{edit % 3} HTTP/1.1" 204 0')):
        print(f"{at:08d} 192.0.2.1 - user{who} [{18 + at // 1440:02d}/Nov/2026:{at // 60 % 24:02d}:{at % 60:02d}:00 +0000] {line}")
END
sort "$scratch/access.log" | cut -d ' ' -f 2- >"$scratch/sorted.log"
run advise --access-log "$scratch/sorted.log" --open 'GET /p/{id}/edit' --save 'PUT /p/{id}' --json
expect_json "a log is measured: lengths, shares, records, people at a time" 0 \
    '{n for n, a in d["answers"].items() if a["mark"] == "measured"} == {"editors", "records", "edits_per_day", "edit_minutes",
     "edit_minutes_p90", "save_share", "busiest_tenth_share", "hours_per_day"}
     and d["answers"]["edit_minutes"]["value"] == 6 and d["answers"]["records"]["value"] == 3 and d["answers"]["save_share"]["value"] == 1'
# Every tenth edit lasts 36 minutes, during which its record is opened by another (edit 3 of every 10, at 21 minutes): turned away by a
# lock; with versions the long one is refused, or nothing is done and the short one wiped out.
expect_json "and replayed: whom a lock turns away, which saves versions refuse, what is wiped out" 0 \
    'd["replay"]["opens"] == 400 and d["replay"]["people"] == 5 and d["replay"]["collisions"] == {"none": 40, "optimistic": 40, "pessimistic": 40}
     and abs(d["replay"]["hours"]["optimistic"] - 40 * 36 / 60) < 1e-3 and d["replay"]["hours"]["none"] == 4
     and {t["record"] for t in d["replay"]["top"]} == {"0", "1", "2"}'
run advise --access-log - --open 'GET /p/{id}/edit' --save 'PUT /p/{id}'
expect "an empty log is named" 1 'holdfast: The log is empty.'
run advise --access-log "$scratch/sorted.log" --open 'GET /q/{id}/edit' --save 'PUT /p/{id}' --out "$scratch/none.md"
expect "a log without matches is named" 1 "holdfast: Of the log's 800 lines none matches --open; check the method and the path."
check "and nothing is written" test ! -e "$scratch/none.md"
run advise --access-log "$scratch/sorted.log" --open 'GET /p/{id}/edit'
expect "a log needs both patterns" 2 '*--access-log needs --open and --save*'
run advise --open 'GET /p/{id}/edit'
expect "patterns need a log" 2 '*give --access-log FILE too.'

# An audit

cat >"$scratch/audit.sarif" <<'END'
{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "audit", "rules": [{"id": "r"}]}}, "results": [
 {"ruleId": "version-not-compared", "message": {"text": "UPDATE policy\nwithout its version"},
  "locations": [{"physicalLocation": {"artifactLocation": {"uri": "src/poster.java"}, "region": {"startLine": 239}}}]},
 {"ruleId": "known", "message": {"text": "suppressed"}, "suppressions": [{"kind": "inSource"}]},
 {"message": {"text": "no place"}}]}]}
END
run advise --answers "$examples/orders.json" --audit "$scratch/audit.sarif" --json
expect_json "what an audit found is warned of, but for what was suppressed" 0 \
    'd["warnings"][-2:] == ["src/poster.java:239: UPDATE policy without its version (version-not-compared)", "no place"]'
echo '{"findings": []}' >"$scratch/other.json"
run advise --answers "$examples/orders.json" --audit "$scratch/other.json" --out "$scratch/none.md"
expect "what is no SARIF is named" 2 "*The audit's report is no SARIF*"

# A picture

run advise --answers "$examples/newsroom.json" --plot "$scratch/plot.svg" --out "$scratch/plotted.md"
expect "a plot is written beside the record" 0 "*Wrote the plot to $scratch/plot.svg.*Wrote the record to*"
check "it is an image with a line for each policy, and where locks begin to be worth it" python3 -c 'import sys, xml.etree.ElementTree as x
root = x.parse(sys.argv[1]).getroot(); ns = "{http://www.w3.org/2000/svg}"
lines = [[tuple(map(float, p.split(","))) for p in l.get("points").split()] for l in root.iter(ns + "polyline")]
assert len(lines) == 3 and all(len(l) == 24 and all(0 <= a <= 760 and 0 <= b <= 440 for a, b in l) for l in lines), lines
assert lines[1][-1][1] < lines[2][-1][1] < lines[2][0][1], "versions cost more than locks, and both more than with one editor"
text = " ".join(t.text for t in root.iter(ns + "text")); assert "now: 40" in text and "locks are worth building from" in text, text' "$scratch/plot.svg"
echo '{"entities": ["<script>&\"|x"], "edits_per_day": 50}' >"$scratch/hostile.json"
run advise --answers "$scratch/hostile.json" --plot "$scratch/plot.svg"
check "a hostile name is only text in it" python3 -c 'import sys, xml.etree.ElementTree as x
assert x.parse(sys.argv[1]).getroot()[0].text.endswith("<script>&\"|x")' "$scratch/plot.svg"
echo '{"work": "hot-key"}' >"$scratch/lease.json"
run advise --answers "$scratch/lease.json" --plot "$scratch/none.svg" --out "$scratch/none.md"
expect "where there is nothing to draw, that is said" 2 '*There is nothing to draw for a lease; leave --plot out.'
check "and nothing is written" test ! -e "$scratch/none.svg" -a ! -e "$scratch/none.md"

# Bad input: a sentence, and nothing is written

echo '{"editors": 0}' >"$scratch/zero.json"
run advise --answers "$scratch/zero.json" --out "$scratch/none.md"
expect "zero is named" 2 'holdfast: editors is from 1 to 1000000, not 0; check the number.'
check "and nothing is written" test ! -e "$scratch/none.md"
run advise --answers "$scratch/missing.json"
expect "a missing file is named" 6 "holdfast: $scratch/missing.json can't be read: No such file or directory."
run advise --answers "$examples/orders.json" --out "$scratch/no/where.md"
expect "a folder that is not there is named" 6 "holdfast: $scratch/no/where.md can't be written: No such file or directory."
run advise --answers "$examples/orders.json" --format html
expect "an unknown format is named" 2 'holdfast: --format is markdown or json.'
run advise --answers "$examples/orders.json" --format markdown --json
expect "contradicting formats are named" 2 '*contradict each other*'
mkdir "$scratch/folder"
run advise --answers "$scratch/folder"
expect "a folder is no file" 6 "holdfast: $scratch/folder can't be read: Is a directory."
check "no file is left over" test -z "$(find "$scratch" -name '*~')"

finish
