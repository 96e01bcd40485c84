#!/bin/bash
# Where the output goes: pipes, full disks, closed files, terminals that redraw, and events as they come.
source "$(dirname "$0")/lib.sh"

as alice
run session open --user alice --name "Alice Chen"
run acquire policy/12345 --purpose renewal

# Names that would turn the rest of a line around, or break it

turn=$'\u202e' break=$'\u2028'
odd() { [[ $(cat "$scratch/out" "$scratch/err") == *["$turn$break"]* ]]; }
as eve
run session open --user eve --name "Eve${turn}mallory"
run acquire "policy/1${break}2" --purpose "x${turn}y"
expect "so is what they take" 0 '*policy/1\\u20282: Eve\\u202emallory holds it*'
odd; check "without such characters" test $? = 1
as alice
run acquire "policy/1${break}2"
expect "a refusal shows them" 3 'holdfast: policy/1\\u20282 is being edited by Eve\\u202emallory since * ("x\\u202ey");*'
for verb in list "who policy/1${break}2" events 'top --count 1'; do
    # shellcheck disable=SC2086
    run $verb
    check "$(cat -v <<<"$verb") shows them" test $code = 0 -a "$(grep -c 'u202e' "$scratch/out")" -gt 0
    odd; check "and has none" test $? = 1
done
run request "policy/1${break}2" --message "please${turn}"
expect "who is asked is shown" 0 'Asked Eve\\u202emallory for policy/1\\u20282;*'
as eve
run session beat
expect "so is what is asked for, in words that a shell reads back" 0 "*Alice Chen asks for policy/1\\\\u20282: \"please\\\\u202e\". To hand it over: holdfast hand-over \$'policy/1\\\\u20282' --to *"
odd; check "without such characters" test $? = 1
run list --json
expect_json "data stays as it is" 0 'any(l["name"] == "Eve\u202emallory" and l["resource"] == "policy/1\u20282" for l in d["locks"])'
run session close
as alice

# Output that can't be written

"$HOLDFAST" list >/dev/full 2>"$scratch/err"
code=$? out='' err=$(cat "$scratch/err")
expect "a full disk is told" 1 'holdfast: *could not be written: No space left on device.'
for verb in events 'events --json' 'events --follow --interval 20ms' 'top --count 1 --json'; do
    # shellcheck disable=SC2086
    timeout 20 "$HOLDFAST" $verb >/dev/full 2>"$scratch/err"
    code=$? err=$(cat "$scratch/err")
    expect "also by $verb, where more than one try to write fails" 1 'holdfast: *could not be written: No space left on device.'
done
"$HOLDFAST" list >&- 2>"$scratch/err"
code=$? err=$(cat "$scratch/err")
expect "a closed stdout is told" 1 'holdfast: *could not be written: *'
"$HOLDFAST" acquire policy/9 --session nonsense 2>&-
code=$? err=''
expect "a closed stderr changes nothing" 2
run list
expect "nothing was written into the store's file instead" 0 '*policy/12345*'
for i in $(seq 300); do echo "bulk/$i"; done | xargs "$HOLDFAST" acquire >/dev/null
for i in 1 2 3 4 5; do
    "$HOLDFAST" list 2>>"$scratch/pipe" | head -n 1 >/dev/null
    echo "${PIPESTATUS[0]}" >>"$scratch/codes"
    "$HOLDFAST" events --json 2>>"$scratch/pipe" | head -c 1 >/dev/null
done
check "a reader that goes away is no reason to complain" test ! -s "$scratch/pipe"
check "nor a failure" test "$(sort -u "$scratch/codes")" = 0
seq -f 'bulk/%.0f' 301 1200 | xargs "$HOLDFAST" acquire >/dev/null
run list --json
expect_json "a list of more than a page is one object" 0 'len({l["resource"] for l in d["locks"]}) == len(d["locks"]) == 1201'
run list
check "and one table with one heading" test "$(grep -c ^RESOURCE "$scratch/out") $(wc -l <"$scratch/out")" = '1 1202'
run release --all
expect "release --all of many" 0 'Released 1201 locks.'

# A limit on the size of files, as on a full disk

if ! served; then
    mine=$HOLDFAST_STORE
    export HOLDFAST_STORE=sqlite:$scratch/small.db
    run session open --user alice
    for batch in 1 2 3 4 5 6; do
        # shellcheck disable=SC2046
        (ulimit -f 512 && exec "$HOLDFAST" acquire $(seq -f "small/$batch-%.0f" 300)) >"$scratch/out" 2>"$scratch/err"
        code=$? out='' err=$(cat "$scratch/err")
        [[ $code == 0 ]] || break
    done
    expect "a limit on files is like a full disk, and ends nobody" 6 '*The disk is full: *Releasing and beating still work.'
    (ulimit -f 512 && exec "$HOLDFAST" release --all) >"$scratch/out" 2>"$scratch/err"
    code=$? out=$(cat "$scratch/out") err=$(cat "$scratch/err")
    expect "releasing works there" 0 'Released [0-9]* locks.'
    (ulimit -f 1 && "$HOLDFAST" help >"$scratch/listing") 2>"$scratch/err"
    code=$? out='' err=$(cat "$scratch/err")
    expect "so is an answer that is cut off told" 1 '*could not be written: File too large.'
    export HOLDFAST_STORE=$mine
fi

# Following

follow() { # FILE ARGUMENT...: in the background, until it has seen its events; its trace goes into a file of its own
    local file=$1
    shift
    : >"$scratch/trace"
    # timeout sends SIGCONT after the signal it passes on; if that meets the leak checker as it stops the process at
    # exit, the two wait for ever. So no leak check here.
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 timeout -k 5 40 "$HOLDFAST" "$@" --store "trace+$store" \
        >"$file" 2>"$scratch/trace" &
    following=$!
}
begun() { # it has looked where the present is and once more after that
    local _
    for _ in $(seq 400); do
        [[ $(grep -c '^events ' "$scratch/trace") -ge 2 ]] && return
        sleep 0.05
    done
    return 1
}
complained() { grep -qvE '^(batch of|events) ' "$scratch/trace"; }
until_lines() { # FILE COUNT
    local _
    for _ in $(seq 400); do
        [[ -f $1 && $(wc -l <"$1") -ge $2 ]] && return
        sleep 0.05
    done
    return 1
}

follow "$scratch/watched" watch --interval 20ms --count 2
check "watch looks at once" begun
run acquire policy/1 --purpose "a new one"
run release policy/1
wait "$following"
check "watch ends after --count events" test $? = 0
out=$(cat "$scratch/watched")
check "watch starts at the present and shows what comes, a line each" test "$(wc -l <"$scratch/watched")" = 2
check "and nothing else" eval '! complained'
expect "each line tells kind, resource, who and why" 0 '*acquired*policy/1*alice*"a new one"*released*policy/1*alice*'
follow "$scratch/watched" watch --interval 20ms --count 1 --json --type doc
begun
run acquire policy/1
run acquire doc/1
wait "$following"
cp "$scratch/watched" "$scratch/out"
code=0 err=''
expect_json "watch --json prints an event a line, of the type asked for" 0 'd["kind"] == "acquired" and d["resource"] == "doc/1"'
run events --json
last=$(field 'd["events"][-1]["seq"]')
follow "$scratch/watched" events --follow --after $((last - 1)) --interval 20ms --json
check "events --follow shows what there is" until_lines "$scratch/watched" 1
run release doc/1
check "and what comes" until_lines "$scratch/watched" 2
kill -TERM "$following"
wait "$following"
: >"$scratch/trace"
"$HOLDFAST" watch --interval 20ms --store "trace+$store" >"$scratch/watched" 2>"$scratch/trace" &
watcher=$!
begun
kill -TERM "$watcher"
wait "$watcher"
check "watch ends by SIGTERM with 0" test $? = 0
{
    timeout 60 "$HOLDFAST" watch --interval 20ms
    echo $? >"$scratch/left"
} | : &
check "watch ends when its reader has gone, with no event needed" until_lines "$scratch/left" 1
check "and that is no failure" test "$(cat "$scratch/left")" = 0

# On a terminal

as alice
python3 "$HF_SOURCE_ROOT/tests/cli/terminal.py" "$HOLDFAST"
code=$?
check "the terminal tests ran" test "$code" = 0

finish
