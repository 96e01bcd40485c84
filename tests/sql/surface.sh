# shellcheck shell=bash
# The surface from SQL, for psql.sh and mariadb.sh. They define: check_sql TYPE ID SESSION FENCE, begin_sql LEVEL, table (the
# application's), view (holdfast's), levels (those of the database), old_snapshot (what a check on an old snapshot comes to).

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
    local level try
    for level in "${levels[@]}"; do
        opens alice
        for try in 1 2 3; do # on a busy machine the bound may come before the save is open
            takes alice doc/2 --ttl 1500ms
            tell app "$(begin_sql "$level")"
            tell app "$(check_sql doc 2 "$session" "$fence")"
            [[ $out != *ERROR* ]] && break
            tell app "ROLLBACK;"
        done
        as bob
        run force-release doc/2 --reason "in a hurry"
        expect "$level: no forced release while a save is open" 3 "*"
        opens bob
        sleep 1.5
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
    for idle in 2000 4000 10000; do # on a busy machine the beat, or the check, may come too late
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
    tell control "DROP TABLE $table;"
    close_client app
    close_client control
    run uninstall "$HOLDFAST_STORE" --force
    expect "uninstall" 0 "Removed holdfast*"
}
