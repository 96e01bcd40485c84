#!/bin/bash
# serve at a start without its store: it waits for one that does not answer, starts up or is full, and ends at once on what waiting does
# not mend. The stores' servers are doubles (store_double.py); faults/serve_outage has real ones.
source "$(dirname "$0")/lib.sh"
unset HOLDFAST_STORE NOTIFY_SOCKET WATCHDOG_USEC LISTEN_FDS JOURNAL_STREAM
servers=()
trap '{ kill -KILL "${servers[@]}"; wait; } 2>/dev/null; rm -rf "$scratch"' EXIT

status() { curl -s -m 5 -o /dev/null -w '%{http_code}' "http://$(address)$1"; }
# SCHEME WORD: a store's server that only says this; its port in $port
double() {
    rm -f "$scratch/port"
    mkfifo "$scratch/port"
    python3 "$HF_SOURCE_ROOT/tests/cli/store_double.py" "$1" "$2" >"$scratch/port" &
    servers+=("$!")
    read -r port <"$scratch/port"
}
# SENTENCE URL
waits() {
    HOLDFAST_TOKEN=none start --listen 127.0.0.1:0 --data "$scratch/away" --store "$2"
    check "$1: it is waited for" await says 'warning: The store does not answer; the server waits for it. why='
    out="$(status /healthz) $(status /readyz) $(status /v1/locks) $(curl -si -m 5 "http://$(address)/readyz" | grep -ciE '^retry-after|"code":"unavailable"')"
    check "meanwhile it is alive, not ready, and says when to try again" test "$out" = '200 503 503 2'
    stop
    expect "SIGTERM ends the waiting with 0" 0 '*Stopped.'
    check "what was said was said once" test "$(grep -c 'waits for it' "$scratch/server")" = 1
}
# SENTENCE CODE URL
ends() {
    : >"$scratch/out"
    HOLDFAST_TOKEN=none timeout -k 5 20 "$HOLDFAST" serve --listen 127.0.0.1:0 --data "$scratch/away" --store "$3" >"$scratch/out" 2>"$scratch/err" </dev/null
    code=$? out=$(<"$scratch/out") err=$(<"$scratch/err")
    expect "$1: it ends at once" "$2" 'holdfast: *'
    check "without waiting" test -z "$(grep 'waits for it' "$scratch/err")"
}
# Where it is in the middle of a try it is not waited for either: a try for a silent server takes ten seconds.
for scheme in postgres mysql redis; do waits "nothing listens where $scheme should" "$scheme://u@127.0.0.1:1/1"; done
waits "nothing listens where a server should" http://127.0.0.1:1
waits "a host without a name" http://nosuch.invalid:1
for word in 'postgres starting' 'postgres full' 'postgres silent' 'mysql full' 'mysql starting' 'redis starting' 'redis silent' 'http starting' 'http silent'; do
    double $word
    user=u@ path=1
    [[ $word = redis* || $word = http* ]] && user=''
    [[ $word = http* ]] && path=''
    waits "$word" "${word% *}://$user""127.0.0.1:$port/$path"
done
double http late
HOLDFAST_TOKEN=none start --listen 127.0.0.1:0 --data "$scratch/away" --store "http://127.0.0.1:$port"
check "a try that takes long is told" await says 'waits for it. why="No answer yet."'
check "and its reason as soon as there is one" await says 'waits for it. why=.*503'
stop
for word in 'postgres password' 'mysql password' 'redis password' 'http strange'; do
    double $word
    user=u@
    [[ $word = redis* || $word = http* ]] && user=''
    ends "$word" 6 "${word% *}://$user""127.0.0.1:$port/1"
done
ends "a file that can't be made" 6 sqlite:/nowhere/at/all/x.db
printf 'not a database, but long enough to be read as one, if it were one; it is not one.\n%.0s' {1..20} >"$scratch/foreign.db"
ends "a file that is not holdfast's" 6 "sqlite:$scratch/foreign.db"
ends "a parameter that is none" 2 'postgres://u@127.0.0.1:1/db?nosuch=1'
start --listen 127.0.0.1:0 --data "$scratch/other"
behind=$(address)
stop
HOLDFAST_TOKEN=$(<"$scratch/other/admin-token") start --listen 127.0.0.1:0 --data "$scratch/before" --store "http://$behind"
first=$server first_address=$(address)
check "a server waits for the one behind it" await says 'waits for it'
sleep 2.5
check "which is said once a minute, not with each try" test "$(grep -c 'waits for it' "$scratch/server")" = 1
exec {early}<>"/dev/tcp/${first_address%:*}/${first_address##*:}"
printf 'GET /v1/types HTTP/1.1\r\nHost: ' >&"$early"
sleep 0.2
start --listen "$behind" --data "$scratch/other"
await says 'The store answers now'
(trap '' PIPE && printf 'localhost\r\n\r\n' >&"$early") 2>/dev/null
check "who had begun to ask meanwhile is answered" grep -q '^HTTP/1.1 503' <&"$early"
exec {early}>&-
ready() { test "$(curl -s -o /dev/null -w '%{http_code}' "http://$first_address/readyz")" = 200; }
check "and serves when that has come" await ready
check "on the same address" test "$(curl -s -H "Authorization: Bearer $(<"$scratch/other/admin-token")" "http://$first_address/v1/types")" = '{"types":[]}'
stop
server=$first
stop
check "which ends as ever" test "$code" = 0

finish
