# What the tests of the program share. Each script sources this, prints "ok - ..." and "not ok - ..." lines and ends
# with `finish`. HOLDFAST is the program; every script has a scratch folder and a store of its own. With HF_TEST_SERVE, a program that
# serves a store ("$HF_TEST_SERVE STORE" prints its URL and a token first), the store is behind such a server.
set -u

: "${HOLDFAST:?set HOLDFAST to the program}"
: "${HF_SOURCE_ROOT:?set HF_SOURCE_ROOT to the root of the sources}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-cli.XXXXXX") || exit 1
server=
trap '[[ -z $server ]] || kill "$server" 2>/dev/null; rm -rf "$scratch"' EXIT
unset HOLDFAST_SESSION HOLDFAST_STORE HOLDFAST_TOKEN HOLDFAST_DATA XDG_DATA_HOME XDG_STATE_HOME
export HOME=$scratch/home HOLDFAST_STATE=$scratch/nobody
mkdir -p "$HOME"
store=sqlite:$scratch/locks.db
: >"$scratch/keys"
served() { [[ -n ${HF_TEST_SERVE-} ]]; }
if served; then
    "$HF_TEST_SERVE" "$store" >"$scratch/address" &
    server=$!
    until [[ -s $scratch/address ]] || ! kill -0 "$server" 2>/dev/null; do sleep 0.02; done
    read -r store HOLDFAST_TOKEN <"$scratch/address" || exit 1
    export HOLDFAST_TOKEN
    echo "$HOLDFAST_TOKEN" >"$scratch/keys"
fi
export HOLDFAST_STORE=$store
failures=0
: >"$scratch/leaks"

# The person whose remembered session counts from here on.
as() { export HOLDFAST_STATE=$scratch/$1; }

# Runs the program: its exit code in $code, what it wrote in $out and $err.
run() {
    "$HOLDFAST" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    code=$?
    slurp "$scratch/out"
    out=$text
    slurp "$scratch/err"
    err=$text
    watch_for_keys "$@"
}

# FILE: what is in it, in $text: as $(tr -d '\0' <FILE), with no process for it.
slurp() {
    local pieces IFS=
    mapfile -d '' -t pieces <"$1"
    text="${pieces[*]}"
    while [[ $text == *$'\n' ]]; do text=${text%$'\n'}; done
}

# Keys are learned when sessions are opened and tokens made, and must not show anywhere else.
watch_for_keys() {
    if [[ "${1-} ${2-}" == 'session open' ]]; then
        grep -ohE '\.[0-9a-f]{32,128}$|"key":"[0-9a-f]+"' "$scratch/out" | grep -oE '[0-9a-f]{32,}' >>"$scratch/keys"
        grep -qFf "$scratch/keys" "$scratch/err" && echo "$*" >>"$scratch/leaks"
    elif [[ "${1-} ${2-}" == 'token create' ]]; then
        grep -ohE '[0-9a-f]{64}' "$scratch/out" >>"$scratch/keys"
        grep -qFf "$scratch/keys" "$scratch/err" && echo "$*" >>"$scratch/leaks"
    elif [[ -s $scratch/keys ]]; then
        grep -qFf "$scratch/keys" "$scratch/out" "$scratch/err" && echo "$*" >>"$scratch/leaks"
    fi
    return 0
}

passed() { echo "ok - $1"; }

failed() {
    echo "not ok - $1"
    failures=$((failures + 1))
    printf '%s\n' "exit code ${code-}" "out: ${out-}" "err: ${err-}" "${2-}" | sed 's/^/#   /'
}

# SENTENCE COMMAND...: does the command succeed?
check() {
    local sentence=$1
    shift
    if "$@"; then passed "$sentence"; else failed "$sentence" "false: $*"; fi
}

# SENTENCE CODE GLOB: of the last run, does the exit code fit, and all that was written?
expect() {
    # shellcheck disable=SC2053 # a pattern on purpose
    if [[ $code == "$2" && $out$err == ${3-*} ]]; then passed "$1"; else failed "$1" "wanted $2 and ${3-*}"; fi
}

# SENTENCE CODE EXPRESSION: is what was written one JSON text, called d in the Python expression?
expect_json() {
    local told
    told=$(python3 -IS -c 'import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
assert eval(f"({sys.argv[2]})"), d' "$scratch/out" "$3" 2>&1)
    if [[ $? == 0 && $code == "$2" && -z $err ]]; then passed "$1"; else failed "$1" "wanted $2 and $3: $told"; fi
}

# Servers

# COMMAND...: until it succeeds, for half a minute at most
await() {
    local _
    for _ in $(seq 600); do
        "$@" && return
        sleep 0.05
    done
    return 1
}
says() { grep -qE -- "$1" "$scratch/server"; }

# ARGUMENT...: a server in the background; $server is its process, what it writes is in the file `server`. The script ends those
# in `servers`.
start() {
    : >"$scratch/server"
    "$HOLDFAST" serve "$@" >"$scratch/server.out" 2>>"$scratch/server" </dev/null &
    server=$!
    servers+=("$server")
    await says 'Listening|Serving|port was taken' || failed "a server starts" "$(cat "$scratch/server")"
}
# [SIGNAL]: its exit code in $code, what it wrote in $out and $err
stop() {
    kill "-${1:-TERM}" "$server"
    wait "$server"
    code=$?
    out=$(cat "$scratch/server.out")
    err=$(cat "$scratch/server")
}
address() { sed -nE 's/.* address=([^ ]*).*/\1/p' "$scratch/server" | head -n 1; }

# A field of the last answer, as a Python expression.
field() { python3 -IS -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$scratch/out" "$1"; }

skipped() { echo "ok - $1 # SKIP $2"; }

finish() {
    check "no key shows in any answer but that of session open" test ! -s "$scratch/leaks"
    sed 's/^/#   leaked by: holdfast /' "$scratch/leaks"
    exit $((failures > 0))
}
