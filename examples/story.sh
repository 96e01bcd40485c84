#!/bin/bash
# A short story of two people and one record, told with the real program on a SQLite store that is removed at the end.
# Every step is checked: if something does not go as told, the story stops and the exit code is not 0.
#   HOLDFAST=path/to/holdfast examples/story.sh
set -u

holdfast=${HOLDFAST:-$(dirname "$0")/../build/holdfast}
if [ ! -x "$holdfast" ]; then
    echo "story: $holdfast is not there yet; run 'make' first." >&2
    exit 1
fi

# One store; each person has a state directory, as if each sat at a desk of their own.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-story.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
unset HOLDFAST_SESSION HOLDFAST_STORE
export HOLDFAST_DATA=$scratch/data

bold='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$'\033[1m' dim=$'\033[2m' plain=$'\033[0m'
fi

pause() { if [ -t 1 ]; then sleep 0.3; fi; }

tell() {
    printf '\n%s%s%s\n' "$bold" "$*" "$plain"
    pause
}

# PERSON EXIT-CODE SHOULD-SAY ARGUMENT...: shows the command, runs it for the person, and checks how it went.
step() {
    local person=$1 expected=$2 say=$3 code words=() word
    shift 3
    for word in "$@"; do
        case $word in
            *[\ \"]*) words+=("\"$word\"") ;;
            *) words+=("$word") ;;
        esac
    done
    printf '%s%s$ holdfast %s%s\n' "$dim" "$person" "${words[*]}" "$plain"
    HOLDFAST_STATE=$scratch/$person "$holdfast" "$@" >"$scratch/said" 2>&1
    code=$?
    # The key of a session is secret; a story is read by others.
    sed -E 's/^([0-9a-f]{32})\.[0-9a-f]{32,128}$/\1.(secret key)/' "$scratch/said"
    if [ "$code" -ne "$expected" ]; then
        echo "story: that should have exited with $expected, but exited with $code." >&2
        exit 1
    fi
    if ! grep -qF -- "$say" "$scratch/said"; then
        echo "story: that should have said \"$say\"." >&2
        exit 1
    fi
    pause
}

session_of() {
    HOLDFAST_STATE=$scratch/$1 "$holdfast" session list --user "$1" --json |
        grep -oE '"id":"[0-9a-f]{32}"' | head -n 1 | cut -d '"' -f 4
}

tell "Alice opens policy 12345 to renew it. It will take her a while."
step alice 0 . session open --user alice --name "Alice Chen"
step alice 0 "Acquired policy/12345" acquire policy/12345 --purpose renewal

tell "Bob wants the same record. He is told at once who has it, since when and until when."
step bob 0 . session open --user bob --name "Bob Smith"
step bob 3 "is being edited by Alice Chen" acquire policy/12345

tell "He asks for it. Alice sees that on her next beat, and hands it over."
step bob 0 "Asked Alice Chen" request policy/12345 --message "The customer is on the phone"
step alice 0 "Bob Smith asks for policy/12345" session beat
step alice 0 "Bob Smith holds it" hand-over policy/12345 --to "$(session_of bob)"
step bob 0 "Bob Smith holds it" holds policy/12345
step alice 8 "does not hold policy/12345" release policy/12345

tell "Bob takes two more records, all or none, and goes home without giving anything back."
step bob 0 "Acquired customer/42" acquire customer/42 customer/43 --purpose "change of address"
step alice 0 "customer/43" list

tell "Alice can't wait until his session dies of idleness. A forced release needs a reason, and is recorded."
step alice 0 "Ended the lock of Bob Smith" force-release policy/12345 --reason "Bob left for the day"
step alice 0 "Acquired policy/12345" acquire policy/12345 --purpose renewal
step bob 0 "was taken away by alice" session beat

tell "Everything that happened is in the event log: who, what, when, why."
step alice 0 forced events

cat <<END

${bold}Now you.${plain} These lines use a store of your own, in ~/.local/share/holdfast:

  build/holdfast session open --user $(id -un)
  build/holdfast acquire policy/12345 --purpose "trying it out"
  build/holdfast list
  build/holdfast release policy/12345
  build/holdfast help
END
