#!/bin/bash
# install and uninstall: what they make and remove in each database, and what they leave as it is.
source "$(dirname "$0")/lib.sh"

# TYPE...: someone holds a lock in $store
someone_holds() {
    as holder
    run session open --user alice --name "Alice Chen" --store "$store"
    run acquire policy/12345 --store "$store"
}

# Words

run install
expect "install wants a URL" 2 "*needs an operand*install URL*"
run install memory:
expect "memory has no tables" 2 "*has no tables to install*"
run install nonsense://x
expect "an unknown scheme is refused" 2 "*is no store*"
run install "$store" --store "$store"
expect "the URL is given once" 2 "*leave --store out*"
run install "$store" --print --json
expect "--print is no JSON" 2 "*leave --json out*"
check "none of these made a file" test ! -e "${store#sqlite:}"

# SQLite

run install "$store" --role app
expect "SQLite has no accounts" 2 "*no accounts*"
run install "$store" --print
expect "--print writes the SQL" 0 "*BEGIN IMMEDIATE;*CREATE TABLE holdfast_lock*COMMIT;"
check "... and makes nothing" test ! -e "${store#sqlite:}"
python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(open(sys.argv[2]).read())' \
    "$scratch/printed.db" "$scratch/out"
run list --store "sqlite:$scratch/printed.db"
expect "... that works" 0 "No locks are held."
run uninstall "$store"
expect "uninstall without a file" 1 "*no tables of holdfast*nothing was removed*"
check "... makes none" test ! -e "${store#sqlite:}"
run install "$store"
expect "install in SQLite" 0 "Installed holdfast as holdfast_... in sqlite:*"
someone_holds
run install "$store" --json
expect_json "install again" 0 'd["done"] == "installed" and d["namespace"] == "holdfast" and d["store"].startswith("sqlite:")'
run list
expect "... changes nothing" 0 "*policy/12345*"
python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript("CREATE TABLE mine (x); INSERT INTO mine VALUES (7);")' \
    "${store#sqlite:}"
run uninstall "$store"
expect "uninstall while locks are held" 3 "*1 lock lives in *--force*"
run list
expect "... changes nothing" 0 "*policy/12345*"
run uninstall "$store" --force --json
expect_json "uninstall --force" 0 'd["done"] == "uninstalled"'
out=$(python3 -c 'import sqlite3, sys; print([r[0] for r in sqlite3.connect(sys.argv[1]).execute("SELECT name FROM sqlite_master")])' \
    "${store#sqlite:}")
check "... leaves other tables alone" test "$out" = "['mine']"
run uninstall "$store" --print
expect "uninstall --print" 0 "*DROP TABLE IF EXISTS holdfast_lock;*"

# Tables of another form in $store.
another_form() {
    local sentence="*made by another version of holdfast*were left as they are*uninstall URL --force*"
    run install "$store"
    expect "$server: install leaves tables of another form" 6 "$sentence"
    run list --store "$store"
    expect "$server: a store of another form is not opened" 6 "$sentence"
    run uninstall "$store"
    expect "$server: uninstall leaves it, too" 6 "*made by another version of holdfast*nothing was removed*--force*"
}

server=SQLite
printf '.read %s\n' "$HF_SOURCE_ROOT/tests/cli/older/sqlite.sql" | sqlite3 "$scratch/older.db"
store=sqlite:$scratch/older.db
before=$(sha256sum <"$scratch/older.db")
another_form
check "SQLite: ... none of this changed the file" test "$(sha256sum <"$scratch/older.db")" = "$before"
check "SQLite: ... nor made others beside it" test "$(ls "$scratch"/older*)" = "$scratch/older.db"
run uninstall "$store" --force
expect "SQLite: ... but it can be removed" 0 "Removed holdfast*"
run list --store "$store"
expect "SQLite: ... and made anew" 0 "No locks are held."

# Database servers

# URL NAME: the URL with another database
database() { sed -E "s|(://[^/]*/)[^?]*|\1$2|" <<<"$1"; }

# What is the same on all of them. Defines `sql DATABASE TEXT` beforehand; objects DATABASE lists what is in it.
everywhere() {
    local server=$1 url=$2
    store=$(database "$url" "$first")
    run install "$store" --print
    expect "$server: --print writes the SQL" 0 "*CREATE TABLE *lock*CREATE *check*"
    check "$server: ... and makes nothing" test -z "$(objects "$first")"
    cp "$scratch/out" "$scratch/printed.sql"
    check "$server: ... that runs" sql_file "$first" "$scratch/printed.sql"
    run list --store "$store"
    expect "$server: ... and works" 0 "No locks are held."
    check "$server: ... and may be run again" sql_file "$first" "$scratch/printed.sql"
    run uninstall "$store" --print
    expect "$server: uninstall --print writes the SQL" 0 "*DROP TABLE *"
    sql_file "$first" "$scratch/out"
    check "$server: ... that leaves nothing" test -z "$(objects "$first")"

    run install "$store"
    expect "$server: install" 0 "Installed holdfast *"
    someone_holds
    local before
    before=$(objects "$first")
    run install "$store" --json
    expect_json "$server: install again" 0 'd["done"] == "installed" and d["namespace"] == "holdfast"'
    run list --store "$store"
    expect "$server: ... changes nothing" 0 "*policy/12345*"
    check "$server: ... and makes nothing new" test "$(objects "$first")" = "$before"
    run install "$store&namespace=other"
    expect "$server: another namespace" 0 "Installed holdfast *other*"
    run list --store "$store&namespace=other"
    expect "$server: ... is a set of tables of its own" 0 "No locks are held."
    run uninstall "$store&namespace=other"
    expect "$server: ... that is removed" 0 "Removed holdfast*other*"
    check "$server: ... with nothing else" test "$(objects "$first")" = "$before"
    run uninstall "$store"
    expect "$server: uninstall while locks are held" 3 "*1 lock lives in *--force*"
    check "$server: ... removes nothing" test "$(objects "$first")" = "$before"
    run install "$store&namespace=Not_Good"
    expect "$server: a namespace is checked" 2 "*namespace is*"
    run install "$store" --role $'a\nb'
    expect "$server: a role is checked" 2 "*role is the name of an account*"

    # Tables of another form: of an earlier build, or of a later one
    sql "$first" "UPDATE ${meta} SET value = '0123456789abcdef' WHERE name = 'schema'"
    another_form
    check "$server: ... none of this changed anything" test "$(objects "$first")" = "$before"
    run uninstall "$store" --force
    expect "$server: uninstall --force" 0 "Removed holdfast*"
    check "$server: ... leaves nothing" test -z "$(objects "$first")"
    sql_file "$first" "$older"
    before=$(objects "$first")
    check "$server: the tables of an earlier build are there" test -n "$before"
    another_form
    check "$server: ... and were left as they are" test "$(objects "$first")" = "$before"
    run uninstall "$store" --force
    expect "$server: ... but can be removed" 0 "Removed holdfast*"
    check "$server: ... without a trace" test -z "$(objects "$first")"
    run uninstall "$store"
    expect "$server: uninstall when there is nothing" 1 "*no tables of holdfast*nothing was removed*"

    # Others' tables
    sql "$first" "$foreign_lock"
    for verb in install uninstall; do
        run $verb "$store"
        expect "$server: $verb leaves others' tables" 6 "*holdfast?lock*holdfast did not make*"
    done
    run list --store "$store"
    expect "$server: a store is not opened on others' tables" 6 "*holdfast?lock*holdfast did not make*"
    check "$server: ... which stay" test "$(objects "$first")" = "lock"
    sql "$first" "$foreign_meta"
    run install "$store"
    expect "$server: ... nor on a meta of others'" 6 "*holdfast?*holdfast did not make*"
    sql "$first" "$foreign_away"

    # Many open it at once. A server that is so busy that a statement takes it ten seconds is told as lost; then one asks again.
    local i
    for i in {1..12}; do
        for _ in {1..5}; do
            "$HOLDFAST" list --store "$store" >"$scratch/many.$i" 2>&1 && break
            grep -qE 'was lost|no answer' "$scratch/many.$i" || break
        done &
    done
    wait
    check "$server: many may open a new store at once" test "$(cat "$scratch"/many.* | sort -u)" = "No locks are held."
}

# The account $account, which may not make tables, at $plain.
least_privilege() {
    local server=$1
    run uninstall "$store"
    run list --store "$plain"
    expect "$server: an account that may not make the tables is told who does" 6 "*holdfast install URL*"
    check "$server: ... and makes none" test -z "$(objects "$first")"
    run install "$store"
    run list --store "$plain"
    expect "$server: an account without rights is told how to get them" 6 "*--role*"
    run install "$store" --role "$account"
    expect "$server: install --role" 0 "*The account $account may use it.*"
    run install "$store"
    as plain
    run session open --user carol --store "$plain"
    expect "$server: the account opens sessions" 0 "*"
    for verb in "acquire a/1 b/2" "renew a/1 --ttl 1h" "session beat" "release a/1" "type set c --policy read-write" "sweep" "events" \
        "force-release b/2 --reason test" "session close"; do
        # shellcheck disable=SC2086
        run $verb --store "$plain"
        expect "$server: ... and may $verb" 0 "*"
    done
    run install "$plain"
    expect "$server: ... but not install" 6 "*may not make the tables*"
    run uninstall "$plain"
    expect "$server: ... nor uninstall" 6 "*may not remove the tables*"
    run install "$store" --role "nobody'\"\\here"
    expect "$server: a role that is not there" 6 "*"
}

if [[ -n ${HF_TEST_POSTGRES-} ]]; then
    first=hf_install_$$ latin=hf_latin_$$ account="we\"ird '$$"
    sql() { psql -X -q -t -A "$(database "$HF_TEST_POSTGRES" "$1")" -c "$2"; }
    sql_file() { psql -X -q -v ON_ERROR_STOP=1 "$(database "$HF_TEST_POSTGRES" "$1")" -f "$2" >/dev/null; }
    objects() {
        sql "$1" "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
            WHERE nspname NOT LIKE 'pg%' AND nspname <> 'information_schema' AND relkind NOT IN ('i', 'S') UNION
            SELECT proname FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
            WHERE nspname NOT LIKE 'pg%' AND nspname <> 'information_schema' ORDER BY 1"
    }
    meta=holdfast.meta
    older=$HF_SOURCE_ROOT/tests/cli/older/postgres.sql
    foreign_lock="CREATE SCHEMA holdfast; CREATE TABLE holdfast.lock (x int)"
    foreign_meta="DROP TABLE holdfast.lock; CREATE TABLE holdfast.meta (x int)"
    foreign_away="DROP TABLE holdfast.meta; DROP SCHEMA holdfast"
    sql "" "CREATE DATABASE $first" && sql "" "CREATE DATABASE $latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'"
    sql "" "CREATE ROLE \"${account//\"/\"\"}\" LOGIN"
    everywhere PostgreSQL "$HF_TEST_POSTGRES"
    plain=$(sed 's|://[^@]*@|://we%22ird%20%27'"$$"'@|' <<<"$store")
    least_privilege PostgreSQL
    run uninstall "$store" --force
    sql "$first" "CREATE SCHEMA holdfast; CREATE TABLE holdfast.mine (x int)"
    run install "$store"
    run uninstall "$store"
    check "PostgreSQL: a schema that holds something else stays" test "$(objects "$first")" = mine
    run install "$store"
    sql "$first" "CREATE VIEW public.theirs AS SELECT type FROM holdfast.locks"
    run install "$store"
    expect "PostgreSQL: install again under others' views" 0 "Installed*"
    run uninstall "$store"
    expect "PostgreSQL: what others have built on it stands in the way" 6 "*could not be removed*depend*"
    run install "$store&namespace=user"
    expect "PostgreSQL: a word of SQL is no namespace" 2 "*keeps for itself*"
    run install "$store&namespace=information_schema"
    expect "PostgreSQL: ... nor is the information schema" 2 "*keeps for itself*"
    run install "$(database "$HF_TEST_POSTGRES" "$latin")"
    expect "PostgreSQL: a database that is not in UTF-8" 6 "*LATIN1*UTF8*nothing was changed*"
    check "PostgreSQL: ... is left as it is" test -z "$(objects "$latin")"
    run install "$(database "$HF_TEST_POSTGRES" "nosuch$$")"
    expect "PostgreSQL: an unknown database" 6 "*nosuch$$*"
    sql "" "DROP DATABASE $first" && sql "" "DROP DATABASE $latin"
    sql "" "DROP ROLE \"${account//\"/\"\"}\""
else
    skipped "install in PostgreSQL" "HF_TEST_POSTGRES is not set"
fi

# URL: what the client program is told about it
arguments() {
    python3 -c 'import sys, urllib.parse as u
url = u.urlsplit(sys.argv[1]); more = dict(u.parse_qsl(url.query))
print("--no-defaults", "-u" + url.username, *(["-S" + more["socket"]] if "socket" in more else
      ["-h" + url.hostname, "-P" + str(url.port or 3306)]))' "$1"
}

in_mysql() {
    local server=$1 url=$2 given
    first=hf_install_$$ account="hf$$@localhost"
    read -ra given < <(arguments "$url")
    sql() { mariadb "${given[@]}" -N -s -e "$2" $1; }
    sql_file() { mariadb "${given[@]}" "$1" <"$2" >/dev/null; }
    objects() {
        sql "" "SELECT REPLACE(table_name, 'holdfast_', '') FROM information_schema.tables WHERE table_schema = '$1' UNION ALL
            SELECT REPLACE(routine_name, 'holdfast_', '') FROM information_schema.routines WHERE routine_schema = '$1' ORDER BY 1"
    }
    meta=holdfast_meta
    older=$HF_SOURCE_ROOT/tests/cli/older/mysql.sql
    foreign_lock="CREATE TABLE holdfast_lock (x int)"
    foreign_meta="DROP TABLE holdfast_lock; CREATE TABLE holdfast_meta (x int)"
    foreign_away="DROP TABLE holdfast_meta"
    sql "" "CREATE DATABASE $first; CREATE USER $account; GRANT SELECT ON mysql.help_topic TO $account;"
    sql "" "CREATE TABLE $first.mine (x int); GRANT SELECT ON $first.mine TO $account; DROP TABLE $first.mine;"
    everywhere "$server" "$url"
    plain=$(sed 's|://[^@]*@|://hf'"$$"'@|' <<<"$store")
    least_privilege "$server"

    # An installation that was interrupted is completed; nobody has used it.
    run uninstall "$store"
    run install "$store"
    sql "$first" "DELETE FROM holdfast_meta WHERE name = 'schema'; DROP TABLE holdfast_lost; DROP VIEW holdfast_locks;
        DROP PROCEDURE holdfast_check"
    run list --store "$store"
    expect "$server: an interrupted installation is completed" 0 "No locks are held."
    check "$server: ... with all that belongs to it" test "$(objects "$first" | wc -l)" = 22
    sql "$first" "DELETE FROM holdfast_meta WHERE name = 'schema'; DROP TABLE holdfast_lost"
    run uninstall "$store"
    expect "$server: ... or removed" 0 "Removed*"
    check "$server: ... without a trace" test -z "$(objects "$first")"
    run install "$(database "$url" "nosuch$$")"
    expect "$server: an unknown database" 6 "*nosuch$$*"
    sql "" "DROP DATABASE $first; DROP USER $account"
}

for kind in MARIADB MYSQL; do
    variable=HF_TEST_$kind
    if [[ -n ${!variable-} ]]; then
        in_mysql "$kind" "${!variable}"
    else
        skipped "install in $kind" "$variable is not set"
    fi
done

finish
