#!/bin/bash
# The program and a server: where its token comes from, what is remembered, and what a server is not asked.
source "$(dirname "$0")/lib.sh"

token=$HOLDFAST_TOKEN
unset HOLDFAST_TOKEN
(umask 077 && echo "$token" >"$scratch/token file?&")
echo 'some other token' | tr ' ' - >"$scratch/wrong"
chmod 600 "$scratch/wrong"

# Tokens

run list
expect "without a token the server says who it does not know" 5 'holdfast: *token*'
expect "and the program how to give one" 5 '*'$'\n''holdfast: Give the token with --token-file FILE or in HOLDFAST_TOKEN.'
run session beat
expect "where a session is missing, a token is not asked for" 5 'holdfast: No session is given or remembered for *--session ID.KEY.'
run list --json
expect_json "in JSON too" 5 'd["code"] == "unauthenticated"'
run events --json
expect_json "a list that has not begun is a refusal and nothing else" 5 'd["code"] == "unauthenticated" and "events" not in d'
run list --token-file "$scratch/token file?&"
expect "a token comes from its file" 0 'No locks are held.'
run list "--token-file=$scratch/token file?&" --store "trace+$store?timeout=20s"
expect "the URL may have parameters of its own" 0 '*No locks are held.*'
run list --token-file "$scratch/wrong"
expect "another token is not known" 5
HOLDFAST_TOKEN=$token run list
expect "or from HOLDFAST_TOKEN" 0 'No locks are held.'
HOLDFAST_TOKEN=$token run list --token-file "$scratch/wrong"
expect "the file comes before it" 5
HOLDFAST_TOKEN='two words' run list
expect "what is no token is refused" 2 'holdfast: HOLDFAST_TOKEN holds no token*'
run list --token-file "$scratch/nowhere"
expect "a file that is not there" 6 "holdfast: The token file $scratch/nowhere can't be read: *"
chmod 644 "$scratch/wrong"
run list --token-file "$scratch/wrong"
expect "a file that others may read" 2 'holdfast: *chmod 600*'
run list --token-file ''
expect "no file" 2 'holdfast: *'
run list --token-file "$scratch/token file?&" --store "$store?token_file=$scratch/token%20file%3F%26"
expect "a file that is named twice" 2 'holdfast: *twice*'
run list --token-file "$scratch/token file?&" --store "sqlite:$scratch/other.db"
expect "a token is for a server" 2 'holdfast: --token-file is for a server*'
check "and nothing is made" test ! -e "$scratch/other.db"
run install "$store" --token-file "$scratch/token file?&"
expect "install wants no token" 2 'holdfast: *'
export HOLDFAST_TOKEN=$token

# What is remembered

as alice
run session open --user alice
run session beat --store "$store/"
expect "a session is remembered for the server" 0
run session beat --store "$store?timeout=10s"
expect "whatever parameters the URL has" 0
unset HOLDFAST_TOKEN
run acquire policy/1 --token-file "$scratch/token file?&"
expect "and wherever the token is from" 0 'Acquired policy/1*'
run who policy/1
expect "the session remembered may look who holds something, without a token" 0 '*policy/1*alice*'
session=$(cut -f 2 "$HOLDFAST_STATE/sessions")
as nobody
run who policy/1
expect "without it nobody may" 5 'holdfast: Say who is calling: *Give the token with --token-file*'
HOLDFAST_SESSION=$session run who policy/1 --json
expect_json "with one in HOLDFAST_SESSION anybody may" 0 'd["holders"][0]["user"] == "alice"'
HOLDFAST_TOKEN=$token HOLDFAST_SESSION=00000000000000000000000000000000.00000000000000000000000000000000 run who policy/1
expect "a session that is not there is no obstacle where a token will do" 0 '*policy/1*alice*'
as alice
export HOLDFAST_TOKEN=$token
check "the token is not kept with it" test -z "$(grep -rF "$token" "$HOLDFAST_STATE")"

# What a server is not asked

run backup "$scratch/copy"
expect "backup is for whoever has the store" 2 'holdfast: *where it is*'
check "no file is made" test ! -e "$scratch/copy"
run restore "$scratch/token file?&" --replace
expect "so is restore" 2 'holdfast: *where it is*'
run install "$store"
expect "and install" 2 'holdfast: *its own store*'
run uninstall "$store" --print
expect "and uninstall" 2 'holdfast: *its own store*'
run list --store "$store?namespace=other"
expect "and a namespace" 2 'holdfast: *namespace=*'
run list --store "http://user:hunter2@localhost"
expect "a server has no passwords" 2 'holdfast: *token_file=PATH*'
check "and none is repeated" test -z "$(grep hunter2 <<<"$out$err")"

# A right that is missing is asked for once

denied() {
    HOLDFAST_TOKEN=$token run events --json
    field '[e["kind"] for e in d["events"]].count("denied")'
}
run acquire policy/3
as user
run token create --name user --role use
secret=$out
HOLDFAST_TOKEN=$secret run session open --user user
before=$(denied)
HOLDFAST_TOKEN=$secret run force-release policy/3 --reason "mine now"
expect "a token without the right ends nobody's lock" 5 "holdfast: The token 'user' has no role 'manage'*"
check "and one event tells of it" test "$(denied)" = $((before + 1))
run session close
as alice

# A server that goes away while it lists: more than a page each, of which the second is asked for when someone reads on

seq -f 'bulk/%.0f' 1001 | xargs "$HOLDFAST" acquire >/dev/null
mkfifo "$scratch/list" "$scratch/events"
"$HOLDFAST" list --json >"$scratch/list" 2>"$scratch/list.err" &
list=$!
"$HOLDFAST" events --json >"$scratch/events" 2>"$scratch/events.err" &
events=$!
exec 7<"$scratch/list" 8<"$scratch/events"
read -r -n 20 list_begun <&7
read -r -n 20 events_begun <&8
kill "$server" && wait "$server"
{ echo -n "$list_begun" && cat <&7; } >"$scratch/out"
wait "$list"
code=$? err=$(cat "$scratch/list.err")
expect_json "a list that breaks off is one object and says so" 6 'len(d["locks"]) == 1000 and d["code"] == "unavailable" and d["message"]'
{ echo -n "$events_begun" && cat <&8; } >"$scratch/out"
wait "$events"
code=$? err=$(cat "$scratch/events.err")
expect_json "so do events" 6 'len(d["events"]) == 1000 and d["code"] == "unavailable" and d["message"]'

# A server that is not there

run acquire policy/2
expect "a server that is gone is told, with its address" 6 "holdfast: There is no connection to $store: Connection refused. *"
run acquire policy/2 --json
expect_json "in JSON too" 6 'd["code"] == "unavailable"'

finish
