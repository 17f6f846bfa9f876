"""Takes a lock of redis-py again and again and says when it is inside, or once, and unlocks it late."""

import random
import sys
import time

import redis

LONGEST_WORK_S = 0.004
WAIT_S = 0.010


def lock_of(client, name, lease_ms):
    return client.lock(name, timeout=lease_ms / 1000, sleep=WAIT_S, thread_local=False)


def turns(client, name, lease_ms, events, me):
    while True:
        lock = lock_of(client, name, lease_ms)
        lock.acquire()
        client.rpush(events, f"in {me}")
        time.sleep(random.random() * LONGEST_WORK_S)
        client.rpush(events, f"out {me}")
        lock.release()
        time.sleep(random.random() * LONGEST_WORK_S)


def late(client, name, lease_ms):
    lock = lock_of(client, name, lease_ms)
    lock.acquire()
    print("inside", flush=True)
    sys.stdin.readline()
    try:
        lock.release()
        print("says nothing", flush=True)
    except redis.exceptions.RedisError as error:
        print(f"throws {type(error).__name__}: {error}", flush=True)


_, mode, _, url, key, lease, *rest = sys.argv
connection = redis.Redis.from_url(url)
if mode == "turns":
    turns(connection, key, int(lease), *rest)
else:
    late(connection, key, int(lease))
