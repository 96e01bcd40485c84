# shellcheck shell=bash
# What the tests of the SQL surface share: clients of a database that stay connected, so that a transaction can be left open while
# the program does something else. A script sets `client` and `marker` for its database, calls `begin_with URL`, and then `surface`.
source "$(dirname "$0")/../cli/lib.sh"

# URL PARAMETERS: the URL with them
with() { if [[ $1 == *\?* ]]; then echo "$1&$2"; else echo "$1?$2"; fi; }

declare -A input turn

# NAME: connects
open_client() {
    mkfifo "$scratch/$1.in"
    stdbuf -oL "${client[@]}" <"$scratch/$1.in" >>"$scratch/$1.out" 2>&1 &
    exec {fd}>"$scratch/$1.in"
    input[$1]=$fd turn[$1]=0
}
close_client() {
    local fd=${input[$1]}
    exec {fd}>&-
    rm -f "$scratch/$1.in"
}

# NAME SQL: sends it and does not wait
send() {
    turn[$1]=$((turn[$1] + 1))
    : >"$scratch/$1.out"
    printf '%s\n%s\n' "$2" "$(marker "end-${turn[$1]}")" >&"${input[$1]}"
}
# NAME: has the last one been answered?
answered() { grep -qx "end-${turn[$1]}" "$scratch/$1.out"; }
# NAME: waits for the answer, which is then in $out
hear() {
    local tries=0
    until answered "$1"; do
        sleep 0.02
        tries=$((tries + 1))
        if ((tries > 1000)); then break; fi
    done
    out=$(grep -v '^end-' "$scratch/$1.out") err='' code=0
}
# NAME SQL: sends it and waits
tell() {
    send "$1" "$2"
    hear "$1"
}

# SENTENCE GLOB: of the last answer
heard() {
    # shellcheck disable=SC2053
    if [[ $out == $2 ]]; then passed "$1"; else failed "$1" "wanted $2"; fi
}

# PERSON [OPTION...]: opens a session, $session is its public id
opens() {
    as "$1"
    run session open --user "$1" --name "$1 Smith" "${@:2}" --json
    session=$(field 'd["id"]')
}
# PERSON RESOURCE [OPTION...]: acquires, $fence is its fence
takes() {
    as "$1"
    run acquire "${@:2}" --json
    [[ $code == 0 ]] || failed "$1 could not acquire $2"
    fence=$(field 'd["locks"][0]["fence"]')
}
# PERSON MILLISECONDS RESOURCE: both, in a session so short that it may be over before it acquires: then in a longer one; $bound is what it came to
opens_and_takes() {
    for bound in "$2" $((2 * $2)) $((5 * $2)) $((20 * $2)); do
        opens "$1" --idle "${bound}ms"
        run acquire "$3" --json
        [[ $code == 0 ]] && break
    done
    [[ $code == 0 ]] || failed "$1 could not acquire $3"
    fence=$(field 'd["locks"][0]["fence"]')
}

# Sleeps for so many hundredths of $bound.
sleeps() {
    sleep "$(printf '%d.%03d' $((bound * $1 / 100000)) $((bound * $1 / 100 % 1000)))"
}
