export { TestRedis } from './test-redis.js'
export type { StartOptions, TestRedisOptions } from './test-redis.js'
export type { FailNextOptions, Failure } from './failures.js'
export type { Permissions } from './engine/permissions.js'
