#!/bin/bash
# make run: a server on SQLite below the build directory and the customer application beside it, whatever the environment and files of
# settings say, until Ctrl-C.
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
# Has anybody the file of the store open? Another test may have the ports by now, but never this file.
is_open() { ls -l /proc/[0-9]*/fd 2>/dev/null | grep -qF -- "-> $scratch/run/holdfast.db"; }
until_closed() { for _ in {1..200}; do is_open || return 0; sleep 0.05; done; return 1; }

starts
out=$(cat "$scratch/out") err=$(cat "$scratch/err") code=
expect "it says where it serves, that Ctrl-C stops it, where the admin token is, and what to try" '' \
    "*Open this first:  http://127.0.0.1:*holdfast serves on http://127.0.0.1:*. Ctrl-C stops it.*The dashboard: http*The admin token*is in $scratch/run/admin-token.*curl*policy/12345*"
check "the locks are in SQLite, below the build directory" grep -q "The store is open. store=sqlite:$scratch/run/holdfast.db " "$scratch/err"
check "what it keeps is there" test -s "$scratch/run/holdfast.db"
check "and nowhere else" test ! -e "$scratch/elsewhere"
url=$(sed -nE 's/^holdfast serves on (http:[^ ]*)\. Ctrl-C.*/\1/p' "$scratch/out")
out=$(curl -s "$url/")
code=$?
expect "a browser is shown a page" 0 '<!doctype html>*holdfast*'
first=$(sed -n 's/^Open this first: *//p' "$scratch/out")
out=$(curl -s --retry 20 --retry-connrefused --retry-delay 1 "$first")
code=$?
expect "and the address to open first shows two people" 0 '<!doctype html>*What Alice Chen sees*What Bob Smith sees*'
until grep -q '^Ready\. ' "$scratch/out" || ! kill -0 "$job" 2>/dev/null; do sleep 0.05; done
check "that address is the last thing that is printed, when it answers" test "$(grep . "$scratch/out" | tail -n 1)" = "Ready. Open $first"
out=$(curl -sL -c "$scratch/jar" "${first}alice/enter?to=/customers/42")
code=$?
expect "on one sample record, with the element of this server" 0 "*$url/edit-lock.js*Lindqvist &#38; Daughters*"
out=$(curl -si -H "Origin: ${first%/}" "$url/v1/locks/customer/42" -H "Authorization: Bearer $(cat "$scratch/run/admin-token")")
code=$?
expect "whose pages may ask the server" 0 "*Access-Control-Allow-Origin: ${first%/}*\"resource\":\"customer/42\"*"
out=$(curl -s -o "$scratch/page" -w '%{http_code}' -b "$scratch/jar" -H 'Host: evil.example' "${first}alice/customers/42")
code=$?
expect "a name that is not its own is refused" 0 '421*'
out=$(curl -s -b "$scratch/jar" "${first}alice/customers/42/edit" && curl -s "$url/v1/locks/customer/42" -H "Authorization: Bearer $(cat "$scratch/run/admin-token")")
code=$?
expect "and whose locks are the server's" 0 '*"name":"Alice Chen"*'
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
check "and nobody serves any more" until_closed
run list --type customer --store "sqlite:$scratch/run/holdfast.db" --json
expect_json "what its pages held is given back" 0 'd["locks"] == []'
run version --store "sqlite:$scratch/run/holdfast.db" customer/42
expect "and what it keeps stays" 0 '*customer/42*1*'

starts
kill -INT "$job" # make alone, which passes it on to nobody and waits for the server
for _ in {1..200}; do
    kill -0 "$job" 2>/dev/null || break
    sleep 0.05
done
check "an interrupt that only make gets stops the server too" eval '! kill -0 "$job" 2>/dev/null && grep -q "Stopped\.$" "$scratch/err"'

starts
until curl -s "$(sed -n 's/^Open this first: *//p' "$scratch/out")" >"$scratch/first"; do sleep 0.05; done
check "both have the file open" is_open
kill -KILL "$job"
check "a make that is killed leaves nothing behind" until_closed
starts
demo=$(grep -lsx "PPid:[[:space:]]*$job" /proc/[0-9]*/status | cut -d/ -f3)
until [[ -s $scratch/run/holdfast.db ]] && is_open; do sleep 0.05; done
kill -KILL "$demo"
check "nor does a supervisor that is" until_closed
wait "$job" 2>/dev/null

# Ports that are taken are passed over.
python3 - "$scratch/taken" <<'EOF_PYTHON' &
import os, socket, sys, time
held = []
for port in (7420, 7421):
    try:
        it = socket.socket()
        it.bind(("127.0.0.1", port))
        it.listen()
        held.append(it)
    except OSError:
        pass  # another test has it
with open(sys.argv[1] + ".new", "w") as file:
    file.write("".join(f"127.0.0.1:{it.getsockname()[1]}\n" for it in held))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(60)
EOF_PYTHON
holder=$!
until [[ -e $scratch/taken ]]; do sleep 0.05; done
starts
check "where ports are taken both take others" eval '! grep -qwFf "$scratch/taken" "$scratch/out" && grep -q "Open this first: *http://127.0.0.1:" "$scratch/out"'
kill -INT -- "-$job"
wait "$job"
kill "$holder"
finish
