#!/bin/bash
# plan: the examples come out with their lock type, storage, group and timeouts, and every plan's script passes; on the databases that
# are there (HF_TEST_POSTGRES, HF_TEST_MARIADB), and for the rest on SQLite.
source "$(dirname "$0")/lib.sh"
examples=$HF_SOURCE_ROOT/examples/advise
export HOLDFAST

# NAME [MORE ANSWERS]: makes $scratch/NAME.md and .plan, .sh
make_plan() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); d.update(json.loads(sys.argv[2])); json.dump(d, open(sys.argv[3], "w"))' \
        "$examples/$1.json" "${3:-{\}}" "$scratch/answers.json"
    run advise --answers "$scratch/answers.json" --out "$scratch/$2.md"
    run plan "$scratch/$2.md"
    cp "$scratch/out" "$scratch/$2.plan"
}
# NAME PLACE...: its script passes there
plays() {
    local name=$1
    shift
    run plan "$scratch/$name.md" --script "$scratch/$name.sh" --out "$scratch/$name.plan"
    expect "$name: the tests are written as a script" 0 "*Wrote the tests to $scratch/$name.sh*Wrote the plan*"
    out=$(sh "$scratch/$name.sh" "$@" 2>&1) code=$? err=
    expect "$name: its script passes" 0 '*ok - *'
    check "$name: all of it" test "$(grep -c '^ok' <<<"$out")" -ge 7
    check "$name: none fails" test "$(grep -c '^not ok' <<<"$out")" = 0
}
sections() { # NAME COUNT
    check "$1: the plan has $2 sections" test "$(grep -c '^## [0-9]' "$scratch/$1.plan")" = "$2"
    check "$1: nothing is left to fill in" test "$(grep -cE '\{\{|\}\}' "$scratch/$1.plan")" = 0
}

make_plan underwriting underwriting
expect "underwriting: exclusive read lock, PostgreSQL, shared version, 120 minutes, decorator, servlet listener" 0 \
    '*Stack: Java, Spring*Exclusive read lock.*tables in the PostgreSQL database*holdfast install postgres*--policy exclusive-read --ttl 120m*lets two owners in*absolute bound 120 minutes*holdfast.check*HttpSessionListener*shared version*policy/ID*a decorator around every mapper*'
sections underwriting 9
make_plan newsroom newsroom
expect "newsroom: exclusive write lock, Redis, root lock, 40 minutes, 5 minutes idle, beat of 30 seconds, repository, Express" 0 \
    '*Exclusive write lock.*Redis, with persistence*--ttl 40m*absolute bound 40 minutes*idle bound 5 minutes*30 seconds*Session end in Express*root lock*article/ID*a base class of all repositories*'
sections newsroom 9
make_plan picking picking
expect "picking: exclusive write lock, PostgreSQL, root lock, 30 minutes, one entry point, Django" 0 \
    '*Exclusive write lock.*PostgreSQL*--ttl 30m*Session end in Django*root lock*order/ID*single entry point*picked by*'
sections picking 9
check "a plan has the eight points, of which some are open" eval '[[ $(grep -c "^- \[[ x]\]" "$scratch/picking.plan") == 8 ]] && grep -q "^- \[ \]" "$scratch/picking.plan"'
make_plan orders orders
expect "orders: version columns for MariaDB with its quotes, one for the group" 0 \
    '*ALTER TABLE `order`*BIGINT NOT NULL*First the root*WHERE id = :id AND version = :version_read*was changed by Alice Chen*Scope: order, line item*a hook of the ORM*'
make_plan articles articles
expect "articles: version columns, a statement for each save, the sentence" 0 '*ALTER TABLE article*SET ..., version = version + 1*an abstract mapper*'
sections articles 7
make_plan picking both '{"session": "job"}'
expect "both: the lock and the version under it" 0 '*one holdfast session a run*The version under the lock*ADD COLUMN version*version = :version_read*'
make_plan picking transaction '{"spans_requests": false, "edit_minutes": 0.1}'
expect "one transaction: its isolation level" 0 '*SERIALIZABLE*'
make_plan picking lease '{"work": "single-flight"}'
expect "a lease: where to take it, and with what" 0 '*Around the whole transaction*holdfast run order/nightly --hold 30m -- *longest hold*'
for stack in 'Ruby on Rails:before_logout' 'PHP, Laravel:Auth?Events?Logout' 'C#, ASP.NET Core:OnSigningOut' 'Go:wherever your framework'; do
    make_plan picking stack "{\"stack\": \"${stack%%:*}\"}"
    expect "${stack%%:*} has its hook" 0 "*${stack##*:}*"
done

# The scripts

plays underwriting ${HF_TEST_POSTGRES:+"$HF_TEST_POSTGRES"}
plays picking
plays newsroom # on SQLite; on Redis where there is a store for it
plays lease ${HF_TEST_MARIADB:+"$HF_TEST_MARIADB"}
make_plan articles versions '{"database": "sqlite"}'
plays versions "$scratch/own.db"
if [[ -n ${HF_TEST_POSTGRES-} ]]; then
    make_plan articles versions_postgres '{"database": "postgres"}'
    plays versions_postgres "$HF_TEST_POSTGRES"
fi
if [[ -n ${HF_TEST_MARIADB-} ]]; then
    plays articles "$(python3 -c 'import sys, urllib.parse as u
url = u.urlsplit(sys.argv[1]); more = dict(u.parse_qsl(url.query))
print("--no-defaults", "-u" + url.username, "-S" + more["socket"], "-D" + url.path[1:])' "$HF_TEST_MARIADB")"
fi
sed -i 's/--ttl 1s/--ttl 1h/' "$scratch/picking.sh"
out=$(sh "$scratch/picking.sh" 2>&1) code=$? err=
expect "a script whose store does not do as it should fails" 1 '*not ok - when its time is over*'

# Bad input

run plan "$scratch/transaction.md" --script "$scratch/none.sh"
expect "where there is nothing to test, that is said" 2 '*There is no script for this record (strategy transaction*'
run plan "$examples/orders.json"
expect "answers are no record" 2 '*This is no decision record; *'
sed 's/"holdfast_record":1/"holdfast_record":7/' "$scratch/orders.md" >"$scratch/newer.md"
run plan "$scratch/newer.md" --out "$scratch/none.plan"
expect "a record of another version is named" 2 '*The record is of version 7, and this program knows version 1*'
head -c 6000 "$scratch/orders.md" >"$scratch/cut.md"
run plan "$scratch/cut.md"
expect "a record that was cut off is named" 2 'holdfast: The record is*'
check "nothing is written" test ! -e "$scratch/none.plan" -a ! -e "$scratch/none.sh"
run plan "$scratch/picking.md" --json
expect_json "with --json a program gets the parts" 0 'd["holdfast_plan"] == 1 and d["lock_minutes"] == 30 and d["storage"] == "postgres"
     and d["script"].startswith("#!/bin/sh") and len(d["commands"]) == 2 and d["markdown"].startswith("# Implementation Plan")'

finish
