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
run advise --answers - --json
expect "an empty standard input is named" 2 '*The answers file is empty.*'

# Bad input: a sentence, and nothing is written

echo '{"editors": 0}' >"$scratch/zero.json"
run advise --answers "$scratch/zero.json" --out "$scratch/none.md"
expect "zero is named" 2 'holdfast: editors is from 1 to 1e+06, not 0; check the number.'
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
