#!/bin/bash
# The servlet example: compiled with a few lines that stand for the servlet API, and played against a real server. Only where there is a JDK.
set -u
here=$HF_SOURCE_ROOT/tests/recipes/servlet
scratch=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-servlet.XXXXXX") || exit 1
exec {answer}< <(exec "$HF_SOURCE_ROOT/tests/cli/serving.sh" "sqlite:$scratch/locks.db")
serving=$!
trap 'kill "$serving"; wait "$serving"; rm -rf "$scratch"' EXIT
read -r url token <&"$answer"

(umask 077 && HOLDFAST_TOKEN=$token "$HOLDFAST" token create --store "$url" --name office --role use:policy --role manage:policy --json |
    grep -oP '"token":"\K[^"]+' >"$scratch/token")
javac -Xlint:all -Werror --release 17 -encoding UTF-8 -d "$scratch/classes" -sourcepath "$here" "$HF_SOURCE_ROOT/examples/servlet/HoldfastSessions.java" "$here/Play.java" ||
    { echo "not ok - it compiles"; exit 1; }
HOLDFAST_URL=$url HOLDFAST_TOKEN_FILE=$scratch/token java -Dfile.encoding=UTF-8 -cp "$scratch/classes" Play
