#!/bin/bash
# Runs one fuzzer for a while on what is in the repository and what it finds itself: run.sh PROGRAM NAME [FOLDER].
# FOLDER keeps what it finds for the next time. For HF_FUZZ_SECONDS, else HF_TEST_SECONDS, else a minute, or ten with
# HF_TEST_LONG.
set -eu
program=$1 name=$2
here=$(cd "$(dirname "$0")" && pwd)
found=${3:-${TMPDIR:-/tmp}/fuzz-$name-$$}
seconds=${HF_FUZZ_SECONDS:-${HF_TEST_SECONDS:-$([ -n "${HF_TEST_LONG:-}" ] && echo 600 || echo 60)}}
mkdir -p "$found/corpus"
options=(-max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1
    -artifact_prefix="$found/")
[ -e "$here/$name.dict" ] && options+=(-dict="$here/$name.dict")
exec "$program" "${options[@]}" "$found/corpus" "$here/corpus/$name"
