#!/bin/bash
# Runs one fuzzer on what is in the repository: run.sh PROGRAM NAME [replay | fuzz [FOLDER]]. With "replay" that is all; otherwise
# it goes on with what it finds itself, for HF_FUZZ_SECONDS, else ten minutes. FOLDER keeps what it finds for the next time.
set -eu
program=$1 name=$2 how=${3:-fuzz}
here=$(cd "$(dirname "$0")" && pwd)
if [ "$how" = replay ]; then
    exec "$program" -runs=0 -timeout=20 -rss_limit_mb=2048 -max_len=8192 "$here/corpus/$name"
fi
found=${4:-${TMPDIR:-/tmp}/fuzz-$name-$$}
seconds=${HF_FUZZ_SECONDS:-600}
mkdir -p "$found/corpus"
options=(-max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1
    -artifact_prefix="$found/")
[ -e "$here/$name.dict" ] && options+=(-dict="$here/$name.dict")
exec "$program" "${options[@]}" "$found/corpus" "$here/corpus/$name"
