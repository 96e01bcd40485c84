#!/bin/bash
# The SQL surface from the mariadb client, in MariaDB and in MySQL.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/surface.sh"

# URL: what the client program is told about it
arguments() {
    python3 -c 'import sys, urllib.parse as u
url = u.urlsplit(sys.argv[1]); more = dict(u.parse_qsl(url.query))
print("--no-defaults", "-u" + url.username, "-D" + url.path[1:], *(["-S" + more["socket"]] if "socket" in more else
      ["-h" + url.hostname, "-P" + str(url.port or 3306)]))' "$1"
}
marker() { echo "SELECT '$1';"; }
names=my$$
table=doc_$names view=${names}_locks anchor=${names}_resource user_column=user now='utc_timestamp(6)'
settle="SET NAMES utf8mb4;"
levels=("READ COMMITTED" "REPEATABLE READ" "SERIALIZABLE")
old_snapshot=23H01
begin_sql() { echo "SET TRANSACTION ISOLATION LEVEL $1; BEGIN;"; }
check_sql() { echo "CALL ${names}_check('$1', '$2', '$3', $4);"; }
versions=${names}_versions kept=${names}_save settings=${names}_meta
# A word of SQL, or a text.
word() { if [[ $1 == NULL || $1 == \'* ]]; then echo "$1"; else echo "'$1'"; fi; }
# A refused call leaves the fence of the one before.
save_sql() { echo "SET @fence = ''; CALL ${names}_save('$1', '$2', $3, $(word "$4"), $5, $6, @fence); SELECT @fence;"; }
remove_sql() { echo "SET @fence = ''; CALL ${names}_remove('$1', '$2', $3, $(word "$4"), $5, $6, @fence); SELECT @fence;"; }
expect_sql() { echo "CALL ${names}_expect('$1', '$2', $3);"; }
allow_saves() {
    echo "GRANT EXECUTE ON PROCEDURE ${names}_save TO only_$names@localhost;
        GRANT EXECUTE ON PROCEDURE ${names}_expect TO only_$names@localhost;"
}
allow_only_check() { echo "CREATE USER only_$names@localhost; GRANT EXECUTE ON PROCEDURE ${names}_check TO only_$names@localhost;"; }
forget_only_check() { echo "DROP USER only_$names@localhost;"; }

# Each server has a test of its own.
for server in MARIADB MYSQL; do
    variable=HF_TEST_$server
    [[ -n ${!variable-} ]] || continue
    echo "# $server"
    HOLDFAST_STORE=$(with "${!variable}" "namespace=$names")
    export HOLDFAST_STORE
    read -ra given < <(arguments "${!variable}")
    client=(mariadb "${given[@]}" -N -s -r -n -f --default-character-set=utf8mb4)
    only_check=("${client[@]}" "-uonly_$names")
    surface
done
[[ -n ${client-} ]] || skipped "the surface from the mariadb client" "neither HF_TEST_MARIADB nor HF_TEST_MYSQL is set"
finish
