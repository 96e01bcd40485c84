#!/bin/bash
# make install and make uninstall, below a folder of the test's.
source "$(dirname "$0")/lib.sh"
build=$(dirname "$HOLDFAST")
stage=$scratch/stage
DESTDIR=$stage meson install -C "$build" --no-rebuild --quiet >"$scratch/out" 2>&1
check "what is installed is there" test -x "$(find "$stage" -path '*/bin/holdfast')"
check "... with the headers" test -s "$(find "$stage" -path '*/include/holdfast/holdfast.h')"
check "... and the stores in modules" test -s "$(find "$stage" -path '*/holdfast/holdfast-postgres.so')"
foreign=$(dirname "$(find "$stage" -path '*/include/holdfast/holdfast.h')")/foreign.h
touch "$foreign"
"$HF_SOURCE_ROOT/tools/uninstall" "$build" "$stage" >"$scratch/out" 2>&1
check "uninstalling leaves what others have put there" test "$(find "$stage" -type f -o -type l)" = "$foreign"
rm "$foreign"
"$HF_SOURCE_ROOT/tools/uninstall" "$build" "$stage" >"$scratch/out" 2>&1
check "... and no folder of its own" test -z "$(find "$stage" -name 'holdfast*')"
finish
