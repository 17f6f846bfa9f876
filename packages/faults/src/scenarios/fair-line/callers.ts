import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient, type Hold } from '@holdfast/core'
import { Redis } from 'ioredis'
import type { Roles } from '../../run/scenario.js'
import { nowMs } from '../../run/shared-clock.js'

/** The one lock, and the list in Redis of those that have had it. */
export const LOCK = 'hot'
export const SERVED = 'served'
const TICK_MS = 10

export interface CallerSettings {
  readonly url: string
  readonly resyncMs: number
  readonly leaseMs: number
  readonly holdMs: number
  readonly localPassing: boolean
}

/** The callers of one worker process. */
class Callers {
  private readonly redis: Redis
  private stallMs = 0
  private ticker: NodeJS.Timeout | undefined
  private callers: { leaving: AbortController; outcome: Promise<string> }[] = []

  private constructor(
    private readonly settings: CallerSettings,
    private readonly locks: LockClient,
    redis: Redis,
  ) {
    this.redis = redis
    locks.on('lost', () => undefined)
    let last = nowMs()
    this.ticker = setInterval(() => {
      this.stallMs = Math.max(this.stallMs, nowMs() - last - TICK_MS)
      last = nowMs()
    }, TICK_MS)
  }

  static async open(settings: CallerSettings): Promise<Callers> {
    const redis = new Redis(settings.url)
    const { resyncMs: resyncInterval, leaseMs: lockWatchdogTimeout, localPassing } = settings
    const own = { resyncInterval, lockWatchdogTimeout, localPassing, bareCalls: 'allow' as const }
    return new Callers(settings, await LockClient.connect(redis, own), redis)
  }

  get clientId(): string {
    return this.locks.clientId
  }

  stand(more: number): void {
    this.callers.push(...Array.from({ length: more }, () => this.caller()))
  }

  abort(index: number): void {
    this.callers.at(index)?.leaving.abort(new Error('left'))
  }

  async finish(): Promise<{ ends: Record<string, number>; stallMs: number }> {
    const ends: Record<string, number> = {}
    for (const { outcome } of this.callers) {
      const end = await outcome
      ends[end] = (ends[end] ?? 0) + 1
    }
    this.callers = []
    return { ends, stallMs: this.stallMs }
  }

  async close(): Promise<void> {
    clearInterval(this.ticker)
    await this.locks.close()
    const ended = once(this.redis, 'end')
    this.redis.disconnect()
    await ended
  }

  /** Notes its owner, and when, in a list in Redis while it has the lock. */
  private caller(): { leaving: AbortController; outcome: Promise<string> } {
    const leaving = new AbortController()
    const work = async (hold: Hold): Promise<string> => {
      await this.redis.rpush(SERVED, `${hold.owner} ${nowMs()}`)
      if (this.settings.holdMs > 0) await sleep(this.settings.holdMs)
      return 'served'
    }
    const outcome = this.locks
      .getFairLock(LOCK)
      .withLock(work, { signal: leaving.signal })
      .catch((error: unknown) => (error === leaving.signal.reason ? 'aborted' : String(error)))
    return { leaving, outcome }
  }
}

export const callersOfLine = (): Roles => {
  let callers: Callers
  return {
    begin: async (settings: CallerSettings) => void (callers = await Callers.open(settings)),
    clientId: () => callers.clientId,
    stand: (more: number) => callers.stand(more),
    /** One of them stops waiting; it may have been served already. */
    abort: (index: number) => callers.abort(index),
    /** How many came to which end, and for how long this process stood still at most. */
    finish: () => callers.finish(),
    close: () => callers.close(),
  }
}
