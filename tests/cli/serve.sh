#!/bin/bash
# serve: starting, stopping, what it refuses, its settings, the admin token, and what it tells systemd.
source "$(dirname "$0")/lib.sh"
unset HOLDFAST_STORE XDG_CONFIG_HOME XDG_RUNTIME_DIR NOTIFY_SOCKET WATCHDOG_USEC WATCHDOG_PID LISTEN_FDS LISTEN_PID JOURNAL_STREAM STATE_DIRECTORY
export HOLDFAST_DATA=$scratch/data
servers=()
trap 'for pid in "${servers[@]}"; do kill -KILL "$pid" 2>/dev/null; done; rm -rf "$scratch"' EXIT

# Settings

run serve --print-config
expect "--print-config prints every setting with its origin" 0 '\[server\]*listen = 127.0.0.1:7420 ; default*store = sqlite:*/data/holdfast.db ; default*data = *data ; environment*print-token = no ; default'
check "and makes nothing" test ! -e "$HOLDFAST_DATA"
cp "$scratch/out" "$scratch/printed.ini"
run serve --print-config --config "$scratch/printed.ini"
out=$(sed 's/ ; .*//' "$scratch/out" | grep -v '^# config')
check "what it prints can be read again" test "$out" = "$(sed 's/ ; .*//' "$scratch/printed.ini" | grep -v '^# config')"
mkdir -p "$HOME/.config/holdfast"
printf '[server]\nbody-max = 2M\nwriters = 2\nlog = json\n' >"$HOME/.config/holdfast/holdfast.ini"
HOLDFAST_WRITERS=3 HOLDFAST_LOG=text run serve --print-config --log json --store postgres://u:hidden@h/db
expect "a flag is stronger than a variable, and that than the file" 0 "*body-max = 2M ; file $HOME/.config/holdfast/holdfast.ini line 2*log = json ; flag*writers = 3 ; environment*"
check "a password does not show" test -z "$(grep hidden "$scratch/out" "$scratch/err")"
run serve --print-config --json --listen 127.0.0.1:1 --listen unix:/x
expect_json "with --json it is JSON" 0 \
    '{s["name"]: s for s in d["settings"]}["listen"] == {"name": "listen", "value": ["127.0.0.1:1", "unix:/x"], "from": "flag"}
     and {s["name"]: s for s in d["settings"]}["writers"]["line"] == 3'
printf 'listne = 1\n' >"$scratch/bad.ini"
run serve --config "$scratch/bad.ini"
expect "an unknown key is refused by name, with file and line" 2 "holdfast: $scratch/bad.ini, line 1: there is no setting 'listne'; did you mean 'listen'?"
run serve --body-max lots
expect "so is a bad value" 2 "holdfast: --body-max is 'lots', but takes a size like 64K or 1M, from 1K to 64M."
HOLDFAST_LOG_LEVEL=loud run serve
expect "also from the environment" 2 "holdfast: HOLDFAST_LOG_LEVEL in the environment is 'loud', but takes one of error, warning, info, debug."
run serve --token-file "$scratch/none"
expect "a token is for those who call a server" 2 "*takes no --token-file*token_file=PATH in its URL or in HOLDFAST_TOKEN."
run serve --config "$scratch/none.ini"
expect "a file that is named must be there" 6 "*$scratch/none.ini can't be opened: No such file*"
run serve --body-max lots --json
expect_json "a refusal is JSON when asked for" 2 'd["code"] == "invalid" and "--body-max" in d["message"]'
rm "$HOME/.config/holdfast/holdfast.ini"

# Beyond this machine

for beyond in 0.0.0.0:0 '[::]:0'; do
    run serve --listen "$beyond"
    expect "$beyond is refused without TLS" 2 "*can be reached from other machines*tls-certificate*--allow-plain*"
done
check "and nothing was made but the folder" test -z "$(ls "$HOLDFAST_DATA")"

# TLS

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=locks -days 365 -keyout "$scratch/key.pem" -out "$scratch/certificate.pem" 2>/dev/null
chmod 644 "$scratch/key.pem"
start --listen 127.0.0.1:0 --data "$scratch/tls" --tls-certificate "$scratch/certificate.pem" --tls-key "$scratch/key.pem"
kill -HUP "$server"
await says Reloaded
chmod 600 "$scratch/key.pem"
kill -HUP "$server"
await eval 'test "$(grep -c Reloaded "$scratch/server")" = 2'
stop
expect "a key that others may read is warned of" 0 "*warning: The key $scratch/key.pem can be read by everyone on this machine (mode 0644)*Listening*"
check "at the start and when it is read again, until that is mended" test "$(grep -c 'can be read by everyone' "$scratch/server")" = 2

# When its certificates end: the first of all that the file holds
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ca -days 90 -keyout "$scratch/ca.key" -out "$scratch/ca.pem" 2>/dev/null
cat "$scratch/certificate.pem" "$scratch/ca.pem" >"$scratch/chain.pem"
ends() { date -d "$(openssl x509 -noout -enddate -in "$1" | cut -d= -f2)" +%s; }
metric() { curl -sk "https://$(address)/metrics" | sed -n "s/^$1 //p"; }
start --listen 127.0.0.1:0 --data "$scratch/tls" --tls-certificate "$scratch/chain.pem" --tls-key "$scratch/key.pem"
check "the metrics have the end of the certificates" test "$(metric holdfast_tls_certificate_not_after_timestamp_seconds | cut -d. -f1)" = "$(ends "$scratch/ca.pem")"
cp "$scratch/certificate.pem" "$scratch/chain.pem"
kill -HUP "$server"
await says Reloaded
check "also of those that were read again" test "$(metric holdfast_tls_certificate_not_after_timestamp_seconds | cut -d. -f1)" = "$(ends "$scratch/certificate.pem")"
stop

# Start and stop

start --listen 127.0.0.1:0 --listen "unix:$scratch/socket"
check "the socket of a path has mode 0660" test "$(stat -c %a "$scratch/socket")" = 660
check "the data directory has mode 0700" test "$(stat -c %a "$HOLDFAST_DATA")" = 700
check "the admin token's file has mode 0600" test "$(stat -c %a "$HOLDFAST_DATA/admin-token")" = 600
grep -E '^[0-9a-f]{64}$' "$HOLDFAST_DATA/admin-token" >>"$scratch/keys"
check "it holds one secret" test "$(wc -lc <"$HOLDFAST_DATA/admin-token" | tr -s ' ')" = ' 1 65'
kill -HUP "$server"
check "SIGHUP makes it read its certificates again" await says 'Reloaded'
check "and it goes on" kill -0 "$server"
stop
expect "SIGTERM stops it with 0" 0 "*store is open*grade=*admin token was made*file=$HOLDFAST_DATA/admin-token*Listening. address=127.0.0.1:*Listening. address=unix:$scratch/socket*Stopping*Stopped."
check "nothing goes to stdout" test -z "$out"
check "the secret is nowhere in what it wrote" test -z "$(grep -Ff "$scratch/keys" "$scratch/server" "$scratch/server.out")"
check "its socket is gone" test ! -e "$scratch/socket"
run token list --json
expect_json "the token may do everything" 0 'len(d["tokens"]) == 1 and d["tokens"][0]["roles"] == "use observe manage admin"'
start --listen 127.0.0.1:0 --log json
stop INT
expect "SIGINT stops it too" 0 '*"message":"Listening."*"message":"Stopped."*'
check "JSON it is, line by line" python3 -c 'import json, sys
for line in open(sys.argv[1]): assert {"time", "level", "message"} <= set(json.loads(line))' "$scratch/server"
run token list --json
expect_json "a second start makes no second token" 0 'len(d["tokens"]) == 1'
printf '%064d\n' 7 >"$HOLDFAST_DATA/admin-token"
start --listen 127.0.0.1:0
stop
expect "a file whose token the store does not know is told" 0 "*warning: The token in $HOLDFAST_DATA/admin-token is not one of this store's; remove the file*"

# Too few open files: whatever part of the start fails, it says why

ended() { ! kill -0 "$server" 2>/dev/null; }
settled() { ended || says 'Listening'; }
refusals=0
for files in {8..40}; do
    : >"$scratch/server"
    (ulimit -n "$files" && exec "$HOLDFAST" serve --listen 127.0.0.1:0 --data "$scratch/few") >"$scratch/server.out" 2>>"$scratch/server" </dev/null &
    server=$!
    servers+=("$server")
    await settled || failed "with $files open files it starts or ends" "$(cat "$scratch/server")"
    kill -TERM "$server" 2>/dev/null
    wait "$server"
    code=$?
    [[ $code = 0 ]] && continue
    refusals=$((refusals + 1))
    { [[ $code -lt 126 ]] && says '^holdfast: .*\.$'; } || failed "with $files open files it says why it does not start" "$(cat "$scratch/server")"
done
check "some starts were refused for it" test "$refusals" -gt 5

# Ports

start --listen 127.0.0.1:0 --data "$scratch/other"
taken=$(address)
first=$server
run serve --listen "$taken" --data "$scratch/third"
expect "a taken port is told" 6 "holdfast: $taken is taken: another program listens there. Stop that one, or choose another*"
check "before the store is opened" test ! -e "$scratch/third/holdfast.db"
run serve --listen 127.0.0.1:0 --data "$scratch/before" --store "http://$taken"
expect "a store that is a server wants a token, and how it is given is told" 5 \
    "*Say who is calling: *"$'\n'"holdfast: Give the token with token_file=PATH in the store's URL or in HOLDFAST_TOKEN."
HOLDFAST_TOKEN=$(<"$scratch/other/admin-token") start --listen 127.0.0.1:0 --data "$scratch/before" --store "http://$taken"
stop
expect "in HOLDFAST_TOKEN it is taken" 0 '*Listening*Stopped.'
start --listen 127.0.0.1:0 --data "$scratch/before" --store "http://$taken?token_file=$scratch/other/admin-token"
stop
expect "and from the file that the URL names" 0 '*Listening*Stopped.'
start --listen "$taken" --any-port --data "$scratch/third" --hints
check "with any-port the next free one is taken" test "$(address)" != "$taken"
check "and that is said" says 'warning: The port was taken; listening on another'
moved=$(address)
await grep -q v1/events "$scratch/server.out"
grep '^  ' "$scratch/server.out" | grep -v /v1/events >"$scratch/lines"
out=$(bash "$scratch/lines" 2>&1)
code=$? err=''
expect "the lines to try do what they say" 0 '*"purpose":"renewal"*"user":"alice"*is being edited by alice since*"user":"alice"*'
check "the last one makes a token that the server knows" env HOLDFAST_TOKEN="$(tail -n 1 <<<"$out")" "$HOLDFAST" list --store "http://$moved"
stop
expect "hints have the address, the token's file and lines to try" 0 "*http://$moved*$scratch/third/admin-token*curl*policy/12345*"
check "but no secret" test -z "$(grep -E '[0-9a-f]{64}' "$scratch/server.out")"
rm "$scratch/third/admin-token"
start --listen 127.0.0.1:0 --data "$scratch/third" --hints
await grep -q 'token create' "$scratch/server.out"
out=$(bash <(grep 'token create' "$scratch/server.out"))
check "so does the one that is printed where the admin token is put away" env HOLDFAST_TOKEN="$out" "$HOLDFAST" list --store "http://$(address)"
stop
unset HOLDFAST_DATA
start --listen 127.0.0.1:0
command=$(sed -n 's/^    \(holdfast token create .*\)/\1/p' "$HF_SOURCE_ROOT/docs/serve.md")
out=$(PATH=$(dirname "$HOLDFAST"):$PATH bash -c "${command/127.0.0.1:7420/$(address)}")
check "so does the one in docs/serve.md" env HOLDFAST_TOKEN="$out" "$HOLDFAST" list --store "http://$(address)"
stop
export HOLDFAST_DATA=$scratch/data
start --listen 127.0.0.1:0 --data "$scratch/other"
stop
expect "two servers share a data directory" 0 '*Listening*Stopped*'
server=$first
stop
start --listen "unix:$scratch/s" --data "$scratch/other"
run serve --listen "unix:$scratch/s" --data "$scratch/other"
expect "a socket that is in use is told" 6 "*unix:$scratch/s is taken*"
kill -KILL "$server"
wait "$server" 2>/dev/null
check "a server that is killed leaves its socket" test -S "$scratch/s"
start --listen "unix:$scratch/s" --data "$scratch/other"
stop
expect "the next one replaces it" 0 '*Listening*'
: >"$scratch/file"
run serve --listen "unix:$scratch/file" --data "$scratch/other"
expect "a file in its place is left" 6 "*$scratch/file is in the way: it is no socket*"
check "and still there" test -f "$scratch/file"

# Stores

run serve --listen 127.0.0.1:0 --store nonsense://x
expect "a store that is none is told" 2
start --listen 127.0.0.1:0 --store memory: --data "$scratch/memory"
out=$(curl -s "http://$(address)/readyz")
code=$? err=
expect "a store in memory is ready, and says that nothing survives" 0 '{"ready":true,*"grade":"none",*"broken":false}'
stop
expect "it is a warning" 0 '*warning: The store is open.*store=memory:*'
start --listen 127.0.0.1:0 --data "$scratch/other"
free=$(address)
stop
for own in "$free http://$free" "$free http://localhost:${free#*:}/below?timeout=10s" "0.0.0.0:${free#*:} http://$free" \
    "unix:$scratch/self http://localhost?socket=${scratch//\//%2F}%2Fself"; do
    run serve --allow-plain --listen "${own% *}" --store "${own#* }" --data "$scratch/other"
    expect "a server is not its own store: $own" 2 "holdfast: ${own#* } is this server itself, so it can't be its store; name the one that the locks live in*"
done

# systemd

python3 "$HF_SOURCE_ROOT/tests/cli/systemd.py" "$HOLDFAST" "$scratch"
check "the tests of systemd's messages ran" test $? = 0

finish
