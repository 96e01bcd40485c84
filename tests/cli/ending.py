#!/usr/bin/env python3
"""watch, top and events --follow end at once when a signal says so, whatever they are at: asking a server that hangs, printing much, or
writing to someone who reads nothing. Prints TAP lines."""
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time

HOLDFAST = os.environ["HOLDFAST"]
AT_ONCE = 10  # seconds; what is not at once takes 28 and more
SHOW = b"\x1b[?25h"
PAGE = 4096
failures = 0


def check(sentence, good, seen=b""):
    global failures
    print(f"{'ok' if good else 'not ok'} - {sentence}", flush=True)
    if not good:
        failures += 1
        print(f"#   saw {seen!r}", flush=True)


folder = tempfile.mkdtemp(prefix="holdfast-ending.")
environment = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "XDG_")) or name == "HOLDFAST_MODULES"}
environment |= {"HOME": folder, "HOLDFAST_STATE": folder + "/state", "HOLDFAST_STORE": f"sqlite:{folder}/locks.db"}


def run(*arguments):
    return subprocess.run([HOLDFAST, *arguments], check=True, capture_output=True, env=environment).stdout


def await_true(what, seconds=60):
    end = time.monotonic() + seconds
    while not (good := what()) and time.monotonic() < end:
        time.sleep(0.02)
    return good


class Follower:
    """The program in the background. Its output is a terminal's or a pipe's, or goes into a file; nobody reads it unasked."""

    def __init__(self, *arguments, terminal=False, file=None, env=None, before=None):
        self.terminal, self.seen = terminal, b""
        self.ours, theirs = pty.openpty() if terminal else os.pipe()
        self.process = subprocess.Popen([HOLDFAST, *arguments], stdin=subprocess.DEVNULL, stdout=file or theirs, stderr=subprocess.PIPE,
                                        start_new_session=True, env=env or environment, preexec_fn=before)
        os.close(theirs)

    def read_some(self, seconds=0.02):
        if not select.select([self.ours], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self.ours, PAGE)
        except OSError:
            piece = b""
        self.seen += piece
        return piece != b""

    def read_until(self, text, seconds=60):
        end = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < end:
            self.read_some()

    def is_blocked(self):
        """Has it written, and writes no more?"""
        before = self.unread()
        time.sleep(1)
        return before > 0 and self.unread() == before

    def unread(self):
        return int.from_bytes(fcntl.ioctl(self.ours, termios.FIONREAD, bytes(4)), sys.byteorder)

    def end(self, how=signal.SIGTERM, meanwhile=lambda: time.sleep(0.02)):
        """Tells it to end. Returns how long it took, and its exit code."""
        before = time.monotonic()
        self.process.send_signal(how)
        while self.process.poll() is None and time.monotonic() - before < 4 * AT_ONCE:
            meanwhile()
        took = time.monotonic() - before
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        while self.read_some():
            pass
        os.close(self.ours)
        return took, self.process.returncode

    def ends_at_once(self, sentence, *arguments, **more):
        took, code = self.end(*arguments, **more)
        check(f"{sentence} ends at once, with 0", took < AT_ONCE and code == 0, (took, code, self.process.stderr.read()))
        if self.terminal:
            check("and gives the cursor back", self.seen.rstrip().endswith(SHOW), self.seen[-100:])


# A server that hangs

run("session", "open", "--user", "alice")
run("acquire", *(f"policy/{i}" for i in range(30)))
server = subprocess.Popen([HOLDFAST, "serve", "--config", "/dev/null", "--data", folder, "--listen", f"unix:{folder}/socket"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
await_true(lambda: os.path.exists(folder + "/socket") and os.path.exists(folder + "/admin-token"))
with open(folder + "/admin-token", encoding="utf-8") as file:
    remote = environment | {"HOLDFAST_STORE": f"http://localhost?socket={folder}/socket", "HOLDFAST_TOKEN": file.read().strip()}
often = ("--interval", "10ms")
followers = []
for sentence, words, terminal, first in [
        ("watch on a terminal", ["watch", *often], True, b"policy/1"), ("top on a terminal", ["top", *often], True, b"policy/1"),
        ("top elsewhere", ["top", *often, "--json"], False, b"policy/1"),
        ("events --follow", ["events", "--follow", *often], False, b"acquired")]:
    follower = Follower(*words, terminal=terminal, env=remote)
    follower.read_until(first)
    followers.append((sentence, follower))
server.send_signal(signal.SIGSTOP)
time.sleep(0.5)  # so that they ask it something
followers += [("watch that has seen nothing yet", Follower("watch", env=remote)), ("such a top", Follower("top", env=remote))]
time.sleep(0.5)
for (sentence, follower), how in zip(followers, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGINT, signal.SIGTERM]):
    while follower.read_some():
        pass
    follower.ends_at_once(f"{sentence}, of a server that hangs,", how)
server.send_signal(signal.SIGCONT)
server.terminate()
check("the server was only asleep", server.wait(60) == 0)

# Much to print

for round in range(6):
    run("acquire", *(f"bulk/{i}" for i in range(1000)))
    run("release", *(f"bulk/{i}" for i in range(1000)))
for how in (signal.SIGINT, signal.SIGTERM):
    follower = Follower("events", "--follow", "--json")
    follower.read_until(b"bulk/7")

    def slowly():
        follower.read_some(0)
        time.sleep(0.08)

    follower.ends_at_once("events --follow with a slow reader", how, meanwhile=slowly)


def lines_are_whole():
    path = folder + "/lines"
    with open(path, "wb") as file:
        follower = Follower("events", "--follow", "--json", *often, file=file)
    await_true(lambda: os.path.getsize(path) > 10 * PAGE)
    follower.end(signal.SIGTERM)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return text.endswith("\n") and all("seq" in json.loads(line) for line in text.splitlines())


check("what it has printed are whole lines", any(lines_are_whole() for again in range(3)))  # the machine may have been busy

# Started by nohup

follower = Follower("events", "--follow", *often, before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
follower.read_until(b"acquired")
follower.process.send_signal(signal.SIGHUP)
run("acquire", "last/1")
follower.read_until(b"last/1")
check("what was started without a signal goes on when it comes", b"last/1" in follower.seen and follower.process.poll() is None)
follower.ends_at_once("it", signal.SIGTERM)

# Nobody reads

for sentence, words, terminal in [("events --follow", ["events", "--follow"], False), ("top", ["top", *often], False)]:
    follower = Follower(*words, terminal=terminal)
    await_true(follower.is_blocked)
    follower.ends_at_once(f"{sentence} that nobody reads")
for words in (["watch", *often], ["top", *often]):
    follower = Follower(*words, terminal=True)
    await_true(follower.is_blocked)
    took, code = follower.end()
    check(f"{words[0]} on a terminal that shows nothing ends at once, with 0", took < AT_ONCE and code == 0, (took, code))
shutil.rmtree(folder)
sys.exit(1 if failures else 0)
