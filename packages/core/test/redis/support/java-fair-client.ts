import type { Redis } from 'ioredis'

// The commands of Redisson for an RFairLock, written anew from the description in redisson-wire.md 1.8. Its clock is that
// of the client.

const DROP_STALE_HEADS = `
local function dropStaleHeads(now)
  while true do
    local first = redis.call('lindex', KEYS[2], 0)
    local due = first and redis.call('zscore', KEYS[3], first)
    if not due or tonumber(due) > now then
      return
    end
    redis.call('zrem', KEYS[3], first)
    redis.call('lpop', KEYS[2])
  end
end
`

const LOWER_TIMES = `
local function lowerTimes(members, by)
  for _, member in ipairs(members) do
    redis.call('zincrby', KEYS[3], -by, member)
  end
end
`

// ARGV: lease, owner, patience, now
const ACQUIRE = `${DROP_STALE_HEADS}${LOWER_TIMES}
local owner, patience, now = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
dropStaleHeads(now)
local function lease()
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
local first = redis.call('lindex', KEYS[2], 0)
if redis.call('exists', KEYS[1]) == 0 and (not first or first == owner) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], owner)
  lowerTimes(redis.call('zrange', KEYS[3], 0, -1), patience)
  redis.call('hset', KEYS[1], owner, 1)
  return lease()
end
if redis.call('hexists', KEYS[1], owner) == 1 then
  redis.call('hincrby', KEYS[1], owner, 1)
  return lease()
end
if redis.call('zscore', KEYS[3], owner) then
  return math.max(0, redis.call('pttl', KEYS[1]))
end
local last = redis.call('lindex', KEYS[2], -1)
local due = last and last ~= owner and redis.call('zscore', KEYS[3], last)
local base = due and tonumber(due) - now or redis.call('pttl', KEYS[1])
redis.call('zadd', KEYS[3], base + patience + now, owner)
redis.call('rpush', KEYS[2], owner)
return base`

// ARGV: owner, patience
const GIVE_UP = `${LOWER_TIMES}
local rank = redis.call('zrank', KEYS[3], ARGV[1])
if rank then
  lowerTimes(redis.call('zrange', KEYS[3], rank + 1, -1), tonumber(ARGV[2]))
end
redis.call('zrem', KEYS[3], ARGV[1])
redis.call('lrem', KEYS[2], 0, ARGV[1])
return 1`

// ARGV: lease, owner, now
const UNLOCK = `${DROP_STALE_HEADS}
local function announce()
  local first = redis.call('lindex', KEYS[2], 0)
  if first then
    redis.call('publish', KEYS[4] .. ':' .. first, '0')
  end
  return 1
end
dropStaleHeads(tonumber(ARGV[3]))
if redis.call('exists', KEYS[1]) == 0 then
  return announce()
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 0
end
redis.call('del', KEYS[1])
return announce()`

let threads = 56

/** One thread of a Java service that uses a fair lock. */
export class JavaFairClient {
  readonly owner: string
  private readonly keys: readonly string[]

  constructor(
    private readonly redis: Redis,
    name: string,
    private readonly patienceMs = 300_000,
  ) {
    threads += 1
    this.owner = `8743c9c0-0795-4907-87fd-6c719a6b4586:${threads}`
    const channel = `redisson_lock__channel:{${name}}`
    this.keys = [name, `redisson_lock_queue:{${name}}`, `redisson_lock_timeout:{${name}}`, channel]
  }

  /** The channel that it listens on while it waits. */
  get channel(): string {
    return `${this.keys[3]}:${this.owner}`
  }

  /** One try of a caller that waits. Null: it has the lock; else it stands in the queue, and this is Redisson's ttl. */
  acquire(leaseMs = 30_000): Promise<number | null> {
    const args = [leaseMs, this.owner, this.patienceMs, Date.now()]
    return this.redis.eval(ACQUIRE, 3, ...this.keys.slice(0, 3), ...args) as Promise<number | null>
  }

  /** 1: it is free, or was; 0: one level less; null: not the owner. */
  unlock(leaseMs = 30_000): Promise<number | null> {
    return this.redis.eval(UNLOCK, 4, ...this.keys, leaseMs, this.owner, Date.now()) as Promise<number | null>
  }

  /** Its wait is over without the lock. */
  async giveUp(): Promise<void> {
    await this.redis.eval(GIVE_UP, 3, ...this.keys.slice(0, 3), this.owner, this.patienceMs)
  }

  /** `delete()` of the lock object: everything goes, nobody is told. */
  async delete(): Promise<void> {
    await this.redis.del(...this.keys.slice(0, 3))
  }
}
