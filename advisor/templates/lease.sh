#!/bin/sh
# The tests of a lease, for {{type}}. Takes the URL of a store; without one, a SQLite file of its own.
# Works on a key of its own name, so it may be run beside others.
set -u
: "${HOLDFAST:=holdfast}"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export HOLDFAST_STORE="${1:-sqlite:$scratch/leases.db}" HOLDFAST_STATE="$scratch"
key={{type}}/test-$$
failed=0

check() { # SENTENCE WANTED GOT
    if [ "$2" = "$3" ]; then echo "ok - $1"; else echo "not ok - $1 (wanted $2, got $3)"; failed=1; fi
}
code() { "$@" >"$scratch/out" 2>&1; echo $?; }
hold() { # OPTION...: someone holds it, until $scratch/go is there
    rm -f "$scratch/held" "$scratch/go"
    "$HOLDFAST" run "$key" "$@" -- sh -c '>"$0/held"; until [ -e "$0/go" ]; do sleep 0.1; done' "$scratch" 2>"$scratch/lost" &
    holder=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -e "$scratch/held" ] && return; sleep 0.5; done
    echo "not ok - the store answers"; exit 1
}

# 1
check "the job's own exit code comes back" 7 "$(code "$HOLDFAST" run "$key" -- sh -c 'exit 7')"

# 2
hold
check "a second job is refused at once" 3 "$(code "$HOLDFAST" run "$key" -- echo ran)"
check "... and told who has it" 1 "$(grep -c 'is held by' "$scratch/out")"
check "another key is free" 0 "$(code "$HOLDFAST" run "$key-other" -- true)"

# 3
"$HOLDFAST" run "$key" --wait 1m -- true & waiter=$!
>"$scratch/go"
wait $holder
wait $waiter
check "whoever waits gets it when the first is done" 0 $?

# 4
hold --hold 1s
wait $holder
check "at the end of --hold the job is ended" 8 $?
check "... and its key is free" 0 "$(code "$HOLDFAST" run "$key" --wait 1m -- true)"

# 5
hold
kill -9 $holder
wait $holder 2>/dev/null
check "the key of one that was killed is free soon" 0 "$(code "$HOLDFAST" run "$key" --wait 1m -- true)"
exit $failed
