#!/bin/bash
# tools/run-demo on data that another version of holdfast made: it is moved aside, and the demo begins anew.
source "$(dirname "$0")/lib.sh"

data=$scratch/run
mkdir "$data"
printf '.read %s\n' "$HF_SOURCE_ROOT/tests/cli/older/sqlite.sql" | sqlite3 "$data/holdfast.db"
before=$(sha256sum <"$data/holdfast.db")

# Runs it until it is ready, then ends it.
play() {
    rm -f "$scratch/said"
    "$HF_SOURCE_ROOT/tools/run-demo" "$(dirname "$HOLDFAST")" "$data" >"$scratch/said" 2>"$scratch/log" &
    local demo=$!
    for _ in {1..600}; do
        grep -qs '^Ready' "$scratch/said" && break
        kill -0 $demo 2>/dev/null || break
        sleep 0.1
    done
    kill -INT $demo 2>/dev/null
    wait $demo
    out=$(cat "$scratch/said")
}

play
check "it is ready" grep -q '^Ready' "$scratch/said"
check "it says that older data was moved, and where" grep -q "another version of holdfast. It was moved to $data-20" "$scratch/said"
check "... which is as it was" test "$(sha256sum <"$data"-20*/holdfast.db)" = "$before"
play
check "its own data stays" test "$(ls -d "$data"* | wc -l) $(grep -c moved "$scratch/said")" = "2 0"

finish
