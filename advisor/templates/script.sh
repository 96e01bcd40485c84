#!/bin/sh
# The six tests of a lock store, for {{type}}. Takes the URL of a store; without one, a SQLite file of its own.
# Works on a record of its own name, so it may be run beside others.
set -u
: "${HOLDFAST:=holdfast}"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export HOLDFAST_STORE="${1:-sqlite:$scratch/locks.db}" HOLDFAST_STATE="$scratch"
unset HOLDFAST_SESSION
record={{type}}/test-$$
failed=0

as() { session=$1; shift; HOLDFAST_SESSION=$session "$HOLDFAST" "$@"; }
open() { "$HOLDFAST" session open --user "$1" --name "$2" --idle 1m --no-remember; }
fence() { as "$1" acquire "$record" --json | sed 's/.*"fence":\([0-9]*\).*/\1/'; }
check() { # SENTENCE WANTED GOT
    if [ "$2" = "$3" ]; then echo "ok - $1"; else echo "not ok - $1 (wanted $2, got $3)"; failed=1; fi
}
code() { "$@" >"$scratch/out" 2>&1; echo $?; }
{{#policy}}

{{policy}}
{{/policy}}
alice=$(open alice "Alice Chen") || { echo "not ok - the store answers"; exit 1; }
bob=$(open bob "Bob Smith")

# 1
as "$alice" acquire "$record" >/dev/null 2>&1 & first=$!
as "$bob" acquire "$record" >/dev/null 2>&1 & second=$!
wait $first; first=$?
wait $second; second=$?
check "of two who acquire at once one gets it" 3 $((first + second))
if [ $first = 0 ]; then holder=$alice other=$bob; else holder=$bob other=$alice; fi

# 2
grant=$(fence "$holder")
check "who has it acquires again, and keeps the grant" "${grant:-a fence}" "$(fence "$holder")"
check "the other is refused at once, by name" 1 "$(as "$other" acquire "$record" 2>&1 | grep -c 'is being edited by')"

# 3
as "$holder" release "$record" >/dev/null
check "released, the other gets it" 0 "$(code as "$other" acquire "$record")"
as "$other" release "$record" >/dev/null

# 4
as "$holder" acquire "$record" --ttl 1s >/dev/null
sleep 2
check "when its time is over, the other gets it" 0 "$(code as "$other" acquire "$record")"

# 5
check "the session's end" 0 "$(code as "$other" session close)"
check "... releases what it held" 0 "$(code as "$holder" acquire "$record")"
as "$holder" release "$record" >/dev/null

# 6
check "saving without the lock is refused" 8 "$(code as "$holder" holds "$record")"
as "$holder" acquire "$record" >/dev/null
check "saving with the lock is not" 0 "$(code as "$holder" holds "$record")"
as "$holder" session close >/dev/null
exit $failed
