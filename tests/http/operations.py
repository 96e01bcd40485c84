#!/usr/bin/python3
"""What docs/operations.md says of a running server: its metrics, top, how long events are kept, copies of its live store. Prints TAP
lines. (Debian's Python: metrics_check.py wants the client library of Prometheus from there.)"""
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(os.environ["HF_SOURCE_ROOT"])
HOLDFAST = os.environ["HOLDFAST"]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from metrics_check import Judge  # noqa: E402

failures = 0
servers = []
scratch = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-operations-"))


def check(sentence, good, seen=None):
    global failures
    print(f"{'ok' if good else 'not ok'} - {sentence}", flush=True)
    if not good:
        failures += 1
        print("#   saw " + repr(seen)[:2000].replace("\n", "\\n"), flush=True)


class Server:
    def __init__(self, name, *options):
        self.data = scratch / name
        self.data.mkdir()
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HOLDFAST_")}
        self.environment = environment | {"HOLDFAST_MODULES": os.environ.get("HOLDFAST_MODULES", "")}
        self.process = subprocess.Popen(
            [HOLDFAST, "serve", "--data", self.data, "--listen", "127.0.0.1:0", "--log", "json", *options],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=self.environment)
        servers.append(self.process)
        for line in self.process.stderr:
            if found := re.search(r'"address":"([^"]+)"', line):
                self.address = found[1]
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()  # so that it never waits for us
        self.token = (self.data / "admin-token").read_text().strip()
        self.store = f"sqlite:{self.data / 'holdfast.db'}"
        self.secrets = [self.token]

    def ask(self, method, path, body=None, session=None, token=None):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        headers = {"Authorization": f"Bearer {token or self.token}"}
        if session:
            headers["Holdfast-Session"] = f"{session['id']}.{session['key']}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        kind = answer.getheader("Content-Type") or ""
        connection.close()
        return answer.status, kind, text

    def session(self, user):
        session = json.loads(self.ask("POST", "/v1/sessions", {"user": user})[2])
        self.secrets.append(session["key"])
        return session

    def metrics(self):
        """The samples by name and labels."""
        status, kind, text = self.ask("GET", "/metrics")
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8"), (status, kind)
        judge = Judge(text)
        if not judge.flaws:
            judge.compare(text)
        assert not judge.flaws, judge.flaws
        self.text = text
        return {key: value for family in judge.families.values() for key, value in family.samples.items()}

    def run(self, *arguments, store=None):
        environment = self.environment | {"HOLDFAST_TOKEN": self.token, "HOLDFAST_STORE": store or f"http://{self.address}"}
        if store:
            del environment["HOLDFAST_TOKEN"]
        return subprocess.run([HOLDFAST, *arguments], env=environment, capture_output=True, text=True, timeout=60)

    def stop(self):
        self.process.terminate()
        return self.process.wait(30)


def until(is_true, seconds=60):
    end = time.monotonic() + seconds
    while not (result := is_true()) and time.monotonic() < end:
        time.sleep(0.1)
    return result


def label(name, **labels):
    return name, tuple(sorted(labels.items()))


def metrics_say_what_happened():
    server = Server("metrics")
    alice, bob = server.session("alice"), server.session("bob")
    before = server.metrics()
    for number in range(5):
        server.ask("PUT", f"/v1/locks/policy/{number}", {}, alice)
    for _ in range(3):
        server.ask("PUT", "/v1/locks/policy/1", {}, bob)
    server.ask("GET", "/v1/sessions", token="f" * 64)
    server.ask("GET", "/no/such/page")
    server.ask("BREW", "/v1/locks")
    after = server.metrics()
    grown = {key: value - before.get(key, 0) for key, value in after.items() if value != before.get(key, 0)}
    wanted = {
        label("holdfast_ops_total", op="acquire", status="ok"): 5,
        label("holdfast_ops_total", op="acquire", status="locked"): 3,
        label("holdfast_callers_refused_total", reason="unauthenticated"): 1,
    }
    check("ops and refused callers are counted", all(grown.get(key) == value for key, value in wanted.items()), grown)
    answered = sum(value for (name, _), value in grown.items() if name == "holdfast_http_requests_total")
    check("every request is counted once", answered == 12, grown)
    refused = sum(value for (name, _), value in grown.items() if name == "holdfast_refusals_total")
    check("refused acquires are counted", refused == 3, grown)
    labels = {dict(labels).get("route") for (name, labels) in after if name == "holdfast_http_requests_total"}
    check("no path that came in is a label", "unknown" in labels and not any("such" in route for route in labels), labels)
    timed = after[label("holdfast_batch_seconds_count", work="write")]
    check("commits are timed", timed > 0 and timed == after[label("holdfast_batch_ops_count", work="write")], timed)

    # 300 types: only some get a label, and it stays so.
    carol = server.session("carol")
    server.ask("POST", "/v1/locks", {"locks": [{"resource": f"type{number}/{number}"} for number in range(300)]}, carol)
    held = until(lambda: sum(value for (name, _), value in server.metrics().items() if name == "holdfast_locks") == 305)
    samples = server.metrics()
    types = [dict(labels)["type"] for (name, labels) in samples if name == "holdfast_locks"]
    check("the locks of 300 types are counted", held, types)
    check("with 64 labels and the rest as other", len(types) == 65 and {"other", "policy"} <= set(types), types)
    check("sessions are counted", samples[label("holdfast_sessions")] == 3, samples[label("holdfast_sessions")])
    check("no secret is in the metrics", not any(secret in server.text for secret in server.secrets))

    top = server.run("top", "--count", "2", "--interval", "200ms", "--json")
    looks = [json.loads(line) for line in top.stdout.splitlines()]
    check("top tells of a server what it counts", len(looks) == 2 and looks[1]["server"].get("requests_per_second", 0) > 0 and
          looks[0]["server"]["commit_ops"] >= 1 and looks[0]["locks"] == 305, (top.stdout[:900], top.stderr))
    check("and no secret", not any(secret in top.stdout + top.stderr for secret in server.secrets))
    check("the server ends well", server.stop() == 0)


class Silent(http.server.BaseHTTPRequestHandler):
    """Passes requests on to a server, but for its metrics."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/metrics":
            self.answer(403, b'{"type":"urn:holdfast:problem:denied","code":"denied","status":403,"message":"Ask someone else."}')
        else:
            self.pass_on()

    def pass_on(self):
        connection = http.client.HTTPConnection(self.server.behind, timeout=30)
        headers = {name: self.headers[name] for name in ("Authorization", "Content-Type") if name in self.headers}
        connection.request(self.command, self.path, self.rfile.read(int(self.headers.get("Content-Length", 0))), headers)
        answer = connection.getresponse()
        self.answer(answer.status, answer.read())
        connection.close()

    do_POST = pass_on

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def top_shows_the_rest_when_a_server_tells_nothing():
    server = Server("silent")
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    proxy.behind = server.address
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    address, server.address = server.address, f"127.0.0.1:{proxy.server_port}"
    shown = server.run("top", "--count", "1")
    check("a server that tells nothing of itself is said to, and the rest is shown", shown.returncode == 0 and
          "Server      tells nothing of itself: Ask someone else.\nCommits     not known\n" in shown.stdout and
          "No locks are held." in shown.stdout, (shown.stdout, shown.stderr))
    shown = server.run("top", "--count", "1", "--json")
    check("in JSON too", json.loads(shown.stdout)["server"] == {"error": "Ask someone else."}, shown.stdout)
    server.address = address
    proxy.shutdown()
    server.stop()


def events_go_and_forced_acts_stay():
    server = Server("retention", "--keep-events", "1s", "--keep-forced", "1h", "--sweep-interval", "1s")
    alice = server.session("alice")
    for number in range(300):
        server.ask("PUT", f"/v1/locks/policy/{number % 3}", {}, alice)
        server.ask("DELETE", f"/v1/locks/policy/{number % 3}", None, alice)
    server.ask("PUT", "/v1/locks/policy/7", {}, alice)
    server.ask("POST", "/v1/locks/policy/7/force-release", {"reason": "in the way"})
    server.ask("PUT", "/v1/locks/policy/8", {}, alice)

    def kept():
        listed = server.run("events", "--json", store=server.store)
        return [event["kind"] for event in json.loads(listed.stdout)["events"]]

    gone = until(lambda: not {"released", "session_opened"} & set(kept()))
    check("events are removed when they are older than they are kept", gone, kept())
    check("what was forced stays, and so does who got a token", {"forced", "token_created"} <= set(kept()), kept())
    swept = server.metrics()
    check("the metrics tell of the sweeps", swept[label("holdfast_swept_rows_total")] >= 600 and
          swept[label("holdfast_sweeps_total")] > 0 and swept[label("holdfast_sweep_timestamp_seconds")] > 1e9, server.text[-900:])
    check("the lock that lives still does", '"policy/8"' in server.ask("GET", "/v1/locks")[2])
    server.stop()


def the_alert_of_the_sweep_rests_while_all_is_well():
    """The expression of the document, which Python works out for one server as Prometheus does."""
    lines = (ROOT / "docs" / "operations.md").read_text().splitlines()
    row = next(line for line in lines if line.startswith("| `time()") and "holdfast_sweep_timestamp_seconds" in line)
    expression = row.split("`")[1]

    def fires(seen, later=0):
        names = {name: value for (name, labels), value in seen.items() if not labels}
        return eval(expression, {"__builtins__": {}, "time": lambda: time.time() + later}, names)

    server = Server("alert", "--sweep-interval", "1d")
    fresh = server.metrics()
    check("a server that has just started has not swept", fresh[label("holdfast_sweep_timestamp_seconds")] == 0, server.text[-900:])
    check("nobody is woken by that", not fires(fresh), expression)
    check("but when it never sweeps", fires(fresh, 7200), expression)
    server.stop()
    server = Server("alert-swept", "--sweep-interval", "1s")
    swept = until(lambda: (seen := server.metrics())[label("holdfast_sweeps_total")] > 0 and seen)
    check("nor by a server that sweeps", swept and not fires(swept), expression)
    check("but when it stops to", fires(swept, 7200), expression)
    server.stop()


def a_live_store_is_copied_and_put_back():
    server = Server("copies")
    alice = server.session("alice")
    server.ask("PUT", "/v1/locks/policy/before", {}, alice)
    ended, counts = threading.Event(), {"saved": 0, "failed": 0}

    def work():
        number = 0
        while not ended.is_set():
            status = server.ask("PUT", f"/v1/locks/doc/{number}", {}, alice)[0]
            counts["saved" if status == 201 else "failed"] += 1
            number += 1

    worker = threading.Thread(target=work)
    worker.start()
    until(lambda: counts["saved"] >= 20)
    copy = scratch / "copy.db"
    made = server.run("backup", str(copy), store=server.store)
    during = counts["saved"]
    until(lambda: counts["saved"] >= during + 20)
    ended.set()
    worker.join()
    check("a live store is copied", made.returncode == 0 and copy.exists(), made.stderr)
    check("and nobody who works on it is refused", counts["failed"] == 0, counts)
    database = sqlite3.connect(f"file:{copy}?mode=ro", uri=True)
    whole = database.execute("PRAGMA integrity_check").fetchone()
    database.close()
    check("the copy is whole", whole == ("ok",), whole)
    listed = server.run("list", "--type", "doc", "--json", store=f"sqlite:{copy}")
    in_copy = sorted(int(lock["resource"].split("/")[1]) for lock in json.loads(listed.stdout)["locks"])
    check("it is the store as it was at one moment", in_copy == list(range(len(in_copy))) and 20 <= len(in_copy) <= during + 1,
          (len(in_copy), during))
    refused = server.run("restore", str(copy), store=server.store)
    check("it is not put back while people hold locks", refused.returncode != 0 and "held by" in refused.stderr, refused.stderr)
    back = server.run("restore", str(copy), "--replace", store=server.store)
    check("unless that is said, under the running server", back.returncode == 0, back.stderr)
    status, _, text = server.ask("GET", "/v1/locks?type=doc&limit=1000")
    check("which then answers from it", status == 200 and len(json.loads(text)["locks"]) == len(in_copy), text[:300])
    first = server.ask("PUT", f"/v1/locks/doc/{len(in_copy) + 1000}", {}, alice)
    check("and takes new locks", first[0] == 201, first)
    check("the server ends well", server.stop() == 0)


try:
    metrics_say_what_happened()
    top_shows_the_rest_when_a_server_tells_nothing()
    events_go_and_forced_acts_stay()
    the_alert_of_the_sweep_rests_while_all_is_well()
    a_live_store_is_copied_and_put_back()
finally:
    for process in servers:
        process.kill()
        process.wait()
    shutil.rmtree(scratch, ignore_errors=True)
sys.exit(1 if failures else 0)
