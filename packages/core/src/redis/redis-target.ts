import type { IoredisScripting } from './ioredis/client.js'
import type { NodeRedisScripting } from './node-redis/client.js'
import type { RedisSource } from './redis-source.js'

/** The marks of a `Redis` or `Cluster` of ioredis or iovalkey. */
interface IoredisTarget extends IoredisScripting {
  readonly status: string
}

/** The marks of a client of node-redis, its pool, Sentinel client or cluster. */
interface NodeRedisTarget extends NodeRedisScripting {
  readonly isOpen: boolean
}

/**
 * A client of ioredis, iovalkey or node-redis, or a `TestRedis` of `@holdfast/testing`. Structural, so that types resolve
 * without these packages and with two copies of them; the members that it must have besides are checked when it is given.
 */
export type RedisTarget = IoredisTarget | NodeRedisTarget | RedisSource
