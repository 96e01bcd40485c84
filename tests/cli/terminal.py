#!/usr/bin/env python3
"""What the program does on a terminal: the redrawing table, the cursor, signals, a change of size. Prints TAP lines."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

HOLDFAST = sys.argv[1]
SHOW, HIDE, FRAME = b"\x1b[?25h", b"\x1b[?25l", b"\x1b[H"
failures = 0


def check(sentence, good, seen=b""):
    global failures
    print(f"{'ok' if good else 'not ok'} - {sentence}")
    if not good:
        failures += 1
        print(f"#   saw {seen!r}")


class Terminal:
    """The program on a terminal of so many rows and columns."""

    def __init__(self, *arguments, rows=12, columns=60):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.process = subprocess.Popen([HOLDFAST, *arguments], stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True)
        os.close(slave)
        self.seen = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, until=None, seconds=20):
        """Reads until the bytes have come, or to the end."""
        end = time.monotonic() + seconds
        start = len(self.seen)
        while time.monotonic() < end and (until is None or until not in self.seen[start:]):
            if not select.select([self.master], [], [], 0.05)[0]:
                continue
            try:
                chunk = os.read(self.master, 65536)
            except OSError:
                break
            if not chunk:
                break
            self.seen += chunk
        return self.seen[start:]

    def read_frame_without(self, text, seconds=20):
        """Reads until a whole frame lacks the text: the last whole frame."""
        end = time.monotonic() + seconds
        shown = frame = b""
        while time.monotonic() < end and (not frame or text in frame):
            shown += self.read(FRAME, end - time.monotonic())
            frame = (shown.split(FRAME)[1:-1] or [b""])[-1]
        return frame

    def await_stop(self, seconds=20):
        """Waits until a signal has stopped it: going on has to come after that."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] == "T":
                    break
            time.sleep(0.01)

    def end(self):
        self.read()
        return self.process.wait(20)


def lines_of(screen):
    return [line.rstrip(b"\r") for line in screen.split(b"\n")]


def run(*arguments):
    subprocess.run([HOLDFAST, *arguments], check=True, capture_output=True)


run("acquire", "policy/12345", "--purpose", "a purpose so long that it does not fit into sixty columns of a terminal")

watch = Terminal("watch", "--count", "1")
code = watch.end()
check("watch draws a table", code == 0 and b"RESOURCE" in watch.seen and b"policy/12345" in watch.seen, watch.seen)
check("it hides the cursor and shows it again", HIDE in watch.seen and watch.seen.rstrip().endswith(SHOW), watch.seen)
rows = [line for line in lines_of(watch.seen) if b"RESOURCE" in line or line.startswith(b"policy/12345")]
check("rows are cut at the terminal's width", rows and all(len(row) <= 60 for row in rows), watch.seen)

watch = Terminal("watch", "--interval", "20ms")
watch.read(b"policy/12345")
run("acquire", "zebra/1")
check("a new lock shows up", b"zebra/1" in watch.read(b"zebra/1"), watch.seen)
run("release", "zebra/1")
shown = watch.read_frame_without(b"zebra/1")
check("a released one goes away", b"zebra/1" not in shown and b"policy/12345" in shown, shown)
watch.process.send_signal(signal.SIGINT)
code = watch.end()
check("an interrupt ends it with 0 and the cursor back", code == 0 and watch.seen.rstrip().endswith(SHOW), watch.seen[-200:])

watch = Terminal("watch", "--interval", "1h")
watch.read(b"policy/12345")
watch.resize(12, 30)
watch.process.send_signal(signal.SIGWINCH)
shown = watch.read(b"policy/12345")
check("a change of size redraws at once", b"RESOURCE" in shown, shown)
watch.process.send_signal(signal.SIGTERM)
code = watch.end()
check("SIGTERM ends it with 0 and the cursor back", code == 0 and watch.seen.rstrip().endswith(SHOW), watch.seen[-200:])

watch = Terminal("watch", "--interval", "1h")
watch.read(b"policy/12345")
watch.process.send_signal(signal.SIGTSTP)
shown = watch.read(SHOW)
check("stopping gives the cursor back", SHOW in shown, shown)
watch.await_stop()
watch.process.send_signal(signal.SIGCONT)
shown = watch.read(b"policy/12345")
check("going on draws again", HIDE in shown and b"RESOURCE" in shown, shown)
watch.process.send_signal(signal.SIGTERM)
watch.end()

watch = Terminal("watch", "--interval", "1h", rows=8)
watch.read(b"policy/12345")
watch.process.send_signal(signal.SIGTERM)
watch.end()
run("acquire", *(f"bulk/{i}" for i in range(100)))
watch = Terminal("watch", "--count", "1", rows=8)
watch.end()
check("what does not fit the screen is not drawn", len(lines_of(watch.seen)) <= 9 and b"of more" in watch.seen, watch.seen)

# The same screen, by top.

top = Terminal("top", "--count", "1", rows=24, columns=80)
code = top.end()
check("top draws what lives", code == 0 and b" locks of 2 types, 1 session" in top.seen and b"FREES IN" in top.seen, top.seen)
check("it hides the cursor and shows it again", HIDE in top.seen and top.seen.rstrip().endswith(SHOW), top.seen)
for height in (3, 9, 10, 24):
    top = Terminal("top", "--count", "1", rows=height, columns=80)
    top.end()
    check(f"on {height} rows it draws no more than fit", len(lines_of(top.seen)) <= height, top.seen)
for width in (20, 79, 120):
    top = Terminal("top", "--count", "1", rows=24, columns=width)
    top.end()
    drawn = [line.split(b"\x1b[?7l")[-1] for line in lines_of(top.seen) if not line.startswith(b"\x1b[?7h")]
    check(f"on {width} columns no line is longer", drawn and all(len(line.decode()) <= width for line in drawn), top.seen)
top = Terminal("top", "--interval", "1h", rows=24, columns=80)
top.read(b"policy/12345")
top.process.send_signal(signal.SIGTSTP)
shown = top.read(SHOW)
top.await_stop()
top.process.send_signal(signal.SIGCONT)
shown += top.read(b"policy/12345")
check("top can be stopped and goes on", SHOW in shown and HIDE in shown and b"HELD FOR" in shown, shown)
top.process.send_signal(signal.SIGINT)
code = top.end()
check("an interrupt ends top with 0 and the cursor back", code == 0 and top.seen.rstrip().endswith(SHOW), top.seen[-200:])

opened = Terminal("session", "open", "--user", "tess", "--no-remember")
code = opened.end()
check("on a terminal session open explains itself", code == 0 and b"HOLDFAST_SESSION" in opened.seen, opened.seen)
sys.exit(1 if failures else 0)
