#!/bin/bash
# The systemd units, as they are installed, by systemd's own judgement.
source "$(dirname "$0")/lib.sh"
: "${HF_TEST_UNIT:?set HF_TEST_UNIT to the unit that was made}"

# The program need not be installed.
sed -E "s|^ExecStart=[^ ]*/holdfast |ExecStart=$HOLDFAST |" "$HF_TEST_UNIT" >"$scratch/holdfast.service"
cp "$HF_SOURCE_ROOT/packaging/holdfast.socket" "$scratch"
check "the unit runs the program of this build" grep -qxF "ExecStart=$HOLDFAST serve" "$scratch/holdfast.service"

out=$(systemd-analyze verify --man=no "$scratch/holdfast.service" "$scratch/holdfast.socket" 2>&1)
code=$? err=''
check "systemd takes the units" test "$code" = 0 -a -z "$out"
sed 's/^WatchdogSec=.*/WatchdogSecs=60s/' "$scratch/holdfast.service" >"$scratch/wrong.service"
out=$(systemd-analyze verify --man=no "$scratch/wrong.service" 2>&1)
check "and would not take a wrong one" test -n "$out"
out=$(systemd-analyze security --offline=true --threshold=20 --no-pager "$scratch/holdfast.service" 2>&1)
code=$?
check "the service is closed to what it does not need" test "$code" = 0

check "a reload needs no program beyond the shell" grep -qxF "ExecReload=/bin/sh -c 'kill -HUP \"\$MAINPID\"'" "$scratch/holdfast.service"
check "systemd never gives it up" grep -qxF StartLimitIntervalSec=0 <(sed '/^\[Service\]/,$d' "$scratch/holdfast.service")
check "it leaves no core, which would hold secrets" grep -qxF LimitCORE=0 "$scratch/holdfast.service"

# What its comment advises for the key: systemd must take it, and the server must find new files after a reload. Credentials are copied at the start only.
dropin=$(sed -nE 's/^#   (\[[A-Z][a-z]+\]|[A-Z][A-Za-z]+=.*)$/\1/p' "$HF_TEST_UNIT")
(cat "$scratch/holdfast.service" && echo "$dropin") >"$scratch/key.service"
out=$(systemd-analyze verify --man=no "$scratch/key.service" 2>&1)
code=$?
check "systemd takes the drop-in that the unit advises for a key" test "$code" = 0 -a -z "$out" -a -n "$dropin"
check "with it a reload finds the new certificate" test "${dropin/LoadCredential/}" = "$dropin"

finish
