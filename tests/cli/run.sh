#!/bin/bash
# make run: a server on SQLite below the build directory, whatever the environment and files of settings say, until Ctrl-C.
source "$(dirname "$0")/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
export HOLDFAST_STORE=http://127.0.0.1:7420 HOLDFAST_LISTEN=0.0.0.0:7420 HOLDFAST_DATA=$scratch/elsewhere HOLDFAST_LOG=json \
    HOLDFAST_TOKEN=nonsense HOLDFAST_CONFIG=$scratch/none.ini
mkdir -p "$HOME/.config/holdfast"
echo 'store = memory:' >"$HOME/.config/holdfast/holdfast.ini"

set -m # a job is a process group, as in a terminal
trap 'kill -KILL -- "-$job" 2>/dev/null; rm -rf "$scratch"' EXIT
starts() {
    rm -f "$scratch/out"
    make -C "$HF_SOURCE_ROOT" --no-print-directory -o build run BUILD="$(realpath --relative-to "$HF_SOURCE_ROOT" "$(dirname "$HOLDFAST")")" \
        RUN="$scratch/run" >"$scratch/out" 2>"$scratch/err" </dev/null &
    job=$!
    until grep -qs 'token create' "$scratch/out" || ! kill -0 "$job" 2>/dev/null; do sleep 0.05; done
}
starts
out=$(cat "$scratch/out") err=$(cat "$scratch/err") code=
expect "it says where it serves, that Ctrl-C stops it, where the admin token is, and what to try" '' \
    "holdfast serves on http://127.0.0.1:*. Ctrl-C stops it.*The admin token*is in $scratch/run/admin-token.*curl*policy/12345*"
check "the locks are in SQLite, below the build directory" grep -q "The store is open. store=sqlite:$scratch/run/holdfast.db " "$scratch/err"
check "what it keeps is there" test -s "$scratch/run/holdfast.db"
check "and nowhere else" test ! -e "$scratch/elsewhere"
url=$(sed -nE 's/^holdfast serves on (http:[^ ]*)\. Ctrl-C.*/\1/p' "$scratch/out")
out=$(curl -s "$url/")
code=$?
expect "a browser is shown a page" 0 '<!doctype html>*holdfast*'
grep '^  ' "$scratch/out" | grep -v /v1/events >"$scratch/lines"
out=$(bash "$scratch/lines" 2>"$scratch/told")
code=$?
err=$(cat "$scratch/told")
expect "the lines to try do what they say, in the same terminal's environment" 0 '*"purpose":"renewal"*is being edited by alice since*"user":"alice"*'
sed -n '/^    token=.*admin-token/,/^$/p' "$HF_SOURCE_ROOT/README.md" |
    sed "s|build/run|$scratch/run|; s|http://127.0.0.1:7420|$url|; s|12345|readme|" >"$scratch/readme"
out=$(bash "$scratch/readme" 2>"$scratch/told")
code=$?
err=$(cat "$scratch/told")
expect "and so do the lines of README.md" 0 '*"purpose":"renewal"*is being edited by alice since*'
kill -INT -- "-$job"
wait "$job"
err=$(cat "$scratch/err")
check "Ctrl-C stops it in good order" grep -q 'Stopped\.$' "$scratch/err"
check "and nobody serves there any more" eval '! curl -s "$url/" >"$scratch/gone"'

starts
kill -INT "$job" # make alone, which passes it on to nobody and waits for the server
for _ in {1..200}; do
    kill -0 "$job" 2>/dev/null || break
    sleep 0.05
done
check "an interrupt that only make gets stops the server too" eval '! kill -0 "$job" 2>/dev/null && grep -q "Stopped\.$" "$scratch/err"'
finish
