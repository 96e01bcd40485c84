#!/bin/bash
# --out, --script and --plot write to what someone named, and it stays what it is: a file with its owner and mode, a link, a device, a
# pipe. Everything is in the scratch folder.
source "$(dirname "$0")/lib.sh"
here=$scratch/here
mkdir "$here"
echo 'x = 1' >"$scratch/a.py"
"$HOLDFAST" advise --answers "$HF_SOURCE_ROOT/examples/advise/picking.json" --out "$scratch/record.md" 2>/dev/null
"$HOLDFAST" plan "$scratch/record.md" >"$scratch/plan.expected"
"$HOLDFAST" audit "$scratch/a.py" >"$scratch/audit.expected"
cp "$scratch/record.md" "$scratch/advise.expected"
"$HOLDFAST" advise --review "$scratch/record.md" --answers "$HF_SOURCE_ROOT/examples/advise/picking.json" >"$scratch/review.expected" 2>/dev/null

kind() { stat -c '%F %a %u:%g' "$1"; }
# VERB FILE: writes that verb's document there
write() {
    case $1 in
        audit) run audit "$scratch/a.py" --out "$2" ;;
        plan) run plan "$scratch/record.md" --out "$2" ;;
        script) run plan "$scratch/record.md" --script "$2" ;;
        advise) run advise --answers "$HF_SOURCE_ROOT/examples/advise/picking.json" --out "$2" ;;
        plot) run advise --answers "$HF_SOURCE_ROOT/examples/advise/picking.json" --plot "$2" ;;
    esac
}
clean() { check "$1: nothing is left beside it" test "$(ls "$here")" = "$2"; }

for verb in audit plan script advise plot; do
    # A device. The first is the one that a slip as root once turned into a file.
    rm -rf "${here:?}"/*
    if mknod "$here/null" c 1 3 2>/dev/null; then
        chmod 666 "$here/null"
        before=$(kind "$here/null")
        write $verb "$here/null"
        check "$verb: a device stays a device" test "$code $(kind "$here/null")" = "0 $before"
        clean $verb null
        mknod "$here/full" c 1 7
        write $verb "$here/full"
        check "$verb: a full one is told" test "$code" != 0 -a "$(kind "$here/full" | cut -c1-9)" = character
        rm "$here/full"
    else
        skipped "$verb: a device stays a device" "only root makes devices"
    fi
    # A link to a file, to a link, to nothing
    rm -rf "${here:?}"/*
    mkdir "$here/to"
    echo old >"$here/to/file"
    chmod 640 "$here/to/file"
    ln -s to/file "$here/first"
    ln -s "$here/first" "$here/second"
    write $verb "$here/second"
    check "$verb: a link to a link stays" test "$code $(readlink "$here/second") $(readlink "$here/first")" = "0 $here/first to/file"
    check "$verb: what it names is written, and keeps its mode" test "$(stat -c %a "$here/to/file")" = 640 -a "$(wc -c <"$here/to/file")" -gt 4
    cp "$here/to/file" "$scratch/whole"
    ln -s to/new "$here/dangling"
    write $verb "$here/dangling"
    check "$verb: a link to nothing creates what it names" cmp -s "$here/to/new" "$scratch/whole"
    check "$verb: and stays a link" test "$code $(readlink "$here/dangling")" = "0 to/new"
    ln -s nowhere/file "$here/lost"
    write $verb "$here/lost"
    check "$verb: a link into a folder that is missing is refused" test "$code" != 0 -a "$(readlink "$here/lost")" = nowhere/file
    ln -s round "$here/round"
    write $verb "$here/round"
    check "$verb: a link to itself is refused" test "$code" != 0 -a "$(readlink "$here/round")" = round
    write $verb "$here/to"
    expect "$verb: a folder is refused" 2 "*$here/to is a directory; name a file in it.*"
    check "$verb: nothing is left beside any of them" test -z "$(find "$here" -name '*~')"
    # A file that has another name, or another owner
    ln "$here/to/file" "$here/twin"
    echo old >"$here/to/file"
    write $verb "$here/twin"
    check "$verb: a file with two names keeps both" cmp -s "$here/to/file" "$scratch/whole"
    if chown 65534:65534 "$here/to/new" 2>/dev/null; then
        write $verb "$here/to/new"
        check "$verb: a file keeps its owner" test "$(stat -c %u:%g "$here/to/new")" = 65534:65534
    fi
    # Pipes
    rm -rf "${here:?}"/*
    mkfifo "$here/pipe"
    timeout 20 cat "$here/pipe" >"$scratch/read" &
    reader=$!
    write $verb "$here/pipe"
    check "$verb: a pipe stays a pipe" test "$code" = 0 -a -p "$here/pipe"
    [[ -p $here/pipe ]] || kill "$reader"
    wait "$reader"
    check "$verb: its reader gets all of it" cmp -s "$scratch/read" "$scratch/whole"
    clean $verb pipe
    if [[ $verb != script && $verb != plot ]]; then
        exec {into}> >(cat >"$scratch/piped"; touch "$scratch/ended")
        write $verb "/dev/fd/$into"
        exec {into}>&-
        for _ in $(seq 200); do [[ -e $scratch/ended ]] && break; sleep 0.05; done
        rm -f "$scratch/ended"
        check "$verb: >(COMMAND) gets all of it" cmp -s "$scratch/piped" "$scratch/whole"
    fi
done

# Standard output by its name, through a link of our own: /dev stays out of it
ln -s /proc/self/fd/1 "$here/stdout"
echo first >"$here/log"
"$HOLDFAST" audit "$scratch/a.py" --out "$here/stdout" >>"$here/log" 2>/dev/null
check "what is appended to keeps what it had" test "$(head -n 1 "$here/log")" = first
check "and gets the rest" cmp -s <(tail -n +2 "$here/log") "$scratch/audit.expected"
check "the link stays" test "$(readlink "$here/stdout")" = /proc/self/fd/1
"$HOLDFAST" audit "$scratch/a.py" --out "$here/stdout" 2>/dev/null | cat >"$scratch/piped"
check "so is a pipe there" cmp -s "$scratch/piped" "$scratch/audit.expected"
"$HOLDFAST" audit "$scratch/a.py" --out "$here/stdout" >&- 2>"$scratch/err"
code=$? out='' err=$(cat "$scratch/err")
expect "a closed one is told" 6 '*stdout can*t be written: *'

# A file that can't be written to, in a folder that can
if [[ $(id -u) != 0 ]]; then
    echo old >"$here/kept"
    chmod 400 "$here/kept"
    write audit "$here/kept"
    check "a file that may not be written is left alone" test "$code $(cat "$here/kept")" = "6 old"
fi
finish
