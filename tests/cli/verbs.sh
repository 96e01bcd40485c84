#!/bin/bash
# Every verb, as a person and as a program gets to read it.
source "$(dirname "$0")/lib.sh"

LOCK='{"resource", "mode", "fence", "since", "expires", "ends", "purpose", "session", "user", "name"}'
TIME='__import__("re").fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", %s)'
time_of() { printf "$TIME" "$1"; }

run --version
expect "--version tells the version" 0 'holdfast [0-9]*.[0-9]*.[0-9]*'

# Sessions

as alice
run session open --user alice --name "Alice Chen" --json
expect_json "session open answers the session with all its fields and its key" 0 \
    'set(d) == {"id", "user", "name", "idle_seconds", "opened", "expires", "ended", "token", "key"} and d["user"] == "alice"
     and d["name"] == "Alice Chen" and d["idle_seconds"] == 300 and len(d["id"]) == 32 and len(d["key"]) >= 32 and d["ended"] is None
     and d["opened"] < d["expires"] and '"$(time_of 'd["opened"]') and $(time_of 'd["expires"]')"
alice=$(field 'd["id"]')
as bob
run session open --user bob --name "Bob Smith" --idle 90s
expect "session open prints the line for HOLDFAST_SESSION and nothing else" 0 '????????????????????????????????.????????????????????????????????*'
check "that line is one line" test "$(wc -l <"$scratch/out")" = 1
bob_session=$out
bob=${out%%.*}
run session list
expect "session list shows users, names and idle bounds" 0 '*SESSION*USER*alice*Alice Chen*5m*'
run session list --json
expect_json "session list answers sessions without keys" 0 \
    'len(d["sessions"]) == 2 and all("key" not in s and s["user"] in ("alice", "bob") for s in d["sessions"])'
run session list --user bob --json
expect_json "session list keeps to a user" 0 '[s["name"] for s in d["sessions"]] == ["Bob Smith"] and d["sessions"][0]["idle_seconds"] == 90'

# Acquire

as alice
run acquire policy/12345 --purpose renewal --json
expect_json "acquire answers the lock with all its fields" 0 \
    "set(d) == {'locks'} and len(d['locks']) == 1 and set(d['locks'][0]) == $LOCK and d['locks'][0]['mode'] == 'exclusive'
     and d['locks'][0]['purpose'] == 'renewal' and d['locks'][0]['user'] == 'alice' and $(time_of "d['locks'][0]['since']")"
fence=$(field 'd["locks"][0]["fence"]')
run acquire policy/12345
expect "acquiring what is held keeps fence and says so" 0 "Kept policy/12345: Alice Chen holds it (exclusive, fence $fence); it frees at * UTC unless the session beats."
as bob
run acquire policy/12345
expect "a held lock is refused and the holder is named" 3 'holdfast: policy/12345 is being edited by Alice Chen since * UTC ("renewal"); it frees at * UTC or when Alice Chen closes it.'
check "a refusal goes to stderr alone" test -z "$out"
run acquire policy/12345 --json
expect_json "with --json the refusal and its holders are on stdout" 3 \
    "set(d) >= {'code', 'message', 'resource', 'holders'} and d['code'] == 'locked' and d['resource'] == 'policy/12345'
     and [h['name'] for h in d['holders']] == ['Alice Chen'] and set(d['holders'][0]) == $LOCK"
run acquire --mode=shared zebra/1 apple/2 --ttl 1h --json
expect_json "several are acquired and answered in the order given" 0 \
    '[l["resource"] for l in d["locks"]] == ["zebra/1", "apple/2"] and {l["mode"] for l in d["locks"]} == {"shared"}'
run acquire apple/9 policy/12345 apple/1
expect "of several with one held, none is acquired" 3 '*policy/12345 is being edited by Alice Chen*'
run list --user bob --json
expect_json "and nothing is left of the attempt" 0 '[l["resource"] for l in d["locks"]] == ["apple/2", "zebra/1"]'

# Readers

as carol
run session open --user carol
run acquire zebra/1 --mode shared
expect "a shared lock is shared" 0 'Acquired zebra/1: carol holds it (shared, fence *'
as alice
run acquire zebra/1 --json
expect_json "all readers are named to whoever wants it alone" 3 'sorted(h["user"] for h in d["holders"]) == ["bob", "carol"]'
as carol
run acquire zebra/1
expect "a reader among others is not upgraded" 3 '*zebra/1 is being read by Bob Smith*'
run release zebra/1
expect "release says what was released" 0 'Released zebra/1.'
run acquire cow/1 'cow/a"b'
run release cow/1 cow/2 cow/3 'cow/a"b' --json
expect_json "when one was not held, the answer tells which were released all the same" 8 \
    'd["code"] == "not_held" and d["resource"] == "cow/2" and d["released"] == ["cow/1", "cow/a\"b"]'
run release cow/1 cow/2 --json
expect_json "also when none was" 8 'd["resource"] == "cow/1" and d["released"] == []'
as bob
run acquire zebra/1
expect "the only reader is upgraded" 0 'Upgraded zebra/1: Bob Smith holds it (exclusive, *'
run downgrade zebra/1 --json
expect_json "downgrade answers the lock, shared" 0 "set(d) == $LOCK and d['mode'] == 'shared'"
run downgrade zebra/1
expect "downgrade in words" 0 'Downgraded zebra/1: Bob Smith holds it (shared, *'

# Renew, holds

run renew apple/2 --ttl 30s --purpose counting --json
expect_json "renew sets bound and purpose anew" 0 "set(d) == $LOCK and d['purpose'] == 'counting'"
run renew apple/2 --ttl 30s
expect "renew in words" 0 'Renewed apple/2: * it frees at * UTC unless it is renewed.'
as alice
run holds policy/12345 --json
expect_json "holds answers the lock" 0 "set(d) == $LOCK and d['fence'] == $fence"
run holds policy/12345 --fence "$fence"
expect "holds with its fence" 0 "Yes, policy/12345: Alice Chen holds it (exclusive, fence $fence)*"
run holds policy/12345 --fence $((fence - 1))
expect "holds with an earlier fence is not held" 8 "holdfast: *$fence*"
run holds apple/2
expect "holds of what another holds names the other" 8 'holdfast: The session does not hold apple/2; Bob Smith does.'

# Who, list

run who policy/12345
expect "who shows the holder in a table" 0 'RESOURCE*MODE*HOLDER*SINCE*EXPIRES*FENCE*PURPOSE*policy/12345*exclusive*Alice Chen*renewal*'
run who policy/12345 --json
expect_json "who answers holders and requests" 0 'set(d) == {"resource", "holders", "requests"} and len(d["holders"]) == 1 and d["requests"] == []'
run who policy/1
expect "who says that a resource is free" 0 'policy/1 is free.'
run list
expect "list shows locks in canonical order" 0 '*apple/2*policy/12345*zebra/1*'
run list --type policy --json
expect_json "list keeps to a type" 0 '[l["resource"] for l in d["locks"]] == ["policy/12345"]'
run list --session "$bob" --json
expect_json "list keeps to a session" 0 '{l["user"] for l in d["locks"]} == {"bob"}'
run list --session "$bob_session"
expect "list takes a whole ID.KEY for its public part" 0 '*apple/2*zebra/1*'
run list --user nobody
expect "an empty list says so" 0 'No locks are held.'
run list --user nobody --json
expect_json "an empty list is an empty array" 0 'd["locks"] == []'

# Request, hand-over, beat

as bob
run request policy/12345 --message "The customer is on the phone"
expect "request says who was asked" 0 'Asked Alice Chen for policy/12345; *'
run request policy/12345 --message "The customer is on the phone" --json
expect_json "request answers the locks asked for" 0 '[l["user"] for l in d["locks"]] == ["alice"]'
run who policy/12345
expect "who shows who asks" 0 '*ASKED BY*Bob Smith*The customer is on the phone*'
as alice
run session beat
expect "a beat tells who asks for what, and how to give it" 0 \
    "The session lives until * UTC and holds 1 lock.*Bob Smith asks for policy/12345: \"The customer is on the phone\". To hand it over: holdfast hand-over policy/12345 --to $bob"
run session beat --json
expect_json "beat answers its bound, locks, what was lost and requests" 0 \
    "set(d) == {'expires', 'locks', 'lost', 'requests'} and d['locks'] == 1 and d['lost'] == []
     and d['requests'][0]['session'] == '$bob' and set(d['requests'][0]) == {'resource', 'session', 'user', 'name', 'message', 'at'}"
run decline policy/12345 --to "$bob" --message "Not before noon"
expect "decline in words" 0 'Declined the request for policy/12345: Alice Chen holds it (exclusive, fence *'
run decline policy/12345 --to "$bob"
expect "who does not ask is not declined" 1 "holdfast: Session $bob does not ask for policy/12345, or no longer."
run events --json
expect_json "the event says why, and to whom" 0 \
    "[(e['session'], e['user'], e['actor'], e['reason']) for e in d['events'] if e['kind'] == 'declined'] == [('$bob', 'bob', 'alice', 'Not before noon')]"
as bob
run request policy/12345
run who policy/12345
expect "whoever was declined may ask again" 0 '*ASKED BY*Bob Smith*'
as alice
run decline policy/12345 --to "$bob" --json
expect_json "decline answers the lock, which stays" 0 "set(d) == $LOCK and d['user'] == 'alice' and d['fence'] == $fence"
run hand-over policy/12345 --to "$bob" --json
expect_json "hand-over answers the new holder's lock with a new fence" 0 "set(d) == $LOCK and d['user'] == 'bob' and d['fence'] > $fence"
as bob
run hand-over policy/12345 --to "$alice"
expect "hand-over in words" 0 'Handed over policy/12345: Alice Chen holds it (exclusive, fence *'
for odd in "it's \$HOME" 'a;b' 'c d' '*'; do
    as bob
    run acquire "desk/$odd"
    as alice
    run request "desk/$odd"
    as bob
    run session beat
    eval "run $(sed -n 's/.*To hand it over: holdfast //p' "$scratch/out")"
    expect "how to give it can be pasted ($odd)" 0 'Handed over desk/*: Alice Chen holds it *'
done
as alice
run release --all
run acquire policy/12345
as bob

# Force-release

run force-release apple/2 --reason "spring cleaning" --json
expect_json "force-release answers the locks it ended" 0 '[l["resource"] for l in d["locks"]] == ["apple/2"]'
run force-release policy/12345 --reason "left for the day"
expect "force-release in words" 0 'Ended the lock of Alice Chen on policy/12345.'
as alice
run session beat
expect "the holder is told who took it away and why" 0 '*holds 0 locks.*Lost policy/12345: it was taken away by bob ("left for the day").'
run session beat --json
expect_json "in JSON too" 0 'd["lost"][0]["resource"] == "policy/12345" and d["lost"][0]["why"] == "forced" and d["lost"][0]["by"] == "bob"'
run release policy/12345
expect "releasing what was lost says that it is not held" 8 'holdfast: *policy/12345*'
run session beat --json
expect_json "and is not told of it again" 0 'd["lost"] == []'
as nobody
run force-release zebra/1 --reason tidy
expect "without a session force-release works as well" 0 'Ended the lock of Bob Smith on zebra/1.'
run events --json
expect_json "the operating system's user is then who did it" 0 \
    "[e['actor'] for e in d['events'] if e['kind'] == 'forced'] == ['bob', 'bob', '$(id -un)']"
as bob
run acquire zebra/1 --mode shared
as gone
run session open --user gone
gone=$(cut -f 2 "$HOLDFAST_STATE/sessions")
as nobody
HOLDFAST_SESSION=$gone run session close
as gone
run force-release zebra/1 --reason tidy
expect "and with a remembered one that has ended" 0 'Ended the lock of Bob Smith on zebra/1.'
run events --json
expect_json "in the name of whoever the system knows" 0 "d['events'][-1]['kind'] == 'forced' and d['events'][-1]['actor'] == '$(id -un)'"
HOLDFAST_SESSION=$gone run force-release zebra/1 --reason tidy
expect "but not with one that is named" 8

# Types

run type set policy --policy read-write --ttl 1h --max-ttl 8h --json
expect_json "type set answers the type" 0 'd == {"type": "policy", "policy": "read-write", "ttl_seconds": 3600, "max_ttl_seconds": 28800}'
run type set draft --policy optimistic
expect "type set in words" 0 'TYPE*POLICY*draft*optimistic*'
run type get policy --json
expect_json "type get answers the same" 0 'd["policy"] == "read-write" and d["ttl_seconds"] == 3600'
run type list
expect "type list shows a table" 0 '*draft*optimistic*policy*read-write*1h*8h*'
run type list --json
expect_json "type list answers types" 0 '[t["type"] for t in d["types"]] == ["draft", "policy"]'

# Tokens

run token list
if served; then
    expect "token list shows the one a server makes when it starts first" 0 '*first start*use observe manage admin*live'
else
    expect "token list says when there is none" 0 'There are no tokens.'
fi
run token create --name billing --role observe:policy --role use --user 'bill-*' --expires 2h --json
expect_json "token create answers the id and the secret" 0 'set(d) == {"id", "token"} and len(d["id"]) == 32 and len(d["token"]) == 64'
token=$(field 'd["id"]')
run token create --name reports --role 'observe:*'
check "token create prints the secret alone, to be captured" grep -qxE '[0-9a-f]{64}' "$scratch/out"
run token list
expect "token list shows a table" 0 '*TOKEN*NAME*ROLES*USERS*CREATED*STATE*use observe:policy*bill-*until*'
expect "and one that may name anyone, for ever" 0 '*reports*observe *\* *live*'
run token list --json
expect_json "token list answers tokens without secrets" 0 \
    'all(set(t) == {"id", "name", "roles", "users", "created", "expires", "revoked"} for t in d["tokens"])
     and sorted((t["name"], t["roles"], t["users"], t["expires"] is None, t["revoked"]) for t in d["tokens"] if t["name"] != "first start")
         == [("billing", "use observe:policy", "bill-*", False, None), ("reports", "observe", None, True, None)]'
run token revoke "$token"
expect "token revoke names what it ended" 0 "Token $token (billing) is revoked."
run token revoke "$token" --json
expect_json "revoking twice is harmless" 0 "d['id'] == '$token' and d['revoked'] is not None"
run token list
expect "a revoked token says so" 0 "*$token*billing*revoked*"
run events --json
expect_json "events tell who made and revoked which token" 0 \
    "[(e['kind'], e['actor'], e['reason']) for e in d['events'] if e['reason'] and e['reason'].startswith('$token')]
     == [('token_created', '$(id -un)', '$token billing'), ('token_revoked', '$(id -un)', '$token billing')]"
run token revoke 00000000000000000000000000000000
expect "a token that is not there" 1 'holdfast: There is no token 0000*'
run token create --role use
expect "a token needs a name" 2 "holdfast: 'token create' needs --name*"
run token create --name n
expect "a token needs a role" 2 "holdfast: 'token create' needs --role*"
run token create --name n --role root
expect "a role that is none" 2 'holdfast: --role: The roles may only name use, observe, manage and admin*'
run token create --name n --name m --role use
expect "only a role may be given twice" 2 'holdfast: --name is given twice*'
run token create --name n --role use --user ''
expect "an empty pattern is not the same as none" 2 'holdfast: The pattern of users is empty: leave it out for all users, or name one.'
run token list --json
expect_json "and no token comes of what is refused" 0 '"n" not in [t["name"] for t in d["tokens"]]'
run token create --name n --role use --expires soon
expect "a life that is no duration" 2 'holdfast: --expires:*'
run token
expect "token alone says what may follow" 2 '*create, list, revoke*'

# Events, sweep, backup, restore

run events --after 9223372036854775807
expect "after the last number there is, nothing has come and nothing is missing" 0 'There are no such events.'
run events --after 9223372036854775807 --type "$(printf 'x%.0s' {1..64})" --json
expect_json "in JSON too, and a type may be long" 0 'd == {"events": []}'
run events --after 999999
expect "numbers that are lower than before are told" 0 'There are no such events.holdfast: There is no event 999999, the newest is *: the numbers are lower than before. The store was created again or restored.'
run events --after 999999 --json
expect "beside the JSON" 0 '{"events":\[\]}holdfast: There is no event 999999, *'
# FILE PART: until the part is in the file, for half a minute at most
await_in() { for _ in {1..600}; do grep -q "$2" "$1" && return; sleep 0.05; done; return 1; }
HOLDFAST_STATE=$scratch/anew "$HOLDFAST" session open --user early --store "sqlite:$scratch/anew.db" >/dev/null 2>&1
"$HOLDFAST" events --follow --interval 50ms --store "sqlite:$scratch/anew.db" >"$scratch/followed" 2>"$scratch/follower" </dev/null &
follower=$!
check "one who follows sees what there is" await_in "$scratch/followed" early
python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30); db.execute("DELETE FROM holdfast_event"); db.commit()' "$scratch/anew.db"
check "and is told when the numbers are lower" await_in "$scratch/follower" 'the newest is 0: the numbers are lower'
HOLDFAST_STATE=$scratch/anew "$HOLDFAST" session open --user late --store "sqlite:$scratch/anew.db" >/dev/null 2>&1
check "and goes on from there" await_in "$scratch/followed" late
kill "$follower"
wait "$follower"

run events
expect "events tell who, what, when, why" 0 '*session_opened*alice*acquired*policy/12345*alice*"renewal"*forced*policy/12345*alice*by bob*"left for the day"*'
run events --json
expect_json "events answer all fields, in order" 0 \
    'all(set(e) == {"seq", "at", "kind", "resource", "session", "user", "actor", "fence", "reason"} for e in d["events"])
     and [e["seq"] for e in d["events"]] == sorted(e["seq"] for e in d["events"])'
last=$(field 'd["events"][-1]["seq"]')
run events --after "$last" --json
expect_json "events after the last one are none" 0 'd["events"] == []'
run events --type zebra --count 2 --json
expect_json "events keep to a type and a count" 0 '[e["resource"] for e in d["events"]] == ["zebra/1", "zebra/1"]'
run sweep
expect "sweep in words" 0 '[ST]*swe[ep]*.'
run sweep --json
expect_json "sweep answers how many rows" 0 'd["swept"] == 0'
as alice
if ! served; then # remote.sh has what a server says to it
    run backup "$scratch/copy"
    expect "backup says where to" 0 "Backed sqlite:*locks.db up to $scratch/copy (* bytes)."
    check "a backup is its owner's alone" test "$(stat -c %a "$scratch/copy")" = 600
    run backup "$scratch/copy"
    expect "backup does not overwrite" 2 "holdfast: $scratch/copy already exists*"
    run acquire policy/7 --json
    before=$(field 'd["locks"][0]["fence"]')
    run restore "$scratch/copy"
    expect "restore is refused while locks are held" 3 '*policy/7 is held by Alice Chen*--replace*'
    run restore "$scratch/copy" --replace
    expect "restore with --replace" 0 "Restored sqlite:*locks.db from $scratch/copy."
    run list
    expect "what came after the backup is gone" 0 'No locks are held.'
    run acquire policy/7 --json
    expect_json "fences do not go back" 0 "d['locks'][0]['fence'] > $before"
    run release --all --json
    expect_json "release --all answers how many" 0 'd == {"released": 1}'
    run restore "$scratch/copy" --json
    expect_json "restore answers that it is done" 0 'd["restored"] is True'
fi

# Release of several, close

run acquire b/1 b/2 b/3
run release b/1 b/9 b/3
expect "one that is not held does not keep the others" 8 'Released b/1.*Released b/3.*does not hold b/9*'
run acquire b/4
run release --all
expect "release --all says how many" 0 'Released 2 locks.'
run session close
expect "session close says what it released" 0 'Closed the session; 0 locks were released.'
as bob
run session close --json
expect_json "session close answers how many" 0 'd == {"released": 0}'

# Versions

VERSION='{"resource", "version", "fence", "saved", "session", "user", "name", "gone"}'
as carol
run version paper/1
expect "version says that a resource was never saved" 0 'paper/1 was never saved.'
run save paper/1 --new --user alice --name "Alice Chen" --reason typo
expect "save counts the version up, without a session" 0 'Saved paper/1: version 1 (fence [0-9]*).'
run version paper/1
expect "version says who saved it and when" 0 'paper/1 is at version 1; Alice Chen saved it at * UTC (fence [0-9]*).'
run save paper/1 --version 1 --json
expect_json "a session saves too, and the answer is the version" 0 \
    "set(d) == $VERSION and d['version'] == 2 and d['user'] == 'carol' and len(d['session']) == 32 and $(time_of "d['saved']")"
run save paper/1 --version 1 --user bob
expect "a stale save says who was faster" 4 'holdfast: paper/1 was changed by carol at * UTC (you read version 1, it is now 2).'
run save paper/1 --new --user bob
expect "what is there already is not new" 4 'holdfast: paper/1 is there already: carol saved it at *'
run save tax/D=E --new --user bob
run save paper/2 --new --rely tax/D=E=1 --rely paper/3=absent
expect "a save relies on other versions" 0 'Saved paper/2: version 1 *'
run save paper/2 --version 7 --rely tax/D=E=2 --rely paper/1=2 --rely paper/2x=absent
expect "of a refused save every conflict is told" 4 \
    'holdfast: paper/2 was changed by carol at * (you read version 7, it is now 1).*holdfast: tax/D=E was changed by bob at * (you read version 2, it is now 1).'
run save paper/2 --version 7 --rely tax/D=E=absent --rely paper/1=2 --json
expect_json "in JSON too" 4 "d['code'] == 'stale' and d['resource'] == 'paper/2' and
    [(c['resource'], c['code'], c['expected'], c['present']['version']) for c in d['conflicts']] ==
    [('paper/2', 'stale', 7, 1), ('tax/D=E', 'stale', None, 1)] and set(d['conflicts'][0]['present']) == $VERSION"
run acquire paper/2 paper/9 --json
expect_json "acquire tells the version of what was ever saved" 0 "d['locks'][0]['version'] == 1 and set(d['locks'][1]) == $LOCK"
paper_fence=$(field 'd["locks"][0]["fence"]')
run save paper/2 --fence "$paper_fence"
expect "the holder of the lock saves without a version" 0 'Saved paper/2: version 2 *'
run save paper/2 --fence 1
expect "but not with another fence" 8 'holdfast: *'
run save paper/2 --version 2 --rely tax/D=E=9 --user bob --json
expect_json "a lock in the way is told, and what is stale beside it" 3 \
    "d['code'] == 'locked' and [h['user'] for h in d['holders']] == ['carol'] and [c['code'] for c in d['conflicts']] == ['locked', 'stale']"
run save paper/2 --version 2 --gone --json
expect_json "a deletion is a save" 0 "d['version'] == 3 and d['gone'] is True"
run release paper/2 paper/9
run version paper/2
expect "what is gone says so" 0 'paper/2 was deleted by carol at * UTC (version 3, fence [0-9]*).'
run version paper/1 paper/2 paper/3 --json
expect_json "several versions, in the order given" 0 "set(d) == {'versions'} and all(set(v) == $VERSION for v in d['versions']) and
    [(v['resource'], v['version'], v['gone']) for v in d['versions']] == [('paper/1', 2, False), ('paper/2', 3, True), ('paper/3', 0, False)]"
run events --type paper --json
expect_json "saves leave events" 0 "[(e['kind'], e['user'], e['reason']) for e in d['events'] if e['resource'] == 'paper/1'][:2] ==
    [('saved', 'alice', 'typo'), ('saved', 'carol', None)] and any(e['kind'] == 'deleted' and e['resource'] == 'paper/2' for e in d['events'])"
run type set sealed --policy exclusive-write
run save sealed/1 --new --user bob
expect "where the policy wants a lock to edit a save needs it" 8 'holdfast: The policy of sealed is exclusive-write: *'

# Help

for verb in $(run help --json && field '" ".join(v["name"].replace(" ", "_") for v in d["verbs"])'); do
    # shellcheck disable=SC2086 # one or two words
    run ${verb/_/ } --help
    expect "'${verb/_/ } --help' shows its usage" 0 "Usage: holdfast ${verb/_/ }*--store*--json*--help*"
done
run help
expect "help lists the verbs" 0 '*Usage: holdfast VERB*session open*acquire*watch*restore*'
run help session
expect "help of a noun shows all its verbs" 0 '*Usage: holdfast session open*Usage: holdfast session close*'
run session --help
expect "so does its --help" 0 '*Usage: holdfast session open*Usage: holdfast session close*'

finish
