#!/bin/sh
# A version compared when saving, on a table of its own in {{database_title}}: sh tests.sh {{client_place}}
set -u
place=${1:?Say where it may make a table, as in the line above.}
table=holdfast_test_$$
failed=0
{{#postgres}}
run() { psql -qAtX "$place" -c "$1"; }
save() { run "WITH done AS ($1 RETURNING 1) SELECT count(*) FROM done"; }
{{/postgres}}
{{#mysql_like}}
run() { mariadb $place -BN -e "$1"; }
save() { run "$1; SELECT ROW_COUNT()"; }
{{/mysql_like}}
{{#sqlite}}
run() { sqlite3 "$place" "$1"; }
save() { run "$1; SELECT changes()"; }
{{/sqlite}}
check() { # SENTENCE WANTED GOT
    if [ "$2" = "$3" ]; then echo "ok - $1"; else echo "not ok - $1 (wanted $2, got $3)"; failed=1; fi
}
trap 'run "DROP TABLE $table" >/dev/null' EXIT
run "CREATE TABLE $table (id INTEGER PRIMARY KEY, name VARCHAR(20))" || exit 1
run "{{columns_here}}" || exit 1
run "INSERT INTO $table (id, name) VALUES (1, 'first')"

change() { # VERSION NAME USER
    save "UPDATE $table SET name = '$2', version = version + 1, modified_by = '$3', modified_at = {{now}} WHERE id = 1 AND version = $1"
}
read_by_both=$(run "SELECT version FROM $table WHERE id = 1")
check "the first of two saves" 1 "$(change "$read_by_both" alice alice)"
check "the second finds no row" 0 "$(change "$read_by_both" bob bob)"
check "nothing of it is there" alice "$(run "SELECT name FROM $table WHERE id = 1")"
check "who was faster is known" alice "$(run "SELECT modified_by FROM $table WHERE id = 1 AND modified_at IS NOT NULL")"
check "with the version read anew it is saved" 1 "$(change "$(run "SELECT version FROM $table WHERE id = 1")" bob bob)"
check "a delete with an old version finds no row" 0 "$(save "DELETE FROM $table WHERE id = 1 AND version = $read_by_both")"
check "with the present one it does" 1 "$(save "DELETE FROM $table WHERE id = 1 AND version = 2")"
exit $failed
