import type { LockClient } from '@holdfast/core'

/** An ioredis `Redis` or `Cluster`, or a client of node-redis. */
export type RedisClient = ConstructorParameters<typeof LockClient>[0]
