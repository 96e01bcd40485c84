# shellcheck shell=bash
# The surface from SQL, for psql.sh and mariadb.sh. They define: check_sql TYPE ID SESSION FENCE, begin_sql LEVEL, table (the
# application's), view (holdfast's), levels (those of the database), old_snapshot (what a check on an old snapshot comes to);
# save_sql and remove_sql TYPE ID VERSION USER SESSION FENCE (words of SQL; they answer the fence), expect_sql TYPE ID VERSION,
# versions (the view), kept (the table of covered saves), settings (the table meta).

body() { tell control "SELECT body FROM $table WHERE id = '$1';"; }
# SENTENCE ID WANTED: is that saved?
saved() {
    body "$2"
    check "$1" test "$out" = "$3"
}
# LEVEL ID SESSION FENCE TEXT: a whole save, as an application makes it
save() {
    tell app "$(begin_sql "$1")"
    tell app "$(check_sql doc "$2" "$3" "$4")"
    local refusal=$out
    if [[ $refusal == *ERROR* ]]; then
        tell app "ROLLBACK;"
    else
        tell app "UPDATE $table SET body = '$5' WHERE id = '$2'; COMMIT;"
    fi
    out=$refusal
}

saves() {
    local level
    for level in "${levels[@]}"; do
        opens alice
        takes alice doc/1 --purpose renewal
        local alice=$session first=$fence
        save "$level" 1 "$alice" "$first" "by alice"
        saved "$level: a save with the right fence is done" 1 "by alice"
        save "$level" 1 "$alice" $((first - 1)) "wrong"
        heard "$level: another fence is refused" "*ERROR*23H01*Fence $((first - 1)) of doc/1 is of another grant; that of the live one is $first.*"
        save "$level" 1 "$alice" NULL "wrong"
        heard "$level: no fence is refused" "*ERROR*23H01*A fence is needed to save doc/1; pass the one that acquire answered.*"
        save "$level" 1 "$alice" 0 "wrong"
        heard "$level: fence 0 is refused" "*ERROR*23H01*A fence is needed*"
        run downgrade doc/1
        save "$level" 1 "$alice" "$first" "wrong"
        heard "$level: a shared lock is not enough" "*ERROR*23H01*The session holds doc/1 only to read; acquire it exclusively to save.*"
        run release doc/1
        save "$level" 1 "$alice" "$first" "late"
        heard "$level: a save after the release is refused" "*ERROR*23H01*Your editing session has expired; reload the record.*"
        takes alice doc/1
        save "$level" 1 "$alice" "$first" "late"
        heard "$level: ... also when the session holds it anew" "*ERROR*23H01*is of another grant*"
        as bob
        run force-release doc/1 --reason "Alice went home"
        opens bob
        takes bob doc/1 --purpose renewal
        save "$level" 1 "$alice" "$first" "late"
        heard "$level: a save after it was taken over names who has it" \
            "*ERROR*23H01*doc/1 is being edited by bob Smith since ??:?? UTC (\"renewal\"); it frees at *"
        saved "$level: none of those was saved" 1 "by alice"
        save "$level" 1 "$session" "$fence" "by bob"
        saved "$level: who took it over saves" 1 "by bob"
        run session close
        save "$level" 1 "$session" "$fence" "late"
        heard "$level: a save after the session was closed is refused" "*ERROR*23H01*Your editing session has expired*"
        opens carol
        takes carol doc/1 --ttl 300ms
        sleep 0.4
        save "$level" 1 "$session" "$fence" "late"
        heard "$level: a save after the lock's own bound is refused" "*ERROR*23H01*Your editing session has expired*"
        if [[ $level == "${levels[0]}" ]]; then
            opens_and_takes carol 1000 doc/1
            sleeps 110
            save "$level" 1 "$session" "$fence" "late"
            heard "$level: a save after the idle bound is refused" "*ERROR*23H01*Your editing session has expired*"
        fi
        # MariaDB and MySQL have room for 128 characters: where the time needs its date, the end is left out.
        local end=" or when all of them have closed it"
        [[ $old_snapshot == 23H01 ]] && end="?($end)"
        opens dora
        takes dora doc/1 --mode shared
        local hour # may turn before the session is open, and after
        hour=$(date -u -d '+2 hours' +%H)
        opens emil --idle 2h
        hour+="|$(date -u -d '+2 hours' +%H)"
        takes emil doc/1 --mode shared
        save "$level" 1 "$alice" "$first" "late"
        heard "$level: a save while several read it says when the last of them is gone" \
            "*ERROR*23H01*doc/1 is being read by dora Smith and 1 other since ??:?? UTC; it frees at ?(????-??-?? )@($hour):?? UTC$end.*"
        run session close
        as dora
        run session close
        saved "$level: none of those was saved either" 1 "by bob"
    done
}

# While the transaction of a save is open nobody takes the lock away; beats go on.
open_saves() {
    local level bound
    for level in "${levels[@]}"; do
        opens alice
        for bound in 1500 3000 6000 12000; do # on a busy machine it may come before the save is open
            takes alice doc/2 --ttl ${bound}ms
            tell app "$(begin_sql "$level")"
            tell app "$(check_sql doc 2 "$session" "$fence")"
            [[ $out != *ERROR* ]] && break
            tell app "ROLLBACK;"
        done
        as bob
        run force-release doc/2 --reason "in a hurry"
        expect "$level: no forced release while a save is open" 3 "*"
        opens bob
        sleeps 100
        run acquire doc/2
        expect "$level: nobody steps over the lock while a save is open, though its bound has come" 3 "*"
        as alice
        run session beat
        # At that level MariaDB and MySQL lock what is only read, the session too.
        [[ $level$old_snapshot == SERIALIZABLE23H01 ]] || expect "$level: beats go on while a save is open" 0 "*"
        tell app "UPDATE $table SET body = '$level' WHERE id = '2'; COMMIT;"
        saved "$level: the save is done" 2 "$level"
        takes bob doc/2
        expect "$level: then the lock can be taken" 0 "*"
        run session close
    done
}

# A transaction that has looked before the lock was taken away, or before a beat.
old_snapshots() {
    local level
    for level in "${levels[@]}"; do
        [[ $level == "READ COMMITTED" ]] && continue
        opens alice
        takes alice doc/3
        local alice=$session first=$fence
        tell app "$(begin_sql "$level")"
        tell app "SELECT count(*) FROM $table;"
        as bob
        run force-release doc/3 --reason "Alice went home"
        opens bob
        takes bob doc/3
        tell app "$(check_sql doc 3 "$alice" "$first")"
        heard "$level: a save on a snapshot from before the take-over is refused" "*ERROR*$old_snapshot*"
        tell app "ROLLBACK;"
        run session close

        beat_after_snapshot "$level"
    done
}

# The session's bound in the snapshot is over, the one of a later beat is not.
beat_after_snapshot() {
    local idle told
    for idle in 2000 4000 10000 30000; do # on a busy machine the beat, or the check, may come too late
        opens_and_takes alice $idle doc/3
        tell app "$(begin_sql "$1")"
        tell app "SELECT count(*) FROM $table;"
        sleeps 40
        run session beat
        sleeps 65
        tell app "$(check_sql doc 3 "$session" "$fence")"
        told=$out
        tell app "ROLLBACK;"
        as alice
        run session close
        [[ $told != *ERROR* || $told == *40001* ]] && break
    done
    out=$told
    check "$1: a beat after the snapshot counts, or the transaction is to be run again" eval '[[ $out != *ERROR* || $out == *40001* ]]'
}

# The clock is read after the wait, not when the call began.
waits() {
    opens alice
    takes alice doc/4 --ttl 600ms
    tell control "$(begin_sql "READ COMMITTED")"
    tell control "SELECT fence FROM $anchor WHERE id = '4' FOR UPDATE;"
    tell app "$(begin_sql "READ COMMITTED")"
    send app "$(check_sql doc 4 "$session" "$fence")"
    sleep 0.8
    check "check waits for whoever changes the lock" eval '! answered app'
    tell control "ROLLBACK;"
    hear app
    heard "... and then judges by the time after the wait" "*ERROR*23H01*Your editing session has expired*"
    tell app "ROLLBACK;"
    run session close
}

shows() {
    opens alice
    takes alice "doc/ä 'quoted\" \\ %_ 😀 " --purpose "with 'quotes'"
    tell control "SELECT type, id, mode, fence, purpose, session, $user_column, name FROM $view;"
    heard "the view shows the lock, byte for byte" \
        "doc*ä 'quoted\" \\\\* %_ 😀 *exclusive*$fence*with 'quotes'*$session*alice*alice Smith"
    tell control "SELECT count(*) FROM $view WHERE expires > $now AND since <= $now;"
    heard "its times are of today" "1"
    tell control "SELECT * FROM $view;"
    check "the view shows no key and no hash" test -z "$(grep -oE '[0-9a-f]{64}' <<<"$out")"
    run session close
    tell control "SELECT count(*) FROM $view;"
    heard "the view shows live locks only" "0"
}

# SENTENCE VERSION GLOB: is doc/ID at that version, saved by that one? Columns are separated by | or tabs.
version_is() {
    tell control "SELECT version, gone, $user_column, name FROM $versions WHERE type = 'doc' AND id = '$2';"
    heard "$1" "$3"
}

# Saving by version, without locks and under them: what the law says, and what it leaves behind.
saves_by_version() {
    local word sql wanted
    tell app "$(save_sql doc 10 NULL alice NULL NULL)"
    check "a new record is saved, and its fence answered" eval '[[ $out =~ ^[0-9]{16}$ ]]'
    local first=$out
    tell app "$(save_sql doc 10 1 bob NULL NULL)"
    check "... and saved again, with a higher one" test "$out" -gt "$first"
    version_is "the view says which version, and by whom" 10 "2[|	]@(f|0)[|	]bob[|	]bob"
    # Each is refused, and changes nothing.
    while IFS='~' read -r word sql wanted; do
        tell app "$sql"
        heard "refused: $word" "*ERROR*$wanted*"
    done <<ROWS
an old version~$(save_sql doc 10 1 carol NULL NULL)~23H02*doc/10 was changed by bob at ??:?? UTC (you read version 1, it is now 2).
a premise that is so no more~$(expect_sql doc 10 1)~23H02*doc/10 was changed by bob at ??:?? UTC (you read version 1, it is now 2).
what is there already~$(save_sql doc 10 NULL carol NULL NULL)~23H02*doc/10 is there already: bob saved it at ??:?? UTC, and it is now version 2.
... as a premise~$(expect_sql doc 10 NULL)~23H02*is there already*
what was never saved~$(save_sql doc 11 3 carol NULL NULL)~23H02*doc/11 was never saved (you read version 3).
... as a premise~$(expect_sql doc 11 3)~23H02*doc/11 was never saved (you read version 3).
neither number nor lock~$(save_sql doc 10 0 carol NULL NULL)~22023*Nothing says what doc/10 was when it was read*
a negative version~$(save_sql doc 10 -1 carol NULL NULL)~22023*The version is negative*
... as a premise~$(expect_sql doc 10 0)~22023*There is no version 0*
deleting what is absent~$(remove_sql doc 10 NULL carol NULL NULL)~22023*can't be deleted*
nobody~$(save_sql doc 10 2 "" NULL NULL)~22023*The user is missing*
a fence without a session~$(save_sql doc 10 2 carol NULL 7)~22023*name the session too*
a session that is none~$(save_sql doc 10 2 carol "'nosuch'" NULL)~23H01*Your editing session has expired*
a type with a capital~$(save_sql Doc 10 2 carol NULL NULL)~22023*The type may only hold*
an empty id~$(save_sql doc "" 2 carol NULL NULL)~22023*The id is empty*
ROWS
    version_is "none of these was saved" 10 "2[|	]*bob*"
    tell app "$(remove_sql doc 10 2 carol NULL NULL)"
    version_is "what is deleted keeps its number, and by whom" 10 "3[|	]@(t|1)[|	]carol*"
    tell app "$(save_sql doc 10 3 dora NULL NULL)"
    heard "... and is a conflict" "*23H02*doc/10 was deleted by carol at ??:?? UTC (you read version 3, it is now 3).*"
    tell app "$(save_sql doc 10 NULL dora NULL NULL)"
    version_is "... and can be made anew, with the next number" 10 "4[|	]@(f|0)[|	]dora*"
    run events --json
    expect_json "each left its event" 0 '[(e["kind"], e["user"]) for e in d["events"] if e["resource"] == "doc/10"] ==
        [("saved", "alice"), ("saved", "bob"), ("deleted", "carol"), ("saved", "dora")]'

    # The request id of a save that is covered is kept for a day; no fence is below the floor.
    tell control "UPDATE $anchor SET saved_request = 'once  dora' WHERE id = '10';"
    local floor=$((1000000 * ($(date +%s) + 3600)))
    tell control "INSERT INTO $settings (name, value) VALUES ('fence_floor', '$floor');"
    tell app "$(save_sql doc 10 4 alice NULL NULL)"
    check "no fence is below the floor" test "$out" = $((floor + 1))
    tell control "SELECT request, version FROM $kept WHERE id = '10';"
    heard "what a save covers is kept" "once  dora[|	]4"
    tell control "DELETE FROM $settings WHERE name = 'fence_floor';"
}

saves_under_locks() {
    opens alice
    takes alice doc/12 --purpose renewal
    local alice=$session first=$fence
    tell app "$(save_sql doc 12 NULL bob NULL NULL)"
    heard "locked by another: refused, with who" "*23H01*doc/12 is being edited by alice Smith since ??:?? UTC (\"renewal\"); it frees at *"
    tell app "$(save_sql doc 12 NULL NULL "'$alice'" "$first")"
    check "the holder saves" eval '[[ $out =~ ^[0-9]{16}$ ]]'
    tell app "$(save_sql doc 12 0 alice "'$alice'" NULL)"
    version_is "... also without a number, the lock is the check" 12 "2[|	]@(f|0)[|	]alice[|	]alice Smith"
    tell app "$(save_sql doc 12 1 alice "'$alice'" "$first")"
    heard "... with a number both are compared" "*23H02*doc/12 was changed by alice Smith*"
    tell app "$(save_sql doc 12 2 alice "'$alice'" $((first + 1)))"
    heard "another fence is refused" "*23H01*Fence $((first + 1)) of doc/12 is of another grant; that of the live one is $first.*"
    tell app "$(save_sql doc 12 2 bob "'$alice'" NULL)"
    heard "another user than the session's is refused" "*22023*The session is of the user alice*"
    tell app "$(save_sql doc 13 NULL alice "'$alice'" "$first")"
    heard "a fence of a lock that is not held is refused" "*23H01*The session does not hold doc/13; acquire it first.*"
    run holds doc/12
    expect "the lock is still held" 0 "*"
    run downgrade doc/12
    tell app "$(save_sql doc 12 2 alice "'$alice'" NULL)"
    heard "a shared lock is not enough" "*23H01*The session holds doc/12 only to read*"
    run session close
    tell app "$(save_sql doc 12 2 alice "'$alice'" NULL)"
    heard "a session that was closed saves nothing" "*23H01*Your editing session has expired*"

    run type set order --policy exclusive-write
    tell app "$(save_sql order 1 NULL alice NULL NULL)"
    heard "the policy wants a lock" "*23H01*The policy of order is exclusive-write: whoever saves needs an exclusive lock*"
    opens alice
    tell app "$(save_sql order 1 NULL alice "'$session'" NULL)"
    heard "... of the session too" "*23H01*The session does not hold order/1; acquire it first.*"
    takes alice order/1
    tell app "$(save_sql order 1 NULL alice "'$session'" NULL)"
    check "... who has it saves" eval '[[ $out =~ ^[0-9]{16}$ ]]'

    # A dead hold is ended as acquire ends it.
    takes alice doc/14 --ttl 200ms
    sleep 0.3
    tell app "$(save_sql doc 14 NULL bob NULL NULL)"
    check "a dead lock keeps nobody from saving" eval '[[ $out =~ ^[0-9]{16}$ ]]'
    run events --json
    expect_json "... it leaves its event" 0 '[(e["kind"], e["user"]) for e in d["events"] if e["resource"] == "doc/14"] ==
        [("acquired", "alice"), ("expired", "alice"), ("saved", "bob")]'
    run session beat --json
    expect_json "... and its session is told" 0 '[l["resource"] for l in d["lost"]] == ["doc/14"] and d["locks"] == 1'
    run session close
}

# What is relied on, there or not, stays as it is until the transaction ends, at every level.
pins() {
    local level number=0 id
    open_client third
    for level in "${levels[@]}"; do
        number=$((number + 1)) id=2$number
        tell control "$(save_sql doc "$id" NULL alice NULL NULL)"
        tell app "$(begin_sql "$level")"
        tell app "$(expect_sql doc "$id" 1) $(expect_sql doc "3$number" NULL)"
        check "$level: both premises hold" eval '[[ $out != *ERROR* ]]'
        if [[ $level == "${levels[0]}" ]]; then
            opens bob
            run acquire "doc/$id"
            expect "no store changes what is relied on" 3 "*"
            run session close
        fi
        send control "$(save_sql doc "$id" 1 carol NULL NULL)"
        send third "$(save_sql doc "3$number" NULL carol NULL NULL)"
        sleep 0.2
        check "$level: nobody saves what is relied on" eval '! answered control'
        check "$level: ... nor what is relied on not to be there" eval '! answered third'
        tell app "COMMIT;"
        hear control
        check "$level: ... until the transaction has ended" eval '[[ $out =~ ^[0-9]{16}$ ]]'
        hear third
        check "$level: ... likewise" eval '[[ $out =~ ^[0-9]{16}$ ]]'
    done
    close_client third
}

# A transaction that has looked before someone else saved, or took and gave back the lock.
old_saves() {
    local level id=40
    for level in "${levels[@]}"; do
        [[ $level == "READ COMMITTED" ]] && continue
        id=$((id + 1))
        tell control "$(save_sql doc $id NULL alice NULL NULL) $(save_sql doc $id 1 alice NULL NULL)"
        tell app "$(begin_sql "$level")"
        tell app "SELECT count(*) FROM $table WHERE id = 'x';"
        tell control "$(save_sql doc $id 2 bob NULL NULL)"
        tell app "$(save_sql doc $id 2 carol NULL NULL)"
        heard "$level: a save on a snapshot from before another save is refused" "*ERROR*@(40001|23H02)*"
        tell app "ROLLBACK;"
        tell app "$(begin_sql "$level")"
        tell app "SELECT count(*) FROM $table WHERE id = 'x';"
        opens bob
        takes bob doc/$id
        run session close
        tell app "$(save_sql doc $id 3 carol NULL NULL)"
        # At that level MariaDB and MySQL read what is committed now.
        [[ $level$old_snapshot == SERIALIZABLE23H01 ]] ||
            heard "$level: ... and run again after a lock came and went" "*ERROR*40001*"
        tell app "ROLLBACK;"
    done
}

# A tax is computed from an address, which changes before the bill is saved.
billing() {
    tell control "INSERT INTO $table VALUES ('7', 'Bern'), ('bill', '');
        $(save_sql address 7 NULL alice NULL NULL) $(save_sql bill 1 NULL bob NULL NULL)"
    tell app "SELECT body FROM $table WHERE id = '7';" # Bob reads version 1 of the address
    local tax="8.1 % of $out"
    tell control "BEGIN; $(save_sql address 7 1 alice NULL NULL) UPDATE $table SET body = 'Munich' WHERE id = '7'; COMMIT;"
    tell app "$(begin_sql "READ COMMITTED") $(expect_sql address 7 1)"
    heard "billing: with a premise the change of the address is noticed" \
        "*ERROR*23H02*address/7 was changed by alice at ??:?? UTC (you read version 1, it is now 2).*"
    tell app "ROLLBACK;"
    saved "billing: ... and no bill is saved" bill ""
    tell app "BEGIN; $(save_sql bill 1 1 bob NULL NULL) UPDATE $table SET body = '$tax' WHERE id = 'bill'; COMMIT;"
    saved "billing: without one it goes unnoticed: the tax is that of the old address" bill "8.1 % of Bern"
}

# An account that may check, and nothing else: the scripts define allow_only_check and only_check (its client).
only_checks() {
    opens alice
    takes alice doc/5
    tell control "$(allow_only_check)"
    local client=("${only_check[@]}")
    open_client only
    tell only "$(check_sql doc 5 "$session" "$fence")"
    check "an account needs nothing but the right to check" eval '[[ $out != *ERROR* ]]'
    if [[ $old_snapshot == 40001 ]]; then # a procedure of MySQL answers nothing
        heard "... which answers the fence" "*$fence*"
    fi
    tell only "$(check_sql doc 5 "$session" $((fence + 1)))"
    heard "... and is refused like any other" "*ERROR*23H01*is of another grant*"
    tell only "SELECT * FROM $anchor;"
    heard "... and reads no table" "*ERROR*denied*"
    tell only "SELECT * FROM $view;"
    heard "... nor the view, unless it may" "*ERROR*denied*"
    tell only "$(save_sql doc 50 NULL eve NULL NULL)"
    heard "... and saves no version" "*ERROR*denied*"
    tell control "$(allow_saves)"
    tell only "$(expect_sql doc 51 NULL) $(save_sql doc 50 NULL eve NULL NULL)"
    check "an account that may save needs no table either" eval '[[ $out =~ [0-9]{16}$ ]]'
    tell only "$(remove_sql doc 50 1 eve NULL NULL)"
    heard "... and to delete is a right of its own" "*ERROR*denied*"
    close_client only
    tell control "$(forget_only_check)"
    as alice
    run session close
}

surface() {
    run install "$HOLDFAST_STORE"
    expect "install" 0 "Installed holdfast *"
    open_client control
    open_client app
    tell control "CREATE TABLE $table (id varchar(20) PRIMARY KEY, body varchar(100)); $settle
        INSERT INTO $table VALUES ('1', ''), ('2', ''), ('3', ''), ('4', '');"
    shows
    saves
    open_saves
    old_snapshots
    waits
    only_checks
    saves_by_version
    saves_under_locks
    pins
    old_saves
    billing
    tell control "DROP TABLE $table;"
    close_client app
    close_client control
    run uninstall "$HOLDFAST_STORE" --force
    expect "uninstall" 0 "Removed holdfast*"
}
