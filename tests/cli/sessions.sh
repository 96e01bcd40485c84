#!/bin/bash
# Which session counts, and how it is remembered; where the default store is.
source "$(dirname "$0")/lib.sh"

mode() { stat -c %a "$1"; }

# Remembering

as alice
run session open --user alice
alice=$out
run session beat
expect "an opened session is remembered" 0 'The session lives until *'
check "the file is its owner's alone" test "$(mode "$HOLDFAST_STATE/sessions")" = 600
check "so is the folder" test "$(mode "$HOLDFAST_STATE")" = 700
check "nothing else is left beside it but its lock" test "$(ls "$HOLDFAST_STATE" | tr '\n' ' ')" = 'sessions sessions.lock '
(cd "$scratch" && run session beat --store sqlite:locks.db && expect "a relative path is the same store" 0 && exit "$failures")
failures=$((failures + $?))
ln -s "$scratch/locks.db" "$scratch/link.db"
run session beat --store "sqlite:$scratch/./link.db"
expect "so is another way to the same file" 0
run session beat --store "sqlite:$scratch/other.db"
expect "another store has another session" 5 '*No session is given or remembered for sqlite:*other.db*'
run session open --user ann --store "sqlite:$scratch/other.db"
run session list --json
expect_json "both are remembered: the first" 0 '[s["user"] for s in d["sessions"]] == ["alice"]'
run session beat --json
expect_json "still lives" 0 'd["locks"] == 0'
check "one line for each store" test "$(wc -l <"$HOLDFAST_STATE/sessions")" = 2
run session open --user alice --no-remember
second=$out
run acquire doc/1 --json
expect_json "--no-remember leaves the remembered one" 0 "d['locks'][0]['session'] == '${alice%%.*}'"

# Which counts

HOLDFAST_SESSION=$second run acquire doc/2 --json
expect_json "HOLDFAST_SESSION comes before the remembered one" 0 "d['locks'][0]['session'] == '${second%%.*}'"
HOLDFAST_SESSION=$second run acquire doc/3 --session "$alice" --json
expect_json "--session comes before both" 0 "d['locks'][0]['session'] == '${alice%%.*}'"
HOLDFAST_SESSION='' run acquire doc/4 --json
expect_json "an empty HOLDFAST_SESSION counts as none" 0 "d['locks'][0]['session'] == '${alice%%.*}'"
HOLDFAST_SESSION=nonsense run acquire doc/5
expect "a malformed HOLDFAST_SESSION is not passed over, and it is named" 2 'holdfast: HOLDFAST_SESSION holds no session: *'
run acquire doc/5 --session nonsense
expect "so is a malformed --session" 2 'holdfast: --session holds no session: *'

# Replacing

HOLDFAST_SESSION=$second run session open --user alice --replaces remembered --json
third=$(field 'd["id"]')
run list --user alice --json
expect_json "--replaces remembered releases the remembered session's locks, whatever HOLDFAST_SESSION says" 0 '[l["resource"] for l in d["locks"]] == ["doc/2"]'
run session beat --session "$alice"
expect "and the old session is over" 8
run session open --user alice --replaces "$second" --no-remember
run list
expect "--replaces takes an ID.KEY too" 0 'No locks are held.'

# Files that can't be trusted

chmod 644 "$HOLDFAST_STATE/sessions"
run session beat
expect "a file that others can read is refused, with what to do" 5 "holdfast: $HOLDFAST_STATE/sessions can be read by others (mode 0644)*chmod 600*"
run session open --user alice
expect "a session is opened all the same" 0 "*could not be remembered: *chmod 600*"
chmod 600 "$HOLDFAST_STATE/sessions"
mv "$HOLDFAST_STATE/sessions" "$scratch/elsewhere"
ln -s "$scratch/elsewhere" "$HOLDFAST_STATE/sessions"
run session beat
expect "a symbolic link in its place is refused" 6 "holdfast: $HOLDFAST_STATE/sessions could not be read: *"
rm "$HOLDFAST_STATE/sessions" && mv "$scratch/elsewhere" "$HOLDFAST_STATE/sessions"
HOLDFAST_STATE=/proc/none run session open --user alice
expect "a state folder that can't be made is told" 0 '*could not be remembered: *HOLDFAST_SESSION*'

# Forgetting

run session close
expect "session close ends it" 0 'Closed the session; *'
run session beat
expect "and forgets it" 5 '*No session is given or remembered*'
check "but not that of the other store" grep -q other.db "$HOLDFAST_STATE/sessions"
run session open --user alice
run session open --user alice --no-remember
fourth=$out
run session close --session "$fourth"
run session beat
expect "closing another session forgets nothing" 0
run session close
run session close --session "$fourth"
expect "closing what has ended is harmless" 0
run session open --user alice --idle 1ms
sleep 0.02
run session close
run session beat
expect "a dead session is forgotten when closed" 5

# Many at once

as crowd
pids=()
for i in $(seq 12); do
    "$HOLDFAST" session open --user "user$i" --store "sqlite:$scratch/crowd$i.db" >/dev/null 2>"$scratch/crowd$i.err" &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid"; done
check "twelve that remember at once all do" test "$(grep -c . "$HOLDFAST_STATE/sessions")" = 12
check "each line is whole" test "$(grep -cP '^sqlite:/.*\t[0-9a-f]{32}\.[0-9a-f]{32,128}$' "$HOLDFAST_STATE/sessions")" = 12

# The default store and folders

unset HOLDFAST_STORE HOLDFAST_STATE
run session open --user dora
check "the default store is in the data directory" test -f "$HOME/.local/share/holdfast/holdfast.db"
check "the data directory is its owner's alone" test "$(mode "$HOME/.local/share/holdfast")" = 700
check "the session is in the state directory" test -f "$HOME/.local/state/holdfast/sessions"
XDG_DATA_HOME=$scratch/xdg XDG_STATE_HOME=$scratch/xdg run session open --user dora
check "XDG_DATA_HOME is heard" test -f "$scratch/xdg/holdfast/holdfast.db"
check "XDG_STATE_HOME is heard" test -f "$scratch/xdg/holdfast/sessions"
HOLDFAST_DATA=$scratch/own/data XDG_DATA_HOME=$scratch/xdg2 run session list
check "HOLDFAST_DATA comes before it" test -f "$scratch/own/data/holdfast.db"
HOLDFAST_DATA=/$scratch/slashes run list
expect "a folder may be named with two slashes in front" 0 'No locks are held.'
HOME=/$scratch/root run list
expect "and so may the home" 0 'No locks are held.'
run list --store sqlite://nowhere.such/locks.db
expect "sqlite://PATH is a path from the root, and no host" 6 "holdfast: //nowhere.such/locks.db can't be written: No such file or directory."
XDG_DATA_HOME=relative run session beat
expect "a relative XDG_DATA_HOME is ignored" 0
HOLDFAST_DATA=/proc/none run list
expect "a data directory that can't be made is told" 6 'holdfast: The folder /proc/none could not be created: *'
HOLDFAST_STORE='' run session beat
expect "an empty HOLDFAST_STORE counts as none" 0
run session open --user eve --store memory:
check "a memory: store is not remembered" test -z "$(grep memory: "$HOME/.local/state/holdfast/sessions")"
run acquire doc/1 --store "trace+sqlite:$HOME/.local/share/holdfast/holdfast.db"
expect "trace+ is the same store" 0 '*Acquired doc/1*'
run session open --user finn --store "trace+sqlite:$scratch/locks.db"
expect "a trace shows what is asked of the store" 0 '*session-open*'

finish
