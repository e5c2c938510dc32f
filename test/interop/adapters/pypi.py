"""The implementations of PyPI as adapters (adapter.ts has the protocol): one attempt for each
request, and a second for each command of Redis where the library lets us say so."""

import asyncio
import math
import sys

NAME, URLS = sys.argv[1], sys.argv[2:]


def clients():
    import redis

    made = [redis.Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1) for url in URLS]
    for client in made:
        client.ping()
    return made


class RedlockPy:
    def __init__(self):
        from redlock import Redlock

        self.locks = Redlock(clients(), retry_count=1, retry_delay=0.01)
        self.lock = None

    def acquire(self, name, ttl_ms):
        self.lock = self.locks.lock(name, ttl_ms)
        return bool(self.lock)

    def extend(self, _ttl_ms):
        return None

    def release(self):
        self.locks.unlock(self.lock)
        return True


class Pottery:
    def __init__(self):
        self.masters = set(clients())
        self.lock = None

    def acquire(self, name, ttl_ms):
        from pottery import Redlock

        self.lock = Redlock(key=name, masters=self.masters, auto_release_time=ttl_ms / 1000,
                            num_extensions=1000)
        return self.lock.acquire(blocking=False)

    def extend(self, _ttl_ms):
        self.lock.extend()
        return True

    def release(self):
        self.lock.release()
        return True


class RedisPy:
    def __init__(self):
        self.client = clients()[0]
        self.lock = None

    def acquire(self, name, ttl_ms):
        self.lock = self.client.lock(name, timeout=ttl_ms / 1000, blocking=False)
        return self.lock.acquire()

    def extend(self, ttl_ms):
        return self.lock.extend(ttl_ms / 1000, replace_ttl=True)

    def release(self):
        self.lock.release()
        return True


class PythonRedisLock:
    def __init__(self):
        self.client = clients()[0]
        self.lock = None

    def acquire(self, name, ttl_ms):
        from redis_lock import Lock

        self.lock = Lock(self.client, name, expire=math.ceil(ttl_ms / 1000))
        return self.lock.acquire(blocking=False)

    def extend(self, ttl_ms):
        self.lock.extend(expire=math.ceil(ttl_ms / 1000))
        return True

    def release(self):
        self.lock.release()
        return True


class Aioredlock:
    def __init__(self):
        from aioredlock import Aioredlock as Locks

        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)

        async def connected():
            return Locks(URLS, retry_count=1)

        self.locks = self.loop.run_until_complete(connected())
        self.lock = None

    def acquire(self, name, ttl_ms):
        self.lock = None
        try:
            self.lock = self.loop.run_until_complete(self.locks.lock(name, ttl_ms / 1000))
        finally:  # A failed attempt is undone by a task that it does not wait for.
            tasks = asyncio.all_tasks(self.loop)
            ours = [task for task in tasks if "cleanup" in repr(task)]
            if ours:
                self.loop.run_until_complete(asyncio.wait(ours))
        return self.lock.valid

    def extend(self, ttl_ms):
        self.loop.run_until_complete(self.locks.extend(self.lock, ttl_ms / 1000))
        return True

    def release(self):
        self.loop.run_until_complete(self.locks.unlock(self.lock))
        return True


def answer(implementation, verb, words):
    if verb == "acquire":
        return implementation.acquire(words[0], int(words[1]))
    if verb == "extend":
        return implementation.extend(int(words[0]))
    return implementation.release()


def main():
    implementation = {
        "redlock-py": RedlockPy,
        "pottery": Pottery,
        "redis-py": RedisPy,
        "python-redis-lock": PythonRedisLock,
        "aioredlock": Aioredlock,
    }[NAME]()
    print("ready", flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        try:
            done = answer(implementation, verb, words)
            reply = "none" if done is None else "yes" if done else "no"
        except Exception as error:  # Each library has errors of its own.
            reply = "error " + " ".join(f"{type(error).__name__}: {error}".split())
        print(reply, flush=True)


main()
