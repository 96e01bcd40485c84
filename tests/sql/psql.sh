#!/bin/bash
# The SQL surface from psql.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/surface.sh"

if [[ -z ${HF_TEST_POSTGRES-} ]]; then
    skipped "the surface from psql" "HF_TEST_POSTGRES is not set"
    finish
fi
names=psql$$
HOLDFAST_STORE=$(with "$HF_TEST_POSTGRES" "namespace=$names")
export HOLDFAST_STORE
client=(psql -X -q -t -A -v VERBOSITY=verbose "$HF_TEST_POSTGRES")
marker() { echo "\\echo $1"; }
table=public.doc_$names view=$names.locks anchor=$names.resource user_column='"user"' now='now()' settle=''
levels=("READ COMMITTED" "REPEATABLE READ" "SERIALIZABLE")
old_snapshot=40001
begin_sql() { echo "BEGIN ISOLATION LEVEL $1;"; }
check_sql() { echo "SELECT $names.check('$1', '$2', '$3', $4);"; }
versions=$names.versions kept=$names.save settings=$names.meta
# A word of SQL, or a text.
word() { if [[ $1 == NULL || $1 == \'* ]]; then echo "$1"; else echo "'$1'"; fi; }
save_sql() { echo "SELECT $names.save('$1', '$2', $3, $(word "$4"), $5, $6);"; }
remove_sql() { echo "SELECT $names.remove('$1', '$2', $3, $(word "$4"), $5, $6);"; }
expect_sql() { echo "SELECT $names.expect('$1', '$2', $3);"; }
allow_saves() {
    echo "GRANT EXECUTE ON FUNCTION $names.save(text, text, bigint, text, text, bigint),
        $names.expect(text, text, bigint) TO only_$names;"
}
allow_only_check() {
    echo "CREATE ROLE only_$names LOGIN; GRANT USAGE ON SCHEMA $names TO only_$names;
        GRANT EXECUTE ON FUNCTION $names.check(text, text, text, bigint) TO only_$names;"
}
forget_only_check() { echo "DROP OWNED BY only_$names; DROP ROLE only_$names;"; }
only_check=(psql -X -q -t -A -v VERBOSITY=verbose "$(sed "s|://[^@]*@|://only_$names@|" <<<"$HF_TEST_POSTGRES")")

surface
finish
