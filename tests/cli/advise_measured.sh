#!/bin/bash
# advise --db on each database that is there, --metrics on a server, --review with both.
source "$(dirname "$0")/lib.sh"
examples=$HF_SOURCE_ROOT/examples/advise

# KIND URL: 400 records saved as Zipf's law with exponent 1 has it, the last of them in the last week
make_table() {
    python3 - "$1" "$2" <<'END' >"$scratch/made" 2>&1
import sys, urllib.parse
kind, url = sys.argv[1:]
rows = [(i, 4000 // i) for i in range(1, 401)]
values = ",".join("(%d,'n',%d,%s)" % (i, v, "NULL" if i > 70 else "@") for i, v in rows)
when = {"sqlite": "datetime('now')", "postgres": "now()"}.get(kind, "NOW()")
time = {"sqlite": "TEXT", "postgres": "timestamptz"}.get(kind, "DATETIME")
sql = [f"CREATE TABLE policy (id INTEGER PRIMARY KEY, name VARCHAR(10), version BIGINT NOT NULL, modified_at {time} NULL)",
       "INSERT INTO policy VALUES " + values.replace("@", when), "CREATE TABLE plain (id INTEGER PRIMARY KEY)", "INSERT INTO plain VALUES (1)",
       "CREATE TABLE nobody (id INTEGER PRIMARY KEY)"]
if kind == "sqlite":
    import sqlite3
    c = sqlite3.connect(url[len("sqlite:"):])
    for s in sql: c.execute(s)
    c.commit()
else:
    import subprocess
    u = urllib.parse.urlsplit(url); more = dict(urllib.parse.parse_qsl(u.query))
    client = ["psql", "-qX", "-v", "ON_ERROR_STOP=1", url] if kind == "postgres" else \
        ["mariadb", "--no-defaults", "-u" + u.username, "-S" + more["socket"], "-D" + u.path[1:]]
    subprocess.run(client, input=";".join(["DROP TABLE IF EXISTS policy, plain, nobody"] + sql) + ";", text=True, check=True)
END
}
measured() { # KIND URL
    make_table "$1" "$2"
    check "$1: the tables are made" test "$?" = 0
    run advise --db "$2" --table policy --json
    expect_json "$1: rows, saves and their spread are measured" 0 \
        'd["answers"]["records"] == {"value": 400, "mark": "measured"} and d["answers"]["database"] == {"value": "'"$1"'", "mark": "measured"}
         and d["answers"]["busiest_tenth_share"]["mark"] == "measured" and abs(d["answers"]["busiest_tenth_share"]["value"] - 0.65) < 0.02'
    expect_json "$1: those changed in the last week are its saves, where nothing counts them" 0 \
        'd["answers"]["edits_per_day"]["mark"] == "measured" and abs(d["answers"]["edits_per_day"]["value"] - 70 / 5 / 0.7) < 0.1
         and any("70 records of policy were changed" in s for s in d["doubts"])'
    run advise --db "$2" --answers "$examples/underwriting.json" --json
    expect_json "$1: the table is the entity's; what is measured counts for more than what was said" 0 \
        'd["answers"]["records"]["value"] == 400 and d["answers"]["edit_minutes"] == {"value": 60, "mark": "expert"}'
    run advise --db "$2" --table plain --json
    expect_json "$1: what a table does not tell is said" 0 \
        'any("plain has no version column" in s for s in d["doubts"]) and any("does not tell how often plain is saved" in s for s in d["doubts"])
         and d["answers"]["edits_per_day"]["mark"] == "assumed"'
    run advise --db "$2" --table missing
    expect "$1: a table that is not there is named" 1 'holdfast: There is no table missing in *; name it with --table.'
    run advise --db "$2" --table 'x"; DROP TABLE policy; --`'
    expect "$1: a name is only a name" 1 'holdfast: There is no table x*'
    run advise --db "$2" --table nobody
    expect "$1: an empty table is named" 1 'holdfast: The table nobody is empty; there is nothing to measure.'
}

measured sqlite "sqlite:$scratch/own.db"
[[ -z ${HF_TEST_POSTGRES-} ]] || measured postgres "$HF_TEST_POSTGRES"
[[ -z ${HF_TEST_MARIADB-} ]] || measured mariadb "$HF_TEST_MARIADB"
[[ -z ${HF_TEST_MYSQL-} ]] || measured mysql "$HF_TEST_MYSQL"
run advise --db "sqlite:$scratch/none.db" --table policy
expect "a file that is not there is named, and not made" 6 "holdfast: *$scratch/none.db*"
check "and not made" test ! -e "$scratch/none.db"
run advise --db oracle://x --table policy
expect "what is no database is named" 2 "*This is no database's URL*"
run advise --db "sqlite:$scratch/own.db"
expect "a database alone does not say what is edited" 2 '*name it: --table NAME*'

# Metrics: a server that has counted for two days

cat >"$scratch/server.py" <<'END'
import http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = (f"# TYPE x counter\nholdfast_refusals_total{{type=\"order\"}} 3\nholdfast_refusals_total{{type=\"policy\"}} 40\n"
                f"process_start_time_seconds {time.time() - 2 * 86400:.3f}\n").encode()
        if self.path == "/readyz":
            body = b'{"grade":"disk","text":"here"}'
        self.send_response(200); self.send_header("Content-Type", "application/json"); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
END
python3 "$scratch/server.py" >"$scratch/port" &
server=$!
until [[ -s $scratch/port ]]; do sleep 0.05; done
url=http://127.0.0.1:$(cat "$scratch/port")
run advise --answers "$examples/underwriting.json" --out "$scratch/record.md"
run advise --review "$scratch/record.md" --metrics "$url" --json
expect_json "more people turned away than the record expects: exit 9" 9 'd["crossed"] is True and d["now"] == "pessimistic"
     and [t["measure"] for t in d["thresholds"] if t["crossed"]] == ["refusals_per_day"] and abs([t["value"] for t in d["thresholds"] if t["crossed"]][0] - 20) < 0.1'
run advise --answers "$examples/underwriting.json" --metrics "$url" --json
expect_json "a record says how many were turned away" 0 'any("turned away 20 people a day" in r for r in d["reasons"])'
run advise --metrics "$url" --table invoice
expect "a type that the server does not count is named" 1 "holdfast: The server's metrics do not count the refusals of invoice separately*"
run advise --metrics "sqlite:$scratch/own.db" --table policy
expect "metrics are a server's" 2 '*--metrics is the URL of a holdfast server*'
kill "$server"
wait "$server" 2>/dev/null
server=
run advise --metrics "$url" --table policy
expect "a server that does not answer is named" 6 'holdfast: *127.0.0.1*'

"$HF_SOURCE_ROOT/tests/cli/serving.sh" "sqlite:$scratch/served.db" >"$scratch/address" &
server=$!
until [[ -s $scratch/address ]] || ! kill -0 "$server" 2>/dev/null; do sleep 0.02; done
read -r url HOLDFAST_TOKEN <"$scratch/address"
export HOLDFAST_TOKEN
alice=$("$HOLDFAST" session open --user alice --no-remember --store "$url")
bob=$("$HOLDFAST" session open --user bob --no-remember --store "$url")
HOLDFAST_SESSION=$alice run acquire policy/1 --store "$url"
HOLDFAST_SESSION=$bob run acquire policy/1 --store "$url"
check "a real server tells it in these words" eval 'curl -s -H "Authorization: Bearer $HOLDFAST_TOKEN" "$url/metrics" | grep -qx "holdfast_refusals_total{type=\"[a-z]*\"} 1"'
run advise --metrics "$url" --table policy
expect "a server that has just started tells nothing yet" 1 'holdfast: The server has counted for less than an hour*'
kill "$server"
wait "$server" 2>/dev/null
server=

# Review

echo '{"edits_per_day": 300, "editors": 50}' >"$scratch/more.json"
run advise --answers "$examples/articles.json" --out "$scratch/articles.md"
run advise --review "$scratch/articles.md" --answers "$scratch/more.json"
expect "a threshold that is crossed is named, with exit 9" 9 '*edits_per_day is 300; the threshold is above *: crossed.*edit_minutes is not known*Decide anew*'
run advise --review "$scratch/articles.md" --answers "$examples/articles.json"
expect "nothing has changed: it holds" 0 '*edits_per_day is 25; the threshold is above *The decision holds.'
run advise --review "$scratch/articles.md" --db "sqlite:$scratch/own.db" --table policy
expect "a database may be enough" 0 '*edits_per_day is *The decision holds.'
run advise --review "$scratch/articles.md"
expect "without anything measured there is nothing to review" 2 '*Nothing is known now that the record*'
run advise --review "$examples/articles.json" --answers "$scratch/more.json"
expect "answers are no record" 2 '*This is no decision record*'

finish
