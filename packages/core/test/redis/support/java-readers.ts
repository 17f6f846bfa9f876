import type { Redis } from 'ioredis'

// The commands of Redisson for a read-write lock, written after its description in redisson-wire.md 1.7.

const READ = `
local function join(count)
  redis.call('set', KEYS[2] .. ':' .. count, 1, 'px', ARGV[1])
  redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[1])))
end
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode then
  redis.call('hset', KEYS[1], 'mode', 'read', ARGV[2], 1)
  join(1)
  return nil
end
if mode == 'read' or redis.call('hexists', KEYS[1], ARGV[2] .. ':write') == 1 then
  join(redis.call('hincrby', KEYS[1], ARGV[2], 1))
  return nil
end
return redis.call('pttl', KEYS[1])`

const UNLOCK_READ = `
local count = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if count == 0 then redis.call('hdel', KEYS[1], ARGV[1]) end
redis.call('del', KEYS[2] .. ':' .. (count + 1))
local longest = -3
for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
  for i = tonumber(redis.call('hget', KEYS[1], field)) or 0, 1, -1 do
    longest = math.max(longest, redis.call('pttl', KEYS[3] .. ':' .. field .. ':rwlock_timeout:' .. i))
  end
end
if longest > 0 then
  redis.call('pexpire', KEYS[1], longest)
  return 0
end
if redis.call('hget', KEYS[1], 'mode') == 'write' then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[4], 0)
return 1`

const WRITE = `
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode then
  redis.call('hset', KEYS[1], 'mode', 'write', ARGV[2] .. ':write', 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])`

const UNLOCK_WRITE = `
redis.call('hdel', KEYS[1], ARGV[1] .. ':write')
if redis.call('hlen', KEYS[1]) == 1 then
  redis.call('del', KEYS[1])
  redis.call('publish', KEYS[2], 1)
else
  redis.call('hset', KEYS[1], 'mode', 'read')
end
return 1`

/** One thread of a Java service at a read-write lock whose name has no braces. */
export class JavaReader {
  constructor(
    private readonly redis: Redis,
    private readonly name: string,
    readonly owner = '8743c9c0-0795-4907-87fd-6c719a6b4586:57',
  ) {}

  /** Null: it reads; else the time to live of whoever writes, ms. */
  read(leaseMs = 30_000): Promise<number | null> {
    return this.redis.eval(READ, 2, this.name, this.timeouts, leaseMs, this.owner) as Promise<number | null>
  }

  unlockRead(): Promise<unknown> {
    const keys = [this.name, this.timeouts, `{${this.name}}`, this.channel]
    return this.redis.eval(UNLOCK_READ, keys.length, ...keys, this.owner)
  }

  /** Null: it writes; else the time to live of whoever has it, ms. */
  write(leaseMs = 30_000): Promise<number | null> {
    return this.redis.eval(WRITE, 1, this.name, leaseMs, this.owner) as Promise<number | null>
  }

  unlockWrite(): Promise<unknown> {
    return this.redis.eval(UNLOCK_WRITE, 2, this.name, this.channel, this.owner)
  }

  private get timeouts(): string {
    return `{${this.name}}:${this.owner}:rwlock_timeout`
  }

  private get channel(): string {
    return `redisson_rwlock:{${this.name}}`
  }
}
