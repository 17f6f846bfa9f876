import type { Redis } from 'ioredis'

// The commands of Redisson for an RLock and an RFencedLock, replayed from redisson-wire.md 1.3 and 1.9.

const ACQUIRE = `
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])`

// It counts at a re-entry too.
const ACQUIRE_WITH_TOKEN = `
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('incr', KEYS[2])
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return { -1, redis.call('get', KEYS[2]) }
end
return { redis.call('pttl', KEYS[1]), -1 }`

/** One thread of a Java service. */
export class JavaClient {
  readonly owner = '8743c9c0-0795-4907-87fd-6c719a6b4586:57'

  constructor(private readonly redis: Redis) {}

  /** Null: acquired; else the time to live of whoever holds it, ms. */
  acquire(name: string, leaseMs = 30_000): Promise<number | null> {
    return this.redis.eval(ACQUIRE, 1, name, leaseMs, this.owner) as Promise<number | null>
  }

  /** The token of an RFencedLock. Null: somebody else has it. */
  async lockAndGetToken(name: string, leaseMs = 30_000): Promise<string | null> {
    const token = `redisson_lock_token:{${name}}`
    const reply = await this.redis.eval(ACQUIRE_WITH_TOKEN, 2, name, token, leaseMs, this.owner)
    const [ttl, given] = reply as [number, string | number]
    return ttl === -1 ? String(given) : null
  }

  /** Makes it an owner from before: the hash alone. */
  async hold(name: string, leaseMs = 30_000): Promise<void> {
    await this.redis.multi().hset(name, this.owner, '1').pexpire(name, leaseMs).exec()
  }

  /** Its last unlock, and its forceUnlock. */
  async unlock(name: string, channel = `redisson_lock__channel:{${name}}`): Promise<void> {
    await this.redis.multi().del(name).publish(channel, '0').exec()
  }
}
