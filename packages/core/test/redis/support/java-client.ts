import type { Redis } from 'ioredis'

// What Redisson sends for an RLock, replayed from redisson-wire.md 1.3.

const ACQUIRE = `
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])`

/** One thread of a Java service. */
export class JavaClient {
  readonly owner = '8743c9c0-0795-4907-87fd-6c719a6b4586:57'

  constructor(private readonly redis: Redis) {}

  /** Null: acquired; else the time to live of whoever holds it, ms. */
  acquire(name: string, leaseMs = 30_000): Promise<number | null> {
    return this.redis.eval(ACQUIRE, 1, name, leaseMs, this.owner) as Promise<number | null>
  }

  /** As if it had acquired before: the hash alone. */
  async hold(name: string, leaseMs = 30_000): Promise<void> {
    await this.redis.multi().hset(name, this.owner, '1').pexpire(name, leaseMs).exec()
  }

  /** Its last unlock, and its forceUnlock. */
  async unlock(name: string, channel = `redisson_lock__channel:{${name}}`): Promise<void> {
    await this.redis.multi().del(name).publish(channel, '0').exec()
  }
}
