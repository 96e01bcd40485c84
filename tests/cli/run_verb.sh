#!/bin/bash
# holdfast run: a command under a lease or an offline lock; exit codes, signals, loss, and what happens when run itself is killed.
source "$(dirname "$0")/lib.sh"

# Waits until a file is there.
until_there() { for _ in $(seq 2000); do [[ -e $1 ]] && return 0; sleep 0.02; done; return 1; }
# Waits until a process is gone.
until_gone() { for _ in $(seq 2000); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.02; done; return 1; }
# KEY [OPTION...]: a holder in the background that says when it runs; its process id in $holder.
hold() {
    rm -f "$scratch/held"
    "$HOLDFAST" run "$@" -- sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep 60' "$scratch/held" >"$scratch/held.out" 2>&1 &
    holder=$!
    until_there "$scratch/held"
}
let_go() { kill -TERM "$holder"; wait "$holder"; }

# Its session is to beat while all of the rest is played.
"$HOLDFAST" run --lock policy/beats -- sleep 60 >"$scratch/beats.out" 2>&1 &
beats=$!
until_expires() { "$HOLDFAST" who policy/beats --json 2>/dev/null | sed -n 's/.*"expires":"\([^"]*\)".*/\1/p'; }
for _ in $(seq 2000); do first_expires=$(until_expires); [[ -n $first_expires ]] && break; sleep 0.02; done

run run nightly -- sh -c 'echo "fence $HOLDFAST_FENCE"; echo err >&2; exit 7'
expect "the command's output and exit code are those of run, and it knows its fence" 7 'fence [0-9]*err'
first=${out#fence }
run run nightly -- sh -c 'echo "$HOLDFAST_FENCE"'
check "the fence grows" test "$out" -gt "$first"
run run nightly -- sh -c 'kill -USR1 $$'
expect "a command that a signal ended is 128 and its number" 138
run run nightly true
expect "without options the command needs no --" 0 ''
HOLDFAST_FENCE=1 run run --wait 1s nightly --hold 5s -- printf '%s,' --json -- a
expect "what follows -- is the command's" 0 '--json,--,a,'

hold nightly
run run nightly -- echo no
expect "a second one is refused, with who and since when" 3 'holdfast: "nightly" is held by * on * since * UTC; try again later.'
run run nightly --busy-code 75 -- echo no
expect "with the code of one's own" 75
run run nightly --json -- echo no
expect_json "or in JSON" 3 'd["code"] == "timeout" and "nightly" in d["message"]'
run run nightly --wait 50ms -- echo no
expect "the wait may be over" 3 '*the time to wait for it is over*'
run run other -- echo yes
expect "another key is free" 0 yes
run who lease/nightly
expect "who tells of it" 0 '*lease/nightly*'
"$HOLDFAST" run nightly --wait forever -- echo got >"$scratch/waited" 2>&1 &
waiter=$!
sleep 0.2
let_go
code=$?
check "TERM is passed on to the command" test "$code" = 143
wait "$waiter"
check "whoever waits gets it then" grep -qx got "$scratch/waited"

hold nightly
"$HOLDFAST" run nightly --wait forever -- echo got >"$scratch/waited" 2>&1 &
waiter=$!
for _ in $(seq 2000); do # until it looks for signals itself; a shell that is still to become it blocks them too
    blocked=$(sed -n 's/^SigBlk:\s*//p' "/proc/$waiter/status")
    [[ $(readlink "/proc/$waiter/exe") == */holdfast ]] && ((16#${blocked:-0} & 1 << 14)) && break
    sleep 0.02
done
kill -TERM "$waiter"
wait "$waiter"
code=$? out=$(cat "$scratch/waited") err=
expect "a signal ends the wait, and the command is not run" 143 '*not run*'
child=$(cat "$scratch/held")
kill -KILL "$holder"
wait "$holder" 2>/dev/null
check "if run is killed, so is its command" until_gone "$child"
run run nightly --wait 60s -- echo mine
expect "and its key is free when its session is dead" 0 mine

run run slow --hold 100ms -- sleep 60
expect "at the end of --hold the command is ended" 8 '*max_hold*The command was ended.'
run run slow --hold 100ms --grace 100ms -- sh -c 'trap "" TERM; sleep 3'
expect "by KILL if it does not mind TERM" 8 '*The command was ended.'
hold lost
run force-release lease/lost --reason test
wait "$holder"
code=$? out=$(cat "$scratch/held.out") err=
expect "what is lost ends the command" 8 '*was lost (forced), by *The command was ended.'

run run --lock policy/7 --purpose night -- "$HOLDFAST" who policy/7
expect "--lock takes an offline lock, with its purpose" 0 '*policy/7*night*'
# shellcheck disable=SC2016 # for the shell that is run
run run --lock policy/7 -- sh -c '"$HOLDFAST" save policy/7 --fence "$HOLDFAST_FENCE" && "$HOLDFAST" holds policy/7'
expect "its session is the command's, which can save by it" 0 'Saved policy/7: version 1*policy/7*'
run who policy/7
expect "for as long as the command runs" 0 'policy/7 is free.'
hold --lock policy/7
run run --lock policy/7 -- echo no
expect "a held one is refused, and the holder named" 3 'holdfast: policy/7 is being edited by *'
run run --lock policy/7 --wait 150ms --busy-code 9 -- echo no
expect "also after a wait" 9
run force-release policy/7 --reason test
wait "$holder"
code=$? out=$(cat "$scratch/held.out") err=
expect "one that is lost ends the command" 8 '*policy/7 was lost*The command was ended.'

last_expires=$(until_expires)
check "the session of --lock beats while the command runs" test "$first_expires" '<' "$last_expires"
kill -TERM "$beats"
wait "$beats"

run run nightly -- no-such-command
expect "a command that is not there is 127" 127 "*no-such-command*can't be run*"
echo text >"$scratch/plain"
run run nightly -- "$scratch/plain"
expect "one that can't be run is 126" 126 "*can't be run*"
run run nightly
expect "no command" 2 '*holdfast run KEY -- COMMAND*'
run run --lock policy/7
expect "no command with --lock" 2 '*needs an operand*'
run run '' -- true
expect "an empty key" 2 '*empty*'
run run "$(printf 'x%.0s' {1..300})" -- true
expect "a long key" 2 '*at most 255 bytes*'
run run nightly --wait -1s -- true
expect "a negative wait" 2 '*--wait*'
run run nightly --hold 0s -- true
expect "holding for no time" 2 '*'
run run nightly --busy-code 256 -- true
expect "a code that is none" 2 '*--busy-code*'
run run nightly --purpose x -- true
expect "a purpose without a lock" 2 '*--purpose*'
run run nightly --store memory: -- true
expect "a store that nobody else sees" 2 '*only inside one process*'
finish
