import { ChurnMap } from '@holdfast/waiter'
import type { Watch } from '@holdfast/watchdog'
import type { LocalPass, PassedHold } from './local-pass.js'
import type { Background } from '../runtime/background.js'
import type { Clock } from '../runtime/runtime.js'
import { settleWithin } from '../runtime/settle-within.js'
import type { Yielding } from '../runtime/yielding.js'
import type { ReleaseReply } from '../scripts/lock.js'

/** The acquisition whose holder released the lock, and left it idle. */
export interface IdleHolder {
  readonly protocol: LingeringLock
  readonly field: { isNamed(owner: string): boolean }
  readonly lease: {
    /** A message reports a forced release: nobody gets it until Redis has said whether that is true. */
    doubtForced(): void
    /** Trust in it ends: before the lock is released, and when the next caller has it. */
    end(): void
  }
  /** Releases the lock in Redis; a lock that was gone is nobody's loss. Never rejects: a failure is reported. */
  releaseIdle(): Promise<ReleaseReply | undefined>
}

export interface IdleLocksParts {
  readonly runtime: Clock
  readonly background: Background
  readonly runner: { readonly connectionEpoch: number }
  readonly waiter: { readonly topics: { isLive(topic: string): boolean | undefined } }
  readonly yielding: Yielding
  readonly options: {
    /** How long callers wait for the answer to a release, ms. */
    readonly commandTimeout: number
  }
}

interface IdleLock {
  readonly holder: IdleHolder
  readonly localPass: LocalPass
  readonly watch: Watch
  readonly epoch: number
}

interface LingeringLock {
  readonly key: string
  /** The channel of its releases. */
  readonly announcedOn?: string | null
  /** undefined: it never lingers. */
  readonly lingerMs?: number | undefined
}

/** The latest release of a name. */
interface RecentRelease {
  readonly endedAt: number
  /** Another connection heard of a release, or was granted the lock: until then it is released at once. */
  readonly wantedElsewhereUntil: number
}

const WANTED_FOR_MS = 1_000
const MOST_NAMES = 1_000

/**
 * Locks that were released, and that this client keeps in Redis for its next caller (option `lingerMs`). The bound counts
 * from the acquire in Redis, so nobody elsewhere has to call the lock back, and each idle lock ends with a release there.
 * docs/decisions/0096-a-released-lock-lingers.md has the interleavings.
 */
export class IdleLocks {
  private readonly idle = new ChurnMap<string, IdleLock>()
  /** Releases of locks that have lingered, without an answer yet. */
  private readonly leaving = new Map<string, Promise<void>>()
  private readonly recent = new Map<string, RecentRelease>()
  /** Names whose release this client hears itself, or may hear: it is just unsubscribing. */
  private readonly heardHere = new Set<string>()
  private isClosed = false

  constructor(private readonly parts: IdleLocksParts) {}

  /** Nothing lingers, and nothing that did is being released. */
  get isEmpty(): boolean {
    return this.idle.size === 0 && this.leaving.size === 0
  }

  get all(): readonly IdleHolder[] {
    return this.idle.all.map(({ holder }) => holder)
  }

  has(key: string): boolean {
    return this.idle.size > 0 && this.idle.has(key)
  }

  /**
   * Keeps a lock whose last level is being released, for the rest of its time.
   * @returns false: it is to be released now, because its time is over, too little of the lease is trusted, the name is not
   *   taken again and again here, or somebody else wants it
   */
  keep(holder: IdleHolder, localPass: LocalPass, watch: Watch): boolean {
    const { key } = holder.protocol
    if (this.isClosed || !localPass.mayLinger(watch) || !this.isWorthIt(key, localPass)) {
      return false
    }
    const epoch = this.parts.runner.connectionEpoch
    this.idle.set(key, { holder, localPass, watch, epoch })
    localPass.beginToLinger(() => this.end(key, localPass))
    return true
  }

  /**
   * Offers an idle lock to a caller. Declined, or no longer to be trusted, it is released.
   * @returns true: the caller has it; a promise: look again after it; null: Redis has to be asked
   */
  offer(key: string, accept: (passed: PassedHold) => true | undefined): true | Promise<void> | null {
    const here = this.idle.get(key)
    if (!here) {
      return this.leaving.get(key) ?? null
    }
    // A loop of such calls would keep timers, the end of this bound among them, waiting for ever.
    const pause = this.parts.yielding.beforeAnswer()
    if (pause) {
      return pause
    }
    const { holder, localPass, watch, epoch } = here
    const passed =
      epoch === this.parts.runner.connectionEpoch
        ? localPass.passedFromIdle(watch, () => {
            this.idle.delete(key)
            holder.lease.end()
          })
        : null
    return passed !== null && accept(passed) === true ? true : this.release(here)
  }

  /** Releases an idle lock now. @param localPass only the one of this hold */
  end(key: string, localPass?: LocalPass): void {
    const here = this.idle.get(key)
    if (here && (localPass === undefined || localPass === here.localPass)) {
      void this.release(here)
    }
  }

  /**
   * A lock that has lingered is being released: callers of this client wait for the answer, so that others find
   * the name free for a round trip.
   */
  private leaves(key: string, release: Promise<unknown>): Promise<void> {
    const { options, runtime, background } = this.parts
    const left = settleWithin(release, options.commandTimeout, runtime).then(() => {
      if (this.leaving.get(key) === left) {
        this.leaving.delete(key)
      }
    })
    this.leaving.set(key, left)
    background.run(release)
    return left
  }

  /** The release of a lock is on its way. @param localPass what passes it on, if it may be passed */
  releasing(lock: LingeringLock, localPass: LocalPass | null, answer: Promise<unknown>): void {
    this.mayBeHeardHere(lock)
    if (localPass?.hasLingered) {
      void this.leaves(lock.key, answer)
    }
  }

  private mayBeHeardHere({ key, announcedOn, lingerMs }: LingeringLock): void {
    if (lingerMs !== undefined && announcedOn && this.parts.waiter.topics.isLive(announcedOn) !== false) {
      this.heardHere.add(key)
    }
  }

  /** It has its reply; undefined: it failed. */
  released({ key, lingerMs }: LingeringLock, reply: ReleaseReply | undefined): void {
    const isHeardHere = this.heardHere.delete(key)
    if (!reply || lingerMs === undefined) {
      return
    }
    const { grantedForMs, heardBy = Number.POSITIVE_INFINITY } = reply
    const endedAt = this.parts.runtime.now()
    const isHeard = grantedForMs !== undefined || heardBy > Number(isHeardHere)
    const before = this.recent.get(key)?.wantedElsewhereUntil ?? 0
    // Moved to the end: the first of the map is the oldest.
    this.recent.delete(key)
    this.recent.set(key, { endedAt, wantedElsewhereUntil: isHeard ? endedAt + WANTED_FOR_MS : before })
    if (this.recent.size > MOST_NAMES) {
      this.recent.delete(this.recent.keys().next().value as string)
    }
  }

  /** Releases everything, and keeps nothing from now on. */
  close(): void {
    this.isClosed = true
    this.idle.all.forEach((each) => void this.release(each))
  }

  /** A request that takes a lock once must not keep it: the name was taken again within the bound. */
  private isWorthIt(key: string, localPass: LocalPass): boolean {
    const release = this.recent.get(key)
    if (release && this.parts.runtime.now() < release.wantedElsewhereUntil) {
      return false
    }
    return localPass.wasPassedOn || (release !== undefined && localPass.beganWithinBoundOf(release.endedAt))
  }

  private release({ holder, localPass }: IdleLock): Promise<void> {
    const { key } = holder.protocol
    this.idle.delete(key)
    this.mayBeHeardHere(holder.protocol)
    localPass.endToLinger()
    // Before the command is sent, whatever its outcome.
    holder.lease.end()
    return this.leaves(
      key,
      holder.releaseIdle().then((reply) => this.released(holder.protocol, reply)),
    )
  }
}
