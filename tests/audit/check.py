"""What the tests of audit share: running it, and TAP lines."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(os.environ["HF_SOURCE_ROOT"])
HOLDFAST = os.environ["HOLDFAST"]
SAMPLES = ROOT / "tests" / "audit" / "samples"
failures = 0


def check(sentence, good, seen=None):
    global failures
    print(f"{'ok' if good else 'not ok'} - {sentence}", flush=True)
    if not good:
        failures += 1
        print("#   saw " + repr(seen)[:3000].replace("\n", "\\n"), flush=True)


def run(*arguments, cwd=None, env=None):
    return subprocess.run([HOLDFAST, "audit", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, env=env and {**os.environ, **env})


def audit(*arguments, cwd=None, env=None):
    """The report as JSON; an audit that fails is a failure."""
    done = run(*arguments, "--json", cwd=cwd, env=env)
    if done.returncode not in (0, 9):
        raise AssertionError(f"audit {arguments} exits with {done.returncode}: {done.stdout} {done.stderr}")
    return json.loads(done.stdout)


def places(report, rule=None):
    return sorted(f"{f['at']['file']}:{f['at']['line']}" for f in report["findings"] if rule in (None, f["rule"]))


def finish():
    raise SystemExit(1 if failures else 0)
