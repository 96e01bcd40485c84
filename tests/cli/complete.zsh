#!/bin/zsh -f
# Types LINE and a tab into an interactive zsh that has the completion, and waits for all of WORD... to be offered.
#   complete.zsh FOLDER LINE WORD...
zmodload zsh/zpty zsh/datetime
folder=$1 line=$2
shift 2
zpty -b shell zsh -f -i
zpty -w shell "PS1=; fpath=($folder \$fpath); autoload -Uz compinit; compinit -u -d \$TMPDIR/zcompdump; LISTMAX=1000; echo REA''DY"

seen='' chunk=''
await() { # WORD...: until all have been seen; 10 seconds at most
    local word until=$((EPOCHREALTIME + 10))
    for word; do
        while [[ $seen != *$word* ]]; do
            zpty -r -t shell chunk && seen+=$chunk || sleep 0.02
            ((EPOCHREALTIME < until)) || { print -r -- "# no $word in: ${(V)seen}"; exit 1; }
        done
    done
}
await READY
seen=''
zpty -w -n shell "$line"$'\t'
await "$@"
zpty -d shell
