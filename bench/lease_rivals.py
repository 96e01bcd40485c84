#!/usr/bin/env python3
"""Pairs a second of other people's leases, one after the other, of keys that nobody else wants: lease_rivals.py NAME URL SECONDS.
NAME is redis-py (its Lock, by a script) or tooz (its PostgreSQL and MySQL drivers). Prints 0 when the library is not there."""
import os
import sys
import time
from urllib.parse import parse_qs, urlsplit


def pairs(take, seconds):
    count, start = 0, time.monotonic()
    while (now := time.monotonic()) - start < seconds or count == 0:
        lock = take(f"bench-{count % 1000}")
        if not lock.acquire(blocking=False):
            raise SystemExit("refused")
        lock.release()
        count += 1
    return count / (now - start)


def redis_py(url):
    import redis
    client = redis.Redis.from_url(url)
    return lambda key: client.lock(key, timeout=10)


def tooz(url):
    from tooz import coordination
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if parts.scheme.startswith("postgres"):
        os.environ["PGHOST"] = query.get("host", "")
        url = f"postgresql://postgres@:{query.get('port', 5432)}{parts.path}"
    else:
        url = f"mysql://root@localhost{parts.path}?unix_socket={query.get('socket', '')}"
    coordinator = coordination.get_coordinator(url, b"bench")
    coordinator.start()
    return lambda key: coordinator.get_lock(key.encode())


def main():
    name, url, seconds = sys.argv[1:]
    try:
        take = {"redis-py": redis_py, "tooz": tooz}[name](url)
    except ImportError:
        print(0)
        return
    print(pairs(take, float(seconds)))


main()
