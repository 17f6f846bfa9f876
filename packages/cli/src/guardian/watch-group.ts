import { canGroupRun, signalGroup } from './group.js'
import { machineTime, sleptMs, type FromGuardian, type ToGuardian } from './messages.js'

/** How often it looks whether the group is gone, once nobody tells it, ms. */
const LOOK_MS = 25
/** A look at all processes of a large machine takes a while: so many times that long it does nothing. */
const REST_PER_LOOK = 10
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
  private sleptBefore = sleptMs()
  private isAlone = false
  private lookMs = LOOK_MS

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
    // A command that is being ended has the time that it was given: a renewal that comes late gives it no more.
    if (!this.termSent) {
      this.termAt = message.termAt
      this.killAt = message.killAt
      this.sleptBefore = message.slept
    }
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
    if (this.isAlone && !this.isThere(group)) {
      this.stop()
      return
    }
    const now = this.now()
    if (now >= this.killAt) {
      this.kill(group)
    } else if (now >= this.termAt && !this.termSent) {
      this.termSent = true
      // One that has ended by itself was not ended by this, and its number may be another group's soon.
      if (canGroupRun(group) && signalGroup(group, 'SIGTERM')) {
        this.tell({ kind: 'sent', signal: 'SIGTERM' })
      }
    }
    const next =
      this.killAt > now ? (this.termSent ? this.killAt : Math.min(this.termAt, this.killAt)) - now : TICK_MS
    this.timer = setTimeout(() => this.look(), Math.max(0, this.isAlone ? Math.min(next, this.lookMs) : next))
  }

  private isThere(group: number): boolean {
    const startedAt = machineTime()
    const isThere = canGroupRun(group)
    this.lookMs = Math.max(LOOK_MS, REST_PER_LOOK * (machineTime() - startedAt))
    return isThere
  }

  /** Again at each look: a process that was about to be born when the first signal came is in the group by now. */
  private kill(group: number): void {
    const isThere = canGroupRun(group) && signalGroup(group, 'SIGKILL')
    if (isThere && !this.killSent) {
      this.killSent = true
      this.tell({ kind: 'sent', signal: 'SIGKILL' })
    }
    if (!isThere) {
      this.stop()
    }
  }

  /** Machine time, and the time that the machine slept since the times were reckoned. */
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
