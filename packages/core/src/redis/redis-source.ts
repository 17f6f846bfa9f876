import type { Runtime } from '../runtime/runtime.js'
import type { RedisPort } from './redis-port.js'

/**
 * Stands in for a Redis client: the `TestRedis` of `@holdfast/testing`. It brings its connections
 * and its time; what it holds under this name is between it and core.
 */
export interface RedisSource {
  readonly '@holdfast/redis': object
}

/** A source's connections and time. */
export interface SourceParts {
  /** The default of the option `runtime` for clients on this source. */
  readonly runtime: Runtime
  /** The same, with timers that do not keep the process alive. */
  readonly background: Runtime
  open(background: Runtime): RedisPort
}

/** Null: a client, or anything else. */
export function sourceIn(redis: unknown): SourceParts | null {
  const parts = (redis as Partial<RedisSource> | null | undefined)?.['@holdfast/redis']
  return parts === undefined ? null : (parts as SourceParts)
}
