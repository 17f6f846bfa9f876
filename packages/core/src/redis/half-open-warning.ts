import { warn } from '../events.js'

/** How to have the client notice it, for the warning. */
export const HALF_OPEN_IOREDIS =
  "Set ioredis's socketTimeout (of a Cluster: redisOptions.socketTimeout) to a few seconds: it replaces such a connection."
export const HALF_OPEN_NODE_REDIS =
  "Set node-redis's pingInterval, and socket.socketTimeout to more than that: they replace such a connection."

/** Says, once, that a connection is half-open that Holdfast was given, and may therefore not replace. */
export class HalfOpenWarning {
  hasWarned = false

  constructor(private readonly advice: string) {}

  warn(): void {
    if (!this.hasWarned) {
      this.hasWarned = true
      warn(
        'HOLDFAST_HALF_OPEN',
        'The Redis connection that was given to Holdfast does not answer, and a new one to the same server does: it is ' +
          'half-open, or a blocking command of the application (BLPOP, WAIT) keeps it busy. Holdfast does not replace ' +
          `what it was given. ${this.advice}`,
      )
    }
  }
}
