"""Cycles of redlock-py or pottery for test/bench/contestant.ts: a count on each line of stdin, the
times in ms on a line of stdout. The first argument selects the library, the others are addresses
of masters. redlock-py asks the masters one after the other, and has no setting to change that."""

import json
import sys
import time

import redis

CALL_TIMEOUT_S = 1.5


def connected(url):
    return redis.Redis(unix_socket_path=url.removeprefix("unix://"), socket_timeout=CALL_TIMEOUT_S)


def redlock_py(masters):
    from redlock import Redlock

    locks = Redlock(masters, retry_count=1)

    def cycle():
        lock = locks.lock("redlock-py", 30_000)
        if not lock:
            raise RuntimeError("not acquired")
        locks.unlock(lock)

    return cycle


def pottery(masters):
    from pottery import Redlock

    lock = Redlock(key="pottery", masters=masters, auto_release_time=30)

    def cycle():
        if not lock.acquire(blocking=False):
            raise RuntimeError("not acquired")
        lock.release()

    return cycle


def block(count, limit_ms, cycle):
    times = []
    try:
        while len(times) < count and sum(times) < limit_ms:
            started_at = time.perf_counter()
            cycle()
            times.append((time.perf_counter() - started_at) * 1000)
    except Exception as error:  # Whatever it is, it goes into the table.
        return {"error": f"{type(error).__name__} {error}"}
    return {"ms": times}


kind, *urls = sys.argv[1:]
cycle = {"redlock-py": redlock_py, "pottery": pottery}[kind]([connected(url) for url in urls])
for wish in sys.stdin:
    count, limit_ms = wish.split()
    print(json.dumps(block(int(count), float(limit_ms), cycle)), flush=True)
