#!/bin/bash
# What shells and readers get: the completions and the man page, held against the program's own tables, and the story.
source "$(dirname "$0")/lib.sh"

run help --json
expect_json "help --json answers the verbs with their options" 0 \
    'len(d["verbs"]) > 20 and all({"name", "operands", "options"} == set(v) for v in d["verbs"])'
cp "$scratch/out" "$scratch/tables.json"
tables() { python3 -c 'import json, sys
for v in json.load(open(sys.argv[1]))["verbs"]:
    print(v["name"] + "|" + " ".join("--" + o["name"] + ("=" if o["value"] else "") for o in v["options"]))' "$scratch/tables.json"; }

# Bash

check "the bash completion is valid" bash -n "$HF_SOURCE_ROOT/completions/holdfast.bash"
# shellcheck source=/dev/null
source "$HF_SOURCE_ROOT/completions/holdfast.bash"

# WORD... (the last is the one being typed): what bash would offer
complete_at() {
    COMP_WORDS=(holdfast "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _holdfast
    printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
}
offers() { # SENTENCE WANTED WORD...
    local sentence=$1 wanted=$2
    shift 2
    out=$(complete_at "$@") err='' code=0
    check "$sentence" test "$out" = "$wanted "
}
first_words() { tables | cut -d '|' -f 1 | cut -d ' ' -f 1 | sort -u | tr '\n' ' '; }

offers "bash completes all verbs" "$(first_words | sed 's/ $//')" ''
offers "bash completes a verb" 'hand-over' han
offers "bash completes a noun's verbs" 'beat close list open' session ''
offers "bash completes modes" 'exclusive shared' acquire policy/1 --mode ''
offers "bash completes modes after =" 'shared' acquire --mode = sh
offers "bash completes policies" 'exclusive-read exclusive-write optimistic read-write' type set policy --policy ''
offers "bash completes the stores there are" 'http:// https:// memory: mysql:// postgres:// redis+unix:// redis:// rediss:// sqlite:' list --store ''
mkdir -p "$scratch/files/folder"
touch "$scratch/files/file"
for option in --token-file --config --tls-certificate --tls-key; do
    offers "bash completes files after $option" "$scratch/files/file $scratch/files/folder" serve "$option" "$scratch/files/"
done
offers "bash completes files after =" "$scratch/files/file" serve --tls-key = "$scratch/files/fi"
offers "bash completes folders after --data" "$scratch/files/folder" serve --data "$scratch/files/"
offers "bash knows the verb behind options" 'beat close list open' --store sqlite : /tmp/x.db --json session ''
while IFS='|' read -r verb options; do
    # shellcheck disable=SC2086
    out=$(complete_at $verb --) wanted=$(tr ' ' '\n' <<<"$options" | sort | tr '\n' ' ') err='' code=0
    check "bash completes every option of '$verb'" test "$out" = "$wanted"
done < <(tables)

# Zsh

if command -v zsh >/dev/null; then
    check "the zsh completion is valid" zsh -n "$HF_SOURCE_ROOT/completions/_holdfast"
    out=$(cd "$scratch" && HOLDFAST_FPATH=$HF_SOURCE_ROOT/completions zsh -f -c '
        fpath=($HOLDFAST_FPATH $fpath); autoload -Uz compinit; compinit -u -d "$PWD/dump"; print -r -- ${_comps[holdfast]}' 2>&1)
    check "zsh finds it for holdfast" test "$out" = _holdfast
    zsh_offers() { # SENTENCE LINE WORD...
        local sentence=$1
        shift
        check "$sentence" env TMPDIR="$scratch" zsh -f "$HF_SOURCE_ROOT/tests/cli/complete.zsh" "$HF_SOURCE_ROOT/completions" "$@"
    }
    zsh_offers "zsh completes verbs" 'holdfast ' session acquire force-release restore
    zsh_offers "zsh completes a noun's verbs" 'holdfast session ' open beat close list
    zsh_offers "zsh completes a noun's options" 'holdfast session open --' --idle --no-remember --replaces
    zsh_offers "zsh completes options behind options" 'holdfast --json release --' --all --fence --session
    zsh_offers "zsh completes modes" 'holdfast acquire policy/1 --mode=' exclusive shared
    zsh_offers "zsh completes policies" 'holdfast type set policy --policy=' optimistic exclusive-write exclusive-read read-write
else
    skipped "the zsh completion is valid" "zsh is not installed"
fi
missing=$(tables | tr '|' ' ' | tr ' ' '\n' | grep . | sort -u | while read -r word; do
    grep -qE -- "(^|[^a-z-])${word%=}([^a-z-]|\$)" "$HF_SOURCE_ROOT/completions/_holdfast" || echo "$word"
done)
check "the zsh completion knows every verb and option ($missing)" test -z "$missing"

# The man page

if command -v mandoc >/dev/null; then
    out=$(mandoc -T lint -W all "$HF_SOURCE_ROOT/docs/man/holdfast.1" 2>&1)
    check "the man page is well-formed" test -z "$out"
    mandoc -T ascii "$HF_SOURCE_ROOT/docs/man/holdfast.1" | sed 's|.\x08||g' | tr -s ' \t\n' ' ' >"$scratch/man"
    missing=$(tables | while IFS='|' read -r verb options; do
        grep -qF "holdfast $verb" "$scratch/man" || echo "$verb"
        for option in $options; do grep -qF -- "${option%=}" "$scratch/man" || echo "$option"; done
    done)
    check "the man page has every verb and option ($missing)" test -z "$missing"
else
    skipped "the man page is well-formed" "mandoc is not installed"
fi

# Its script, whose report may take as long as its locks are asked for

awk '/^In a script/ { found = 1 } found && /^\.Ed/ { exit } found && shown { print } found && /^\.Bd/ { shown = 1 }' \
    "$HF_SOURCE_ROOT/docs/man/holdfast.1" >"$scratch/script"
mkdir "$scratch/tools"
printf '#!/bin/sh\nholdfast session list --json >"%s" && holdfast list --json >"%s"\n' "$scratch/sessions" "$scratch/locks" >"$scratch/tools/make-report"
printf '#!/bin/sh\n: >"%s"\n' "$scratch/published" >"$scratch/tools/publish-report"
chmod +x "$scratch/tools/"*
out=$(PATH=$scratch/tools:$(dirname "$HOLDFAST"):$PATH sh -eu "$scratch/script" 2>&1)
code=$? err=''
expect "the man page's script does what it says" 0 'Acquired report/2026*Acquired ledger/7*Closed the session; 2 locks were released.'
check "up to its end" test -e "$scratch/published"
check "its session and its locks last as long as they were asked for" python3 -c 'import json, re, sys
from datetime import datetime
script, sessions, locks = (open(name).read() for name in sys.argv[1:])
asked = 60 * int(re.search("--ttl ([0-9]+)m", script)[1])
[session] = json.loads(sessions)["sessions"]
assert session["idle_seconds"] >= asked, session
held = json.loads(locks)["locks"]
lasting = [(datetime.fromisoformat(l["expires"][:-1]) - datetime.fromisoformat(l["since"][:-1])).total_seconds() for l in held]
assert len(held) == 2 and min(lasting) > asked - 30, lasting' "$scratch/script" "$scratch/sessions" "$scratch/locks"

# The story that `make story` plays

out=$("$HF_SOURCE_ROOT/examples/story.sh" 2>&1)
code=$? err=''
expect "the story goes as told" 0 "*is being edited by Alice Chen*Bob Smith asks for policy/12345*forced*Now you.*"
check "the story shows no key" test -z "$(grep -E '[0-9a-f]{32}\.[0-9a-f]{32}' <<<"$out")"

finish
