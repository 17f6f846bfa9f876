import type { RetrySettings } from './retry.js'

/** All durations in milliseconds. */
export interface Settings extends RetrySettings {
  /** The part of a duration by which the clocks of the Redis servers may drift apart. Default: 0.01. */
  readonly driftFactor: number
  /** `using` extends the lock when this much of it is left. Default: 500. */
  readonly automaticExtensionThreshold: number
  /**
   * The database that the locks are in, 0 to 15: on a connection of their own, which ends with the client. Anything else
   * is told of by a process warning and counts as not given. Default: that of each client, whose number this is then (of
   * several clients the first one's).
   */
  readonly db: number
}

const DEFAULTS: Settings = Object.freeze({
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  automaticExtensionThreshold: 500,
  db: 0,
})

/** `base` with those settings of `given` that are numbers. */
export function settingsWith(given: Partial<Settings> | undefined, base: Settings = DEFAULTS): Settings {
  const numberOf = (name: keyof Settings): number => {
    const value = given?.[name]
    return typeof value === 'number' ? value : base[name]
  }
  return {
    driftFactor: numberOf('driftFactor'),
    retryCount: numberOf('retryCount'),
    retryDelay: numberOf('retryDelay'),
    retryJitter: numberOf('retryJitter'),
    automaticExtensionThreshold: numberOf('automaticExtensionThreshold'),
    // One redlock has one database.
    db: base.db,
  }
}

/** Until when a lock may be relied on, if it was taken or extended a moment ago: wall-clock ms. */
export function expirationOf(
  { duration, driftFactor }: { readonly duration: number; readonly driftFactor: number },
  trustedForMs: number,
  wallNow: number,
): number {
  // Redis ends leases within 1 ms, and the moment itself is rounded.
  const drift = Math.round(driftFactor * duration) + 2
  return wallNow + Math.max(0, Math.min(trustedForMs, duration - drift))
}
