#!/usr/bin/python3
"""Units of work (include/holdfast/record.h) beside what does the same elsewhere: load one record, change a column, save it if its version is
still the one that was read. First beside prepared SQL by hand (bench-records), then beside SQLAlchemy's version_id_col and ActiveRecord's
lock_version, with 1 client and with 16, each on records of its own. Clients of ours are threads, theirs are processes. All use the same table in
turns. By hand it is measured with and without the disk; in the other comparisons the disk is no part: the SQLite file is in memory where there
is room, PostgreSQL (HF_TEST_POSTGRES) does not wait for it.

    BUILD=build bench/records.py [--check]

What is not installed is said and left out. --check exits with 1 below 0.95 of the speed by hand (0.85 without the disk), or 3 times that of the others with 1 client, 4 times with 16.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
PROGRAM = str(BUILD / "bench" / "bench-records")
ROWS, ROUNDS, SECONDS = 1000, 3, 1.0
TARGETS = {1: 3, 16: 4}


# ---- the others: a process each client, forked when all is loaded ----

def sqlalchemy_save(url):
    import sqlalchemy
    from sqlalchemy.orm import Session, declarative_base

    class Customer(declarative_base()):
        __tablename__ = "bench_customer"
        id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
        name, phone, city = (sqlalchemy.Column(sqlalchemy.String(40)) for _ in range(3))
        visits = sqlalchemy.Column(sqlalchemy.Integer)
        version = sqlalchemy.Column(sqlalchemy.Integer, nullable=False)
        __mapper_args__ = {"version_id_col": version}

    if url.startswith("sqlite:"):
        engine = sqlalchemy.create_engine("sqlite:///" + url.removeprefix("sqlite:"), connect_args={"timeout": 30})
    else:
        import psycopg2
        engine = sqlalchemy.create_engine("postgresql://", creator=lambda: psycopg2.connect(url))

    def save(number):
        with Session(engine) as session:
            session.get(Customer, number).visits += 1
            session.commit()
    return save


def sqlalchemy_clients(url, clients, seconds):
    """Says that it is ready; after each line that it reads all save for that long, and it says how many were saved."""
    save, share, ends = sqlalchemy_save(url), ROWS // clients, []
    for i in range(clients):
        ask, told = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.close(ask[1])
            for _, its in ends:
                os.close(its)
            first = number = i * share + 1
            save(first)
            os.write(told[1], b"ready\n".rjust(12))
            while os.read(ask[0], 1):
                done, until = 0, time.monotonic() + seconds
                while time.monotonic() < until:
                    save(number)
                    done += 1
                    number = number + 1 if number < first + share - 1 else first
                os.write(told[1], str(done).encode().rjust(12))
            os._exit(0)
        os.close(ask[0])
        ends.append((told[0], ask[1]))
    for out, _ in ends:
        os.read(out, 12)
    print("ready", flush=True)
    while sys.stdin.readline():
        for _, its in ends:
            os.write(its, b"g")
        print(sum(int(os.read(out, 12)) for out, _ in ends), flush=True)


ACTIVE_RECORD = """
require "active_record"
require "sqlite3"
require "pg"
require "json"
config, clients, seconds, rows = JSON.parse(ARGV[0]), ARGV[1].to_i, ARGV[2].to_f, ARGV[3].to_i
class Customer < ActiveRecord::Base
  self.table_name = "bench_customer"
  self.locking_column = "version"
end
def save(id)
  customer = Customer.find(id)
  customer.visits += 1
  customer.save!
end
now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
share = rows / clients
ends = []
clients.times do |i|
  asked, ask = IO.pipe
  told, tell = IO.pipe
  fork do
    ends.each { |_, its| its.close }
    ask.close
    ActiveRecord::Base.establish_connection(config)
    first = id = i * share + 1
    save(first)
    tell.puts "ready"
    while asked.gets
      done, until_then = 0, now.call + seconds
      while now.call < until_then
        save(id)
        done += 1
        id = id < first + share - 1 ? id + 1 : first
      end
      tell.puts done
    end
    exit!
  end
  asked.close
  tell.close
  ends << [told, ask]
end
ends.each { |told, _| told.gets }
$stdout.sync = true
puts "ready"
while $stdin.gets
  ends.each { |_, ask| ask.puts "go" }
  puts ends.sum { |told, _| told.gets.to_i }
end
"""


def active_record_config(url):
    """ActiveRecord takes no URL of a server behind a socket."""
    if url.startswith("sqlite:"):
        return {"adapter": "sqlite3", "database": url.removeprefix("sqlite:"), "timeout": 30000}
    parts = urllib.parse.urlsplit(url)
    more = dict(urllib.parse.parse_qsl(parts.query))
    config = {"adapter": "postgresql", "username": parts.username, "password": parts.password, "host": more.get("host", parts.hostname),
              "port": int(more.get("port", parts.port or 5432)), "database": parts.path.lstrip("/"), "variables": {"synchronous_commit": "off"}}
    return {name: value for name, value in config.items() if value is not None}


# ---- measuring ----

class Clients:
    """All clients of one kind; they end when nobody asks any more."""

    def __init__(self, name, url, clients):
        many = [str(clients), str(SECONDS)]
        self.process = subprocess.Popen({
            "records": [PROGRAM, url, "--clients", *many],
            "SQLAlchemy": ["/usr/bin/python3", __file__, "--clients", url, *many],
            "ActiveRecord": ["ruby", "-e", ACTIVE_RECORD, json.dumps(active_record_config(url)), *many, str(ROWS)]}[name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{name} did not start")

    def saved(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(60)


def rivals():
    found = []
    for name, test in (("SQLAlchemy", ["/usr/bin/python3", "-c", "import sqlalchemy, psycopg2"]),
                       ("ActiveRecord", ["ruby", "-e", "require 'active_record'; require 'sqlite3'; require 'pg'"])):
        try:
            there = subprocess.run(test, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
        except OSError:
            there = False
        if there:
            found.append(name)
        else:
            print(f"records: {name} is not installed, and left out (tools/install-deps bench).")
    return found


def by_hand(what, url, target):
    """Beside prepared SQL by hand, and many records at once beside one after the other."""
    said = subprocess.run([PROGRAM, url, "60"], stdout=subprocess.PIPE, text=True, check=True).stdout
    print(f"records on {what}:", said.replace("\n", "; ").rstrip("; "), f"(wanted {target})", flush=True)
    return float(re.search(r"([0-9.]+) of its speed", said)[1]) >= target


def compare(what, url, found):
    good = by_hand(f"{what}, not synced", url, 0.85)
    for clients, target in TARGETS.items():
        for name in found:
            with Clients("records", url, clients) as ours, Clients(name, url, clients) as theirs:
                ratios = [ours.saved() / max(theirs.saved(), 1) for _ in range(ROUNDS)]
            middle = statistics.median(ratios)
            good = good and middle >= target
            print(f"records on {what}, {clients} client{'s' if clients > 1 else ''}: {middle:.1f} times the speed of {name} "
                  f"({min(ratios):.1f} to {max(ratios):.1f}; wanted {target})", flush=True)
    return good


def main():
    found, good = rivals(), True
    with tempfile.TemporaryDirectory(prefix="records-", dir=BUILD) as folder:
        good = by_hand("SQLite, synced", f"sqlite:{folder}/office.db", 0.95)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="holdfast-records-", dir=memory) as folder:
        good = compare("SQLite", f"sqlite:{folder}/office.db", found) and good
    server = os.environ.get("HF_TEST_POSTGRES")
    if server:
        good = by_hand("PostgreSQL, synced", server, 0.95) and good
        mark = "&" if "?" in server else "?"
        good = compare("PostgreSQL", f"{server}{mark}options=-csynchronous_commit%3Doff", found) and good
    return 0 if good or "--check" not in sys.argv else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--clients"]:
        sqlalchemy_clients(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        sys.exit(main())
