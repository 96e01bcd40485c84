#!/bin/bash
# STORE: serves it with the program itself, for tests of the program: prints its URL and the admin token, and ends with the server.
set -u
data=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-serving.XXXXXX") || exit 1
: >"$data/log"
"$HOLDFAST" serve --listen 127.0.0.1:0 --store "$1" --data "$data/data" --rate-token 0 --rate-session 0 --locks-session 0 >/dev/null 2>"$data/log" &
server=$!
trap 'kill "$server"; wait "$server"; rm -rf "$data"; exit' TERM INT
until address=$(grep -oP 'Listening\. address=\K\S+' "$data/log"); do
    if ! kill -0 "$server"; then
        cat "$data/log" >&2
        exit 1
    fi
    sleep 0.02
done
echo "http://$address $(cat "$data/data/admin-token")"
wait "$server"
rm -rf "$data"
