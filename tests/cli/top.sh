#!/bin/bash
# top: a store at a glance, as blocks and as JSON. What it does on a terminal is in terminal.py.
source "$(dirname "$0")/lib.sh"

# Nothing there

run top --count 1
expect "an empty store is shown as one" 0 \
    '*Grade * disk: *Live * 0 locks of 0 types, 0 sessions, 0 requests waiting*Types * none*Waited for  nothing*No locks are held.*'
run top --count 1 --json
expect_json "and in JSON" 0 \
    'd["locks"] == d["sessions"] == d["waiting"] == 0 and d["types"] == d["longest"] == [] and d["events"] is None and d["grade"] == "disk"'
run top --count 1 --store memory:
expect "the grade is told as it is" 0 '*Grade * none: *'

# People at work

as alice
run session open --user alice --name "Alice Chen"
run acquire policy/12345 --purpose renewal
run acquire customer/7 customer/8
as bob
run session open --user bob --name "王小明"
run acquire customer/顧客 --purpose 変更
run request policy/12345 --message "please"
run top --count 1
expect "it tells how many there are of which types, and what is waited for" 0 \
    '*Live * 4 locks of 2 types, 2 sessions, 1 request waiting*Types * customer (3), policy (1)*Waited for  policy/12345 (1)*'
expect "who holds what, the longest held first" 0 '*policy/12345*Alice Chen*1 * renewal*customer/7*customer/顧客*王小明*変更*'
# shellcheck disable=SC2016
check "wide characters are counted as wide" python3 -c '
import sys, unicodedata
def wide(text): return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
titles = next(l for l in lines if l.startswith("HELD FOR"))
row = next(l for l in lines if "王小明" in l)
assert wide(row[:row.index("王小明")]) == titles.index("HOLDER"), (titles, row)
assert wide(row[:row.index("変更")]) == titles.index("PURPOSE"), (titles, row)' "$scratch/out"
run top --count 1 --json
expect_json "the same in JSON" 0 \
    '(d["locks"], d["sessions"], d["waiting"], d["looked_at"]) == (4, 2, 1, 4) and d["types"] == [{"type": "customer", "locks": 3}, {"type": "policy", "locks": 1}]'
expect_json "with the locks as list tells them" 0 \
    'd["longest"][0]["lock"]["resource"] == "policy/12345" and d["longest"][0]["waiting"] == 1 and d["longest"][0]["held_seconds"] > 0 and d["longest"][3]["lock"]["name"] == "王小明"'

# Shared: one request, two holders

as alice
run acquire book/1 --mode shared
as bob
run acquire book/1 --mode shared
as carol
run session open --user carol
run request book/1
run top --count 1 --json
expect_json "a request for what two hold counts once" 0 \
    'd["waiting"] == 2 and [l["waiting"] for l in d["longest"] if l["lock"]["resource"] == "book/1"] == [1, 1]'
run top --count 1
expect "and is named once" 0 '*Waited for  policy/12345 (1), book/1 (1)'$'\n''*'

# What happens between two looks

"$HOLDFAST" top --interval 300ms --json >"$scratch/looks" 2>&1 &
looker=$!
for _ in $(seq 800); do [[ -s $scratch/looks ]] && break || sleep 0.05; done
run acquire diary/1 diary/2 diary/3
run release diary/2
run force-release diary/3 --reason "in the way"
for _ in $(seq 800); do grep -q '"forced":1' "$scratch/looks" && break || sleep 0.05; done
kill -TERM "$looker"
wait "$looker"
check "top ends by SIGTERM with 0" test $? = 0
# shellcheck disable=SC2016
check "every event is counted in one of its looks" python3 -c '
import json, sys
looks = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
assert looks[0]["events"] is None and looks[0]["since_seconds"] is None
assert all(look["since_seconds"] > 0 for look in looks[1:]), looks
total = lambda kind: sum(look["events"][kind] for look in looks[1:])
assert (total("acquired"), total("released"), total("forced"), total("expired")) == (3, 1, 1, 0), looks' "$scratch/looks"
run top --count 2 --interval 10ms
expect "rates are told from the second look on" 0 '*known at the next look*Per second  0.0 acquired, 0.0 released, 0.0 expired, 0.0 forced*'

# The server, if there is one

run top --count 1
if served; then
    expect "what a server tells of itself takes two lines" 0 '*Server      ? connection*, 0 followers'$'\n''Commits     of ?.? ops, in *s (99% in *s); * ops waiting'$'\n''*'
    run top --count 2 --interval 200ms
    expect "from the second look on it is what happened since the last" 0 '*Server      *.? requests/s, ? connection*, 0 followers'$'\n''Commits     * ops waiting*'
else
    check "a store that is no server tells nothing of one" test -z "$(grep -E '^(Server|Commits)' "$scratch/out")"
fi
run top --count 1 --json
expect_json "in JSON too" 0 '(d["server"] is None) == (not d["store"].startswith("http"))'

# More than it looks at

seq -f 'bulk/%.0f' 1 10500 | xargs -n 1000 "$HOLDFAST" acquire >/dev/null
run top --count 1
expect "of very many locks it says at which it looked" 0 '*Live * 1050? locks of *The longest held of the first 10000 locks.*'
run top --count 1 --json
expect_json "and in JSON" 0 'd["looked_at"] == 10000 and d["locks"] > 10500 and len(d["longest"]) == 20'

finish
