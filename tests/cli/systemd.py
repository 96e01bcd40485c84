#!/usr/bin/env python3
"""Plays systemd for a server: its messages to NOTIFY_SOCKET, the watchdog, sockets that are handed over, journald and a terminal.
  systemd.py PROGRAM FOLDER; prints TAP lines, exits with 1 when one was "not ok"."""
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time

PROGRAM, FOLDER = sys.argv[1:3]
PATIENCE = 30  # seconds; nothing here should take long
bad = False


def check(sentence, condition, more=""):
    global bad
    print(("ok - " if condition else "not ok - ") + sentence)
    if not condition:
        bad = True
        print("#   " + str(more).replace("\n", "\n#   "))


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, name):
        self.path = f"{FOLDER}/{name}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(PATIENCE)
        self.heard = []

    def hear(self, part):
        """Waits for a message with that part; None when the time is over."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                message = self.socket.recv(4096).decode()
            except socket.timeout:
                return None
            self.heard.append(message)
            if part in message:
                return message
        return None


def start(*arguments, env=None, **more):
    command = [PROGRAM, "serve", "--data", f"{FOLDER}/systemd-data", *arguments]
    return subprocess.Popen(command, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def stop(server, number=signal.SIGTERM):
    server.send_signal(number)
    out, err = server.communicate(timeout=PATIENCE)
    return out, err


def messages():
    manager = Manager("notify")
    server = start("--listen", "127.0.0.1:0", env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "600000"})
    ready = manager.hear("READY=1")
    check("systemd is told when the server is ready, and where it serves", ready and "STATUS=Serving on 127.0.0.1:" in ready, manager.heard)
    pings = [manager.hear("WATCHDOG=1") for _ in range(3)]
    check("the watchdog hears that it is alive, again and again", all(pings), manager.heard)
    server.send_signal(signal.SIGHUP)
    check("a reload is announced", manager.hear("RELOADING=1\nMONOTONIC_USEC="), manager.heard)
    check("and its end", manager.hear("READY=1"), manager.heard)
    os.kill(server.pid, signal.SIGSTOP)
    manager.socket.settimeout(1.5)
    on_its_way = [manager.hear("WATCHDOG=1") for _ in range(3)]
    check("a server that stands still is not alive", on_its_way[-1] is None, on_its_way)
    manager.socket.settimeout(PATIENCE)
    os.kill(server.pid, signal.SIGCONT)
    check("one that goes on is", manager.hear("WATCHDOG=1"), manager.heard)
    stop(server)
    check("the stop is announced", manager.hear("STOPPING=1"), manager.heard)
    check("it ends with 0", server.returncode == 0, server.returncode)


def without_watchdog():
    manager = Manager("notify-2")
    server = start("--listen", "127.0.0.1:0", env={"NOTIFY_SOCKET": manager.path})
    manager.hear("READY=1")
    stop(server)
    manager.hear("STOPPING=1")
    check("without a watchdog nobody is told that it is alive", not any("WATCHDOG" in text for text in manager.heard), manager.heard)


def waiting():
    manager = Manager("notify-w")
    server = start("--listen", "127.0.0.1:0", "--store", "redis://127.0.0.1:1/0", env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "600000"})
    ready = manager.hear("READY=1")
    check("a server that waits for its store is ready for systemd, which shows what it waits for", ready and "STATUS=Waiting for the store" in ready, manager.heard)
    check("and is alive", all(manager.hear("WATCHDOG=1") for _ in range(3)), manager.heard)
    server.send_signal(signal.SIGHUP)
    check("a reload is nothing to it", manager.hear("WATCHDOG=1"), manager.heard)
    stop(server)
    check("it stops as announced", server.returncode == 0 and manager.hear("STOPPING=1"), manager.heard)


def refusal():
    manager = Manager("notify-3")
    server = start("--listen", "0.0.0.0:0", env={"NOTIFY_SOCKET": manager.path})
    server.communicate(timeout=PATIENCE)
    manager.socket.settimeout(0.1)
    check("a server that does not start is never ready", server.returncode == 2 and not manager.hear("READY"), manager.heard)


def hand_over(sockets):
    """As systemd does: the files from 3 on, and two variables with the number and the new process."""
    def place():
        copies = [os.dup2(one.fileno(), 100 + i) for i, one in enumerate(sockets)]
        for i, copy in enumerate(copies):
            os.dup2(copy, 3 + i, inheritable=True)
            os.close(copy)
    script = 'LISTEN_PID=$$ exec "$0" "$@"'
    command = ["/bin/sh", "-c", script, PROGRAM, "serve", "--data", f"{FOLDER}/systemd-data", "--listen", "127.0.0.1:1"]
    return subprocess.Popen(command, env={**os.environ, "LISTEN_FDS": str(len(sockets))}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=place, close_fds=False)


def activation():
    manager = Manager("notify-4")
    os.environ["NOTIFY_SOCKET"] = manager.path
    tcp = socket.create_server(("127.0.0.1", 0))
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    unix.bind(f"{FOLDER}/handed")
    unix.listen()
    server = hand_over([tcp, unix])
    manager.hear("READY=1")
    _, err = stop(server)
    name = f"127.0.0.1:{tcp.getsockname()[1]}"
    check("sockets that systemd hands over are used in place of `listen`",
          f"address={name} " in err and f"address=unix:{FOLDER}/handed " in err and "127.0.0.1:1 " not in err, err)
    check("and their files stay", os.path.exists(f"{FOLDER}/handed"))
    beyond = socket.create_server(("0.0.0.0", 0))
    server = hand_over([beyond])
    _, err = server.communicate(timeout=PATIENCE)
    check("one that other machines reach is refused like ours", server.returncode == 2 and "other machines" in err, err)
    server = hand_over([socket.socket(socket.AF_INET, socket.SOCK_DGRAM)])
    _, err = server.communicate(timeout=PATIENCE)
    check("one that does not listen too", server.returncode == 2 and "no listening stream socket" in err, err)
    del os.environ["NOTIFY_SOCKET"]


def journal():
    manager = Manager("notify-5")
    ours, theirs = socket.socketpair()
    about = os.fstat(theirs.fileno())
    command = [PROGRAM, "serve", "--data", f"{FOLDER}/systemd-data", "--listen", "127.0.0.1:0"]
    env = {**os.environ, "NOTIFY_SOCKET": manager.path, "JOURNAL_STREAM": f"{about.st_dev}:{about.st_ino}"}
    server = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stderr=theirs)
    theirs.close()
    manager.hear("READY=1")
    server.terminate()
    server.wait(timeout=PATIENCE)
    text = b""
    while piece := ours.recv(65536):
        text += piece
    lines = text.decode().splitlines()
    check("journald gets levels and no times", len(lines) > 3 and all(line.startswith("<") and line[2] == ">" and "Z info" not in line for line in lines), lines)


def terminal(*more):
    """What a server prints on a terminal until it is ready."""
    main, side = pty.openpty()
    manager = Manager(f"notify-6-{len(more)}")
    command = [PROGRAM, "serve", "--data", f"{FOLDER}/systemd-data", "--listen", "127.0.0.1:0", "--hints", *more]
    server = subprocess.Popen(command, env={**os.environ, "NOTIFY_SOCKET": manager.path}, stdin=subprocess.DEVNULL, stdout=side,
                              stderr=subprocess.DEVNULL)
    os.close(side)
    text = ""
    while "v1/events" not in text and select.select([main], [], [], PATIENCE)[0]:
        text += os.read(main, 65536).decode()
    server.send_signal(signal.SIGINT)
    server.wait(timeout=PATIENCE)
    return text


def token_on_terminal():
    with open(f"{FOLDER}/systemd-data/admin-token", encoding="ascii") as file:
        secret = file.read().strip()
    check("on a terminal the token is not printed either", secret not in terminal(), "")
    check("but with print-token", secret in terminal("--print-token"), "")
    server = start("--listen", "127.0.0.1:0", "--hints", "--print-token")
    text = ""
    while "v1/events" not in text:
        text += server.stdout.readline()
    out, err = stop(server)
    check("which prints nothing into a pipe", secret not in text + out + err, "")


def stuck_log():
    """A reader of stderr that takes nothing holds nobody up."""
    manager = Manager("notify-7")
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    try:
        while True:
            os.write(theirs, b"." * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(theirs, True)
    command = [PROGRAM, "serve", "--data", f"{FOLDER}/systemd-data", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, env={**os.environ, "NOTIFY_SOCKET": manager.path}, stdin=subprocess.DEVNULL, stderr=theirs)
    check("a server whose log nobody reads starts", manager.hear("READY=1"), manager.heard)
    server.terminate()
    check("and stops", server.wait(timeout=PATIENCE) == 0)
    os.close(ours)


for test in (messages, without_watchdog, waiting, refusal, activation, journal, token_on_terminal, stuck_log):
    test()
sys.exit(bad)
