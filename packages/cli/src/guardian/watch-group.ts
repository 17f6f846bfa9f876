import { uptime } from 'node:os'
import { signalGroup } from './group.js'
import { machineTime, type FromGuardian, type ToGuardian } from './messages.js'

/** How often it looks whether the group is gone, once nobody tells it, ms. */
const LOOK_MS = 25
/** How often it looks for a machine that slept, ms. */
const TICK_MS = 500
/** `uptime` counts whole seconds on some systems. */
const UPTIME_ERROR_MS = 1_500

/**
 * Ends a process group in time: SIGTERM when the trust in the lock is about to end, SIGKILL when it ends. Alone it knows
 * nothing of the lock: without another message the last times hold, whatever became of the command line.
 */
export class GroupWatch {
  private group: number | undefined
  private termAt = Infinity
  private killAt = Infinity
  private termSent = false
  private killSent = false
  private timer: NodeJS.Timeout | undefined
  private readonly ticker: NodeJS.Timeout
  /** How much longer the machine has run than its monotonic clock: that clock stands still while it sleeps. */
  private sleptBefore = sleptMs()
  private isAlone = false

  constructor(
    private readonly tell: (message: FromGuardian) => void,
    private readonly end: () => void,
  ) {
    this.ticker = setInterval(() => this.look(), TICK_MS)
  }

  take(message: ToGuardian): void {
    if (message.kind === 'done') {
      this.stop()
      return
    }
    this.termAt = message.termAt
    this.killAt = message.killAt
    this.sleptBefore = sleptMs()
    if (message.kind === 'guard') {
      this.group = message.group
      this.tell({ kind: 'guarding' })
    }
    this.look()
  }

  /** The pipe has closed: nobody will tell it when the group is gone. */
  aloneFromNow(): void {
    this.isAlone = true
    this.look()
  }

  private look(): void {
    clearTimeout(this.timer)
    const { group } = this
    if (group === undefined) {
      if (this.isAlone) {
        this.stop()
      }
      return
    }
    if (this.isAlone && !signalGroup(group, 0)) {
      this.stop()
      return
    }
    const now = this.now()
    if (now >= this.killAt) {
      this.kill(group)
    } else if (now >= this.termAt && !this.termSent) {
      this.termSent = true
      signalGroup(group, 'SIGTERM')
      this.tell({ kind: 'sent', signal: 'SIGTERM' })
    }
    const next =
      this.killAt > now ? (this.termSent ? this.killAt : Math.min(this.termAt, this.killAt)) - now : TICK_MS
    this.timer = setTimeout(() => this.look(), Math.max(0, this.isAlone ? Math.min(next, LOOK_MS) : next))
  }

  /** Again at each look: a process that was about to be born when the first signal came is in the group by now. */
  private kill(group: number): void {
    const isThere = signalGroup(group, 'SIGKILL')
    if (!this.killSent) {
      this.killSent = true
      this.tell({ kind: 'sent', signal: 'SIGKILL' })
    }
    if (!isThere) {
      this.stop()
    }
  }

  /** Machine time, and the time that the machine slept since the times were told. */
  private now(): number {
    const slept = sleptMs() - this.sleptBefore
    return machineTime() + (slept > UPTIME_ERROR_MS ? slept : 0)
  }

  private stop(): void {
    clearTimeout(this.timer)
    clearInterval(this.ticker)
    this.end()
  }
}

function sleptMs(): number {
  return uptime() * 1_000 - machineTime()
}
