#!/usr/bin/env python3
"""A hostile server: every text that it sends back, wherever it stands, has escape sequences, C1, DEL, line breaks and characters that turn the
direction in it. Nothing of that reaches a terminal, from any verb, and --json is JSON without them. Code that is audited is as hostile."""
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

holdfast, root = os.environ["HOLDFAST"], os.environ["HF_SOURCE_ROOT"]
EVIL = "\x1b]0;pwn\x07\x1b[31m\u009b2J\x7f\r\nholdfast: forged\t\u202eX"
ODD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
failures = 0


def odd(text, json_):
    """JSON keeps the direction of its data: what people read is made of it elsewhere."""
    return ODD.search(re.sub("[\u2028-\u202e]", "", text) if json_ else text)


def check(sentence, good, told=""):
    global failures
    print(f"{'ok' if good else 'not ok'} - {sentence}")
    if not good:
        failures += 1
        print("\n".join(f"#   {line!r}" for line in str(told).split("\n")[:20]))


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes requests on to the server, and puts EVIL in the place of ZZZ in its answers."""
    protocol_version = "HTTP/1.1"
    upstream = None

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        there = http.client.HTTPConnection(*self.upstream)
        there.request(self.command, self.path, body, dict(self.headers.items()))
        answer = there.getresponse()
        text = answer.read().replace(b"ZZZ", json.dumps(EVIL)[1:-1].encode())
        if b'"prefix"' in text or self.path == "/v1/batch":
            text = text.replace(b'"message":"', b'"message":"' + json.dumps(EVIL)[1:-1].encode())
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "date", "server", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        there.close()

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = pass_on

    def log_message(self, *_):
        pass


def main():
    with tempfile.TemporaryDirectory(prefix="holdfast-hostile.") as place:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("HOLDFAST_", "XDG_"))} | {"HOME": place}
        modules = os.environ.get("HOLDFAST_MODULES")
        environment |= {"HOLDFAST_MODULES": modules} if modules else {}
        server = subprocess.Popen(["bash", f"{root}/tests/cli/serving.sh", f"sqlite:{place}/locks.db"], stdout=subprocess.PIPE, text=True,
                                  env=environment | {"HOLDFAST": holdfast})
        try:
            url, token = server.stdout.readline().split()
            environment["HOLDFAST_TOKEN"] = token
            host, port = url.removeprefix("http://").split(":")
            Proxy.upstream = (host, int(port))
            proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            play(place, environment, url, f"http://127.0.0.1:{proxy.server_address[1]}")
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
    sys.exit(failures > 0)


def play(place, environment, plain, hostile):
    def run(*words, store=hostile, who="alice"):
        done = subprocess.run([holdfast, *words], env=environment | {"HOLDFAST_STORE": store, "HOLDFAST_STATE": f"{place}/{who}"},
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def session(who):
        code, out, err = run("session", "open", "--user", f"{who}ZZZ", "--name", f"{who} ZZZ", store=plain, who=who)
        assert code == 0, err
        environment[f"_{who}"] = out.strip()
        return ["--session", out.strip()]
    alice, bob = session("alice"), session("bob")
    for words in (["acquire", "policy/1ZZZ", "policy/2ZZZ", "--purpose", "work ZZZ", *alice],
                  ["save", "policy/1ZZZ", "--reason", "why ZZZ", *alice],
                  ["request", "policy/1ZZZ", "--message", "please ZZZ", *bob], ["type", "set", "doc", "--policy", "optimistic"],
                  ["token", "create", "--name", "shop ZZZ", "--role", "use"]):
        code, _, err = run(*words, store=plain)
        assert code == 0, (words, err)
    reading = [["list"], ["who", "policy/1ZZZ"], ["session", "list"], ["events"], ["top", "--count", "1"], ["version", "policy/1ZZZ"],
               ["type", "list"], ["type", "get", "doc"], ["token", "list"], ["holds", "policy/1ZZZ", *alice], ["session", "beat", *alice],
               ["acquire", "policy/1ZZZ", *bob], ["request", "policy/1ZZZ", *bob], ["renew", "policy/1ZZZ", "--ttl", "5m", *alice],
               ["save", "policy/1ZZZ", "--version", "9", *alice], ["decline", "policy/1ZZZ", "--to", bob[1], "--message", "no ZZZ", *alice],
               ["hand-over", "policy/1ZZZ", "--to", bob[1], *alice], ["events", "--after", "0"], ["force-release", "policy/1ZZZ", "--reason", "off ZZZ"],
               ["session", "beat", *bob], ["list", "--type", "ZZZ"], ["who", "nothing"], ["release", "policy/2ZZZ", *alice]]
    shown = 0
    for words in reading:
        for json_ in ([], ["--json"]):
            if json_ and words[0] in ("request", "renew", "decline", "hand-over", "force-release", "release"):
                continue
            code, out, err = run(*words, *json_)
            said = " ".join(w for w in [*words, *json_] if len(w) < 60)
            shown += "u001b" in out + err
            check(f"{said}: nothing that moves a cursor", not odd(out + err, json_) and "\nholdfast: forged" not in "\n" + out + err, f"{code} {out}{err}")
            if json_:
                with contextlib.suppress(ValueError):
                    json.loads(out.splitlines()[0])
                    continue
                check(f"{said}: it is JSON", False, out)
    check("most of them had it to show", shown > len(reading), shown)

    # Somebody's code
    folder = pathlib.Path(place, "code\x1b[31m\u202e")
    folder.mkdir()
    sample = pathlib.Path(root, "tests/audit/samples/check-then-insert/bad")
    (folder / "a\x1b]0;x\x07.py").write_text((sample / "take.py").read_text().replace(":", ":  # \x1b[2J\u009b\u202e", 1))
    (folder / "b\x1b[5m.sql").write_text((sample / "schema.sql").read_text().replace("(", "( -- \x1b[31m\r\u202e\x7f\n", 1))
    for form in ("text", "json", "sarif"):
        code, out, err = run("audit", str(folder), "--format", form)
        check(f"audit --format {form}: nothing either", not odd(out + err, form != "text") and ("u001b" in out or "%1B" in out), f"{code} {out}{err}")
    code, out, err = run("backup", f"{place}/no\x1b[31m/where", store=f"sqlite:{place}/b\x1b[2J.db")
    check("nor the name of a file", not ODD.search(out + err) and "u001b" in err, err)


main()
