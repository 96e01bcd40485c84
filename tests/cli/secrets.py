#!/usr/bin/env python3
"""Passwords, keys and tokens that stand where another value belongs are not repeated: every verb with each of them as its operand and as
the value of every option, with and without --json; words that are no verb; variables; a server's file."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

holdfast = os.environ["HOLDFAST"]
SECRETS = {
    "a URL's password": ("postgres://eve:hunter2@127.0.0.1:1/db", ["hunter2"]),
    "one that is not escaped as it should be": ("redis://:hun/ter2 and\u202e\u0001more'x@127.0.0.1:1/0", ["hun/ter2", "more'x"]),
    "one among the parameters": ("postgres://127.0.0.1:1/db?user=eve&password=hunter2 x&a=b", ["hunter2"]),
    "a session's key": ("0123456789abcdef" * 2 + "." + "fedcba9876543210" * 4, ["fedcba9876543210"]),
    "a token": ("5ca1ab1e" * 8, ["5ca1ab1e" * 2]),
}
WHOLE = SECRETS["a URL's password"][0]
# What these take is stored, and shown to others as it is: in JSON, and where it is looked for.
DATA = {"user", "name", "purpose", "reason", "message", "account"}
SLOW = {"watch", "top", "events", "serve", "run"}
failures = 0


def check(sentence, good, told=""):
    global failures
    print(f"{'ok' if good else 'not ok'} - {sentence}")
    if not good:
        failures += 1
        print("\n".join(f"#   {line}" for line in told.splitlines()[:20]))


def run(words, folder, variables=None):
    """What it wrote, on both."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HOLDFAST_", "XDG_"))}
    environment.update({"HOME": str(folder), "HOLDFAST_STORE": f"sqlite:{folder}/locks.db",
                        "HOLDFAST_LISTEN": f"unix:{folder}/socket"}, **(variables or {}))
    with tempfile.TemporaryFile() as both:
        try:
            subprocess.run([holdfast, *words], env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=both, stderr=both,
                           timeout=1.5 if words and words[0] in SLOW else 60, check=False)
        except subprocess.TimeoutExpired:
            pass
        both.seek(0)
        return both.read().decode(errors="replace")


def calls(verbs, secret):
    """Every verb, with the secret as each operand and each option's value."""
    yield [secret], None
    yield [f"--{secret}"], None
    yield ["help", secret], None
    yield ["session", secret], None
    for verb in verbs:
        name = verb["name"].split()
        least = verb["operands"].count(" ") + 1 if verb["operands"] else 0
        operands = ["sqlite:a.db", "policy/1"] if name[0] == "guard" else ["policy/1"] * min(least, 1)
        more = ["--print-config"] if name == ["serve"] else ["--count", "1"] if name[0] in ("watch", "top") else []
        for json_ in ([], ["--json"]) if secret is WHOLE else ([],):
            yield [*name, secret, *json_, *more], None
            yield [*name, secret, secret, *json_, *more], None
            yield [*name, f"--no-such={secret}", *json_], None
            for option in verb["options"] if "://" in secret else ():
                if option["value"] is None:
                    yield [*name, *operands, f"--{option['name']}={secret}", *json_, *more], option["name"]
                else:
                    yield [*name, *operands, f"--{option['name']}", secret, *json_, *more], option["name"]
                    if name == ["serve"] and option["name"] != "data":  # which is made, and named where it is logged
                        yield [*name, f"--{option['name']}", secret], option["name"]


def main():
    with tempfile.TemporaryDirectory(prefix="holdfast-secrets.") as place:
        folder = pathlib.Path(place)
        verbs = json.loads(run(["help", "--json"], folder))["verbs"]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for what, (secret, parts) in SECRETS.items():
                leaks, tried = [], 0

                def one(call, secret=secret, parts=parts):
                    words, option = call
                    said = run(words, folder)
                    if option in DATA and ("--json" in words or "list" in words):
                        return None
                    return f"{words}: {said}" if any(part in said for part in parts) else None
                for leak in pool.map(one, calls(verbs, secret)):
                    tried += 1
                    leaks += [leak] if leak else []
                check(f"{what}: in none of {tried} answers", tried > 80 and not leaks, f"{len(leaks)}:\n" + "\n".join(leaks))
                leaks = []
                for variable, words in [("STORE", ["list"]), ("SESSION", ["holds"]), ("STATE", ["holds"]), ("DATA", ["list"]),
                                        ("BODY_MAX", ["serve"]), ("LISTEN", ["serve"]), ("TOKEN", ["list", "--store", "http://127.0.0.1:1"])]:
                    said = run(words, folder, {f"HOLDFAST_{variable}": secret} | ({"HOLDFAST_STORE": ""} if variable == "DATA" else {}))
                    if any(part in said for part in parts):
                        leaks.append(f"{variable}: {said}")
                for key in ("body-max", "listen", "no-such", "tls-key", "origin"):
                    (folder / "holdfast.ini").write_text(f"[server]\n{key} = {secret}\n")
                    said = run(["serve", "--config", "holdfast.ini"], folder)
                    if any(part in said for part in parts) and not secret.startswith(("0", "5")):
                        leaks.append(f"{key}: {said}")
                check(f"{what}: nor where a variable or a server's file holds it", not leaks, "\n".join(leaks))
    sys.exit(failures > 0)


main()
