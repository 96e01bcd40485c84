#!/bin/bash
# Bad input, missing rights and unusable stores: each gets a sentence and its exit code, and changes nothing.
source "$(dirname "$0")/lib.sh"

long() { printf 'x%.0s' $(seq "$1"); }

as alice
run session open --user alice --name "Alice Chen" --json
alice=$(field 'd["id"] + "." + d["key"]')
run acquire policy/1 --json
fence=$(field 'd["locks"][0]["fence"]')
run events --json
last=$(field 'd["events"][-1]["seq"]')

# What is typed wrong: exit 2 and a sentence on stderr; with --json a refusal on stdout. SENTENCE ARGUMENT...
bad() {
    local sentence=$1
    shift
    run "$@"
    if [[ $code == 2 && -z $out && $err == holdfast:\ ?*. && $err != *$'\n'* ]]; then passed "$sentence"; else failed "$sentence"; fi
    run "$@" --json
    [[ $code == 2 && -z $err && $(wc -l <"$scratch/out") == 1 ]] || failed "$sentence, in JSON"
    cat "$scratch/out" >>"$scratch/refusals"
}

bad "no verb" --store "$store"
bad "an unknown verb" aquire policy/2
for pair in 'lock policy/2:acquire' 'unlock policy/2:release' 'ls:list' 'status:list' 'log:events' 'aquire policy/2:acquire' 'lsit:list' 'sessions:session list' \
    'realease x:release' 'session opne:session open' 'help unlock:release'; do
    # shellcheck disable=SC2086
    run ${pair%:*}
    expect "did you mean: ${pair%:*}" 2 "*There is no verb *; did you mean 'holdfast ${pair#*:}'? *"
done
run xyzzy
expect "not what is like none" 2 "*There is no verb 'xyzzy'; 'holdfast help' lists all verbs.*"
run
expect "nothing at all shows the verbs, and is not a success" 2 '*Usage: holdfast VERB*acquire *'
bad "a duration without a unit" acquire policy/2 --ttl 300
run acquire policy/2 --ttl 300
expect "what it would be" 2 '*300 has no unit: write 300s for seconds*'
bad "a duration in two words" acquire policy/2 --ttl 5 min
run acquire policy/2 --ttl 5 min
expect "is told by its option" 2 '*--ttl: The duration 5 has no unit*'
bad "version without a resource" version
run version
expect "names the other version" 2 "*'holdfast --version'*"
bad "a noun without its verb" session
bad "a noun with an unknown verb" session opne
bad "help of an unknown verb is not a verb" session frobnicate
bad "an unknown option" acquire policy/2 --tll 5m
bad "an unknown option with a value" acquire policy/2 --tll=5m
bad "a short option" acquire policy/2 -t
bad "an option of another verb" who policy/2 --ttl 5m
bad "an option without its value" acquire policy/2 --purpose
bad "an option followed by an option" acquire policy/2 --purpose --mode shared
bad "a switch with a value" release policy/1 --all=yes
bad "an option given twice" acquire policy/2 --ttl 5m --ttl 6m
bad "no operand" acquire
bad "too many operands" who policy/1 policy/2
bad "an operand where there is none" list policy/1
bad "a resource without a slash" acquire policy
bad "an empty type" acquire /1
bad "an empty id" acquire policy/
bad "an empty resource" acquire ''
bad "a type in capitals" acquire Policy/1
bad "a type that is too long" acquire "$(long 65)/1"
bad "an id that is too long" acquire "policy/$(long 1025)"
bad "an id that is not UTF-8" acquire $'policy/\xff\xfe'
bad "an id with an overlong form" acquire $'policy/\xc0\xaf'
bad "an id with a line break" acquire $'policy/a\nb'
bad "an id with a terminal escape" acquire $'policy/\033[2J'
bad "an id with a C1 control character" acquire $'policy/\xc2\x9b2J'
bad "a purpose that is too long" acquire policy/2 --purpose "$(long 256)"
bad "a purpose with a control character" acquire policy/2 --purpose $'a\tb'
bad "a purpose that is not UTF-8" acquire policy/2 --purpose $'\xe4'
bad "an empty user" session open --user ''
bad "no user" session open
bad "a user that is too long" session open --user "$(long 256)"
bad "a name with a control character" session open --user u --name $'\a'
bad "an idle bound of 0" session open --user u --idle 0s
bad "a ttl of 0" acquire policy/2 --ttl 0s
bad "a negative ttl" acquire policy/2 --ttl -5s
bad "a ttl that overflows" acquire policy/2 --ttl 9223372036854775807d
bad "a ttl beyond 64 bits" acquire policy/2 --ttl 99999999999999999999s
bad "a ttl over a year" acquire policy/2 --ttl 367d
bad "a ttl without a unit" acquire policy/2 --ttl 30
bad "a ttl with an unknown unit" acquire policy/2 --ttl 3w
bad "a ttl that is no number" acquire policy/2 --ttl soon
bad "an empty ttl" acquire policy/2 --ttl ''
bad "an unknown mode" acquire policy/2 --mode write
bad "a resource named twice" acquire policy/2 policy/3 policy/2
# shellcheck disable=SC2046
bad "too many resources at once" acquire $(seq -f 'many/%.0f' 1025)
bad "nothing to release" release
bad "a resource released twice" release policy/1 policy/2 policy/1
check "which is named" grep -q 'policy/1 is named twice; name each resource once\.' <(tail -n 1 "$scratch/refusals")
bad "--all together with a resource" release policy/1 --all
bad "--fence for several" release policy/1 policy/2 --fence 3
bad "a fence of 0" release policy/1 --fence 0
bad "a negative fence" release policy/1 --fence -3
bad "a fence that is no number" release policy/1 --fence abc
bad "a fence beyond 64 bits" release policy/1 --fence 9223372036854775808
bad "hand-over to nobody" hand-over policy/1
bad "hand-over to what is no session" hand-over policy/1 --to bob
bad "hand-over to oneself" hand-over policy/1 --to "${alice%%.*}"
bad "decline to nobody" decline policy/1
bad "decline to oneself" decline policy/1 --to "${alice%%.*}"
bad "a save of a version 0" save paper/1 --version 0 --user u
bad "a save of a negative version" save paper/1 --version -1 --user u
bad "a save of a version that is no number" save paper/1 --version seven --user u
bad "a save of a version beyond 64 bits" save paper/1 --version 9223372036854775808 --user u
bad "a save that is new and has a version" save paper/1 --version 1 --new --user u
bad "a save that is new and gone" save paper/1 --new --gone --user u
bad "a save that says nothing of what was read" save paper/1 --user u
bad "a save by a user and a session" save paper/1 --new --user u --session "$alice"
bad "a save by a user with a fence" save paper/1 --new --user u --fence 3
bad "a save with a name and no user" save paper/1 --new --name u
bad "a save by an empty user" save paper/1 --new --user ''
bad "a save of nothing" save
bad "a save of two" save paper/1 paper/2 --new --user u
bad "a save that relies on itself" save paper/1 --new --rely paper/1=3 --user u
bad "a save that relies on one twice" save paper/1 --new --rely paper/2=3 --rely paper/2=3 --user u
for premise in paper/2 paper/2= paper/2=0 paper/2=-1 paper/2=new paper/2=9223372036854775808 paper=3 =3 "$alice=3"; do
    bad "a save that relies on ${premise/$alice/a session}" save paper/1 --new --rely "$premise" --user u
done
bad "the version of nothing" version
bad "the version of one named twice" version paper/1 paper/1
bad "the version of what is no resource" version paper
bad "force-release without a reason" force-release policy/1
bad "force-release with an empty reason" force-release policy/1 --reason ''
bad "type set without a policy" type set policy
bad "an unknown policy" type set policy --policy strict
bad "the policy none" type set policy --policy none
bad "a type with a slash" type set policy/1 --policy read-write
bad "an overlong type" type set "$(long 65)" --policy read-write
bad "a default ttl over the longest" type set draft --policy read-write --ttl 2h --max-ttl 1h
bad "a policy changed while locks live" type set policy --policy optimistic
bad "a malformed session" session beat --session hello
bad "a session with a short key" session beat --session "${alice%%.*}.abc"
bad "an event number that is none" events --after x
bad "a count of 0" events --count 0
bad "an interval of 0" watch --interval 0s
bad "a folder in place of a backup" restore "$scratch"
check "nobody speaks of URLs then" test "$(grep -c sqlite: <<<"$(tail -n 1 "$scratch/refusals")")" = 0
for verb in events watch list; do
    bad "$verb of an empty type" "$verb" --type ''
    check "$verb says so" grep -q -- '--type is empty: leave it out for all types, or name one\.' <(tail -n 1 "$scratch/refusals")
    bad "$verb of a type that is none" "$verb" --type 'BAD TYPE'
    bad "$verb of a resource in place of a type" "$verb" --type policy/1
    bad "$verb of an overlong type" "$verb" --type "$(long 65)"
done
bad "a count of 0" top --count 0
bad "an operand for top" top policy/1
bad "an unknown URL scheme" list --store carrier-pigeon:coop
bad "a URL without a scheme" list --store locks.db
bad "an empty URL" list --store ''
bad "a sqlite URL without a path" list --store sqlite:
bad "a URL that is too long" list --store "sqlite:/$(long 5000)"
bad "a session where a resource should be" acquire "$alice"

check "in JSON every one of them is a refusal" python3 -c 'import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    d = json.loads(line)
    assert d["code"] in ("invalid", "too_large") and d["message"].endswith("."), d' "$scratch/refusals"

run type set old --policy optimistic
run acquire old/1
expect "an optimistic type takes no locks" 2 '*optimistic*'
run type set edit --policy exclusive-write --max-ttl 1h
run acquire edit/1 --mode shared
expect "an exclusive type takes no shared locks" 2 '*exclusive*'
run acquire edit/1 --ttl 2h
expect "a ttl over the type's longest" 2 '*ttl*longest*'
run list --json
expect_json "none of this has acquired or released anything" 0 "[(l['resource'], l['fence']) for l in d['locks']] == [('policy/1', $fence)]"
run events --after "$last" --json
expect_json "nor left an event but those of type set" 0 '{e["kind"] for e in d["events"]} == {"type_set"}'

# Exit 1

run type get unheard-of
expect "an unknown type is not found" 1 'holdfast: *unheard-of*'
run hand-over policy/1 --to 0123456789abcdef0123456789abcdef
expect "hand-over to an unknown session is not found" 1 'holdfast: *0123456789abcdef0123456789abcdef*'

run version paper/1
expect "nothing was saved by any of that" 0 'paper/1 was never saved.'

# Exit 5

as nobody
run acquire policy/2
expect "without a session acquire says how to get one" 5 "holdfast: No session is given or remembered for ${store%%:*}:*; open one with 'holdfast session open --user NAME'*"
run acquire policy/2 --json
expect_json "in JSON too" 5 'd["code"] == "unauthenticated"'
last_digit=${alice: -1}
wrong=${alice%?}$(printf %x $((16#$last_digit ^ 1)))
echo "${wrong#*.}" >>"$scratch/keys"
for verb in 'acquire policy/2' 'release policy/1' 'release --all' 'renew policy/1' 'downgrade policy/1' 'holds policy/1' \
    'request policy/1' 'save policy/1' "hand-over policy/1 --to ${alice%%.*}" "decline policy/1 --to ${alice%%.*}" 'force-release policy/1 --reason x' 'session beat' 'session close'; do
    # shellcheck disable=SC2086
    run $verb --session "$wrong"
    expect "a key wrong by one bit is denied: ${verb%% --to*}" 5 "holdfast: *key*${alice%%.*}*"
done
run holds policy/1 --session "$alice"
expect "the lock is still there after all that" 0

# Exit 8

as alice
run release policy/1 --fence $((fence - 1))
expect "an earlier fence releases nothing" 8 "holdfast: *$fence*"
run renew policy/2
expect "renew of what is not held" 8 'holdfast: *does not hold policy/2*'
run release policy/2 --json
expect_json "release of what is not held, in JSON" 8 'd["code"] == "not_held" and d["resource"] == "policy/2"'
run request policy/2
expect "request of what nobody holds" 8 'holdfast: Nobody else holds policy/2; acquire it.'
run force-release policy/2 --reason x
expect "force-release of what nobody holds" 8 'holdfast: Nobody holds policy/2*'
run force-release policy/1 --reason x --fence $((fence - 1))
expect "force-release with an earlier fence" 8 'holdfast: Nobody holds policy/1 with fence *; Alice Chen holds it with fence *'
as late
run session open --user late --idle 50ms
late=$out
run acquire policy/3
sleep 0.1
run session beat
expect "a session past its idle bound stays dead" 8 "holdfast: *expired*session open*"
run session beat --json
expect_json "in JSON it is expired" 8 'd["code"] == "expired"'
as alice
run acquire policy/3
expect "its lock is free without a sweep" 0 'Acquired policy/3*'
run hand-over policy/3 --to "${late%%.*}"
expect "nothing is handed over to the dead" 8 'holdfast: *ended*'
run acquire policy/4 --ttl 50ms
sleep 0.1
run holds policy/4
expect "a lock past its own bound is not held" 8 'holdfast: *policy/4*'
run session beat
expect "and the next beat tells that it was lost" 0 '*Lost policy/4: it expired.'
as dora
run session open --user dora --name "Dora Diaz"
run acquire policy/4
as alice
run session beat
expect "or who took it since" 0 '*Lost policy/4: it expired, and Dora Diaz has acquired it since.'

# Exit 6: stores that can't be used, left as they were

unusable() {
    local sentence=$1 file=$2 before
    before=$(ls -laR "$file" 2>&1 && sha256sum "$file" 2>&1)
    run list --store "sqlite:$file"
    expect "$sentence" "${3:-6}" 'holdfast: *'
    check "$sentence: it is left as it was" test "$(ls -laR "$file" 2>&1 && sha256sum "$file" 2>&1)" = "$before"
}
mkdir "$scratch/folder"
unusable "a directory as SQLite path" "$scratch/folder"
unusable "a path in a folder that is not there" "$scratch/no/such/locks.db"
unusable "a path that can't be written" /proc/locks.db
head -c 8192 /dev/urandom >"$scratch/random.db"
unusable "a file that is no database" "$scratch/random.db"
python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1]); db.execute("CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT)")
db.execute("INSERT INTO customer VALUES (1, \"Ann\")"); db.commit()' "$scratch/foreign.db"
unusable "the database of another program" "$scratch/foreign.db"
cp "$scratch/locks.db" "$scratch/corrupt.db"
printf 'garbage, garbage, garbage' | dd of="$scratch/corrupt.db" bs=1 seek=20 conv=notrunc status=none
unusable "a corrupt database" "$scratch/corrupt.db"
run list --store postgres://localhost/none
expect "a store whose module is not there says so" 6 'holdfast: *'
if ! served; then
    run restore "$scratch/none" --replace
    expect "restore from a file that is not there" 2 'holdfast: *'
    run restore "$scratch/foreign.db" --replace
    expect "restore from the database of another program" 6 'holdfast: *'
    run restore "$scratch/random.db" --replace
    expect "restore from what is no backup" 6 'holdfast: *'
fi
run holds policy/1
expect "after refused restores everything is still there" 0
if ! served; then
    run backup "$scratch/no/such/copy"
    expect "backup into a folder that is not there" 6 'holdfast: *'
fi
for missing in "$scratch/missing.db" "$scratch/no/such/missing.db"; do
    run backup "$scratch/of-nothing" --store "sqlite:$missing?namespace=other"
    expect "backup of a store that is not there" 2 "holdfast: There is no store sqlite:$missing?namespace=other; nothing was backed up."
    check "which makes neither" test ! -e "$missing" -a ! -e "$scratch/of-nothing"
done
HOLDFAST_STORE='' HOLDFAST_DATA=$scratch/empty run backup "$scratch/of-nothing"
expect "nor the store that is used when none is named" 2 "holdfast: There is no store sqlite:$scratch/empty/holdfast.db; nothing was backed up."
check "of which nothing is made either" test ! -e "$scratch/empty/holdfast.db" -a ! -e "$scratch/of-nothing"
tables() { python3 -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("SELECT name FROM sqlite_master ORDER BY name"))' "$1"; }
run list --store "sqlite:$scratch/first.db"
before=$(tables "$scratch/first.db")
for prefix in '' trace+; do
    run backup "$scratch/of-nothing" --store "${prefix}sqlite:$scratch/first.db?namespace=other"
    expect "backup of a namespace that the file does not have" 2 "holdfast: There is no store sqlite:$scratch/first.db?namespace=other; nothing was backed up."
    check "no tables are made for it" test "$(tables "$scratch/first.db")" = "$before" -a ! -e "$scratch/of-nothing"
done
: >"$scratch/nothing.db"
run backup "$scratch/of-nothing" --store "sqlite:$scratch/nothing.db"
expect "backup of a file with nothing in it" 2 "holdfast: There is no store sqlite:$scratch/nothing.db; nothing was backed up."
check "which stays as it is" test ! -s "$scratch/nothing.db" -a ! -e "$scratch/nothing.db-wal" -a ! -e "$scratch/nothing.db-reserve" -a ! -e "$scratch/of-nothing"
run backup "$scratch/of-foreign" --store "sqlite:$scratch/foreign.db"
expect "backup of the database of another program" 6 'holdfast: *another program*'
run backup "$scratch/of-first" --store "trace+sqlite:$scratch/first.db"
expect "a store that is there is backed up, however little is in it" 0 '*Backed *'
check "with its tables" test "$(tables "$scratch/of-first")" = "$before"

# Where it can't make folders: the first reason, of which the others follow

HOLDFAST_STORE='' HOLDFAST_DATA=/sys/holdfast/a/b/c run list
expect "a folder that can't be made: why" 6 '*The folder /sys/holdfast/a/b/c could not be created: *'
check "it is not that one of those above it is missing" eval '[[ $err != *"No such file"* ]]'
HOLDFAST_DATA=/sys/holdfast/a/b/c run serve --listen "unix:$scratch/s" --store "sqlite:$scratch/s.db"
expect "nor with a server" 6 '*/sys/holdfast/a/b/c could not be made: *'
check "the same reason" eval '[[ $err != *"No such file"* ]]'

# What others have put where the reserve belongs

for kind in link name pipe; do
    echo precious >"$scratch/target"
    case $kind in
        link) ln -s target "$scratch/$kind.db-reserve" ;;
        name) ln "$scratch/target" "$scratch/$kind.db-reserve" ;;
        pipe) mkfifo "$scratch/$kind.db-reserve" ;;
    esac
    HOLDFAST_STORE=sqlite:$scratch/$kind.db run session open --user alice
    expect "a $kind in the place of the reserve is no hindrance" 0
    check "and nobody's file grows" test "$(stat -c %s "$scratch/target")" = 9
    rm -f "$scratch/target"
done

# A token on its way

for url in http://0.0.0.0:1 trace+http://0.0.0.0:1/ 'http://0.0.0.0:1?timeout=1s'; do
    HOLDFAST_TOKEN=5ca1ab1e run list --store "$url"
    expect "HOLDFAST_TOKEN by plain http: $url" 6 'holdfast: Warning: HOLDFAST_TOKEN is sent to 0.0.0.0:1 unencrypted, *'
    check "once" test "$(grep -c Warning "$scratch/err")" = 1
done
for url in http://127.0.0.1:1 http://localhost:1 'http://[::1]:1' https://0.0.0.0:1 "http://x?socket=$scratch/none"; do
    HOLDFAST_TOKEN=5ca1ab1e run list --store "$url"
    expect "not $url" 6 '*'
    check "nothing is said" eval '[[ $err != *Warning* ]]'
done
HOLDFAST_TOKEN='' run list --store http://0.0.0.0:1
check "nor without one" eval '[[ $err != *Warning* ]]'

finish
