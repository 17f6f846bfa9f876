import type { RedisTarget } from '@holdfast/core'

/** An ioredis `Redis` or `Cluster`, or a client of node-redis. */
export type RedisClient = RedisTarget
