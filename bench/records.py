#!/usr/bin/python3
"""Units of work (include/holdfast/record.h) beside what does the same elsewhere: load one record, change a column, save it if its version is
still the one that was read. First beside prepared SQL by hand (bench-records), then beside SQLAlchemy's version_id_col and ActiveRecord's
lock_version, with 1 client and with 16, each on records of its own. Clients of ours are threads, theirs are processes. All use the same table in
turns; the disk is no part of it: the SQLite file is in memory where there is room, PostgreSQL (HF_TEST_POSTGRES) does not wait for it.

    BUILD=build bench/records.py [--check]

What is not installed is said and left out. --check exits with 1 below 3 times the speed with 1 client or 4 times with 16.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
PROGRAM = str(BUILD / "bench" / "bench-records")
ROWS, ROUNDS, SECONDS = 1000, 3, 1.0
TARGETS = {1: 3, 16: 4}


# ---- the others: one client, a process each ----

def sqlalchemy_client(url, first, last, seconds):
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
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("SELECT 1"))

    def save(number):
        with Session(engine) as session:
            session.get(Customer, number).visits += 1
            session.commit()
    client(save, first, last, seconds)


def client(save, first, last, seconds):
    """Says that it is ready, waits for a line, saves for that long, says how many were saved."""
    save(first)
    print("ready", flush=True)
    sys.stdin.readline()
    done, number, until = 0, first, time.monotonic() + seconds
    while time.monotonic() < until:
        save(number)
        done += 1
        number = number + 1 if number < last else first
    print(done, flush=True)


ACTIVE_RECORD = """
require "active_record"
url, first, last, seconds = ARGV[0], ARGV[1].to_i, ARGV[2].to_i, ARGV[3].to_f
if url.start_with?("sqlite:")
  ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: url.delete_prefix("sqlite:"), timeout: 30000)
else
  ActiveRecord::Base.establish_connection(url)
end
class Customer < ActiveRecord::Base
  self.table_name = "bench_customer"
  self.locking_column = "version"
end
def save(id)
  customer = Customer.find(id)
  customer.visits += 1
  customer.save!
end
save(first)
puts "ready"
$stdout.flush
$stdin.gets
done, id, ends = 0, first, Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ends
  save(id)
  done += 1
  id = id < last ? id + 1 : first
end
puts done
"""


# ---- measuring ----

def commands(name, url, clients):
    if name == "records":
        return [[PROGRAM, url, "--clients", str(clients), str(SECONDS)]]
    share = ROWS // clients
    of = {"SQLAlchemy": ["/usr/bin/python3", __file__, "--client", url], "ActiveRecord": ["ruby", "-e", ACTIVE_RECORD, url]}[name]
    return [[*of, str(i * share + 1), str((i + 1) * share), str(SECONDS)] for i in range(clients)]


def saved(name, url, clients):
    """How many were saved in that time; all clients begin when the last is ready."""
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for command in commands(name, url, clients)]
    try:
        for one in running:
            if one.stdout.readline().strip() != "ready":
                raise RuntimeError(f"{name} did not start")
        for one in running:
            one.stdin.write("go\n")
            one.stdin.flush()
        return sum(int(one.stdout.readline() or 0) for one in running)
    finally:
        for one in running:
            one.stdin.close()
            one.stdout.close()
            one.wait(60)


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


def compare(what, url, found):
    good = True
    print(f"records on {what}:", subprocess.run([PROGRAM, url, "20"], stdout=subprocess.PIPE, text=True, check=True).stdout.replace("\n", "; ").rstrip("; "))
    for clients, target in TARGETS.items():
        for name in found:
            ratios = []
            for _ in range(ROUNDS):
                ours, theirs = saved("records", url, clients), saved(name, url, clients)
                ratios.append(ours / max(theirs, 1))
            middle = statistics.median(ratios)
            good = good and middle >= target
            print(f"records on {what}, {clients} client{'s' if clients > 1 else ''}: {middle:.1f} times the speed of {name} "
                  f"({min(ratios):.1f} to {max(ratios):.1f}; wanted {target})", flush=True)
    return good


def main():
    found, good = rivals(), True
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="holdfast-records-", dir=memory) as folder:
        good = compare("SQLite", f"sqlite:{folder}/office.db", found)
    server = os.environ.get("HF_TEST_POSTGRES")
    if server:
        mark = "&" if "?" in server else "?"
        good = compare("PostgreSQL", f"{server}{mark}options=-csynchronous_commit%3Doff", found) and good
    return 0 if good or "--check" not in sys.argv else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        sqlalchemy_client(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
    else:
        sys.exit(main())
