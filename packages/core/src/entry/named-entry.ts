import type { ReentryRule, RemainingLevels } from './entry-command.js'
import { SerialQueue } from './serial-queue.js'
import { WrongTypeError, type LossReason } from '../errors.js'
import type { RenameReply, Renaming, Successor } from '../scripts/lock.js'
import type { NoteRequest } from '../scripts/note.js'

/** Renames the owner's field in Redis after a hold was passed on. */
export interface Renamer {
  rename(renaming: Renaming): Promise<RenameReply>
}

/** The acquisition that has the entry now. */
export interface Holder extends RemainingLevels {
  readonly owner: string
  /** The lock's key in Redis. */
  readonly key: string
  readonly rule: ReentryRule
  /** The note of the hold, stored when Redis has its name. */
  readonly note: NoteRequest | undefined
  /** Released or lost. */
  readonly isOver: boolean
  /** Its lease is to end sooner than it was asked for. */
  readonly isShortened: boolean
  readonly trustedForMs: number
  /** The lease that a renewal sets, ms. */
  readonly ttlMs: number
  lose(reason: LossReason): void
  throwIfLost(): void
  /** Redis granted a lease to a request sent at `sentAt`. */
  onLeaseConfirmed(sentAt: number, leaseMs: number): void
  /** The wanted lease was requested for a granted lock: the watchdog renews it from now on. */
  onGrantConfirmed(): void
}

const NOBODY: readonly string[] = []

/**
 * The field name of an entry. It is the name of the acquisition that acquired the lock in Redis; after a local
 * local pass the field is renamed.
 */
export class NamedEntry extends SerialQueue {
  private currentHolder: Holder
  private currentName: string
  /** The new name of a rename without a reply: it is unknown which of its names Redis has. */
  private doubtful: Successor | null = null
  /** All names that Redis may have, once there are several. */
  private names: Set<string> | null = null
  /** Waiters it was passed on to that Redis has queued: they leave the queue with the rename or the release. */
  private passed: string[] | null = null

  constructor(
    holder: Holder,
    private readonly namedBy: { readonly passing: Renamer | null },
  ) {
    super()
    this.currentHolder = holder
    this.currentName = holder.owner
  }

  get holder(): Holder {
    return this.currentHolder
  }

  /** The current field name, for commands. */
  get name(): string {
    return this.currentName
  }

  /** The new name of a rename without a reply: it is unknown which of its names Redis has. */
  get inDoubt(): Successor | null {
    return this.doubtful
  }

  /** Waiters it was passed on to that Redis may have queued. */
  get passedTo(): readonly string[] {
    return this.passed ?? NOBODY
  }

  /** Redis has, or recently had, a waiter queued that it was passed on to. */
  get wasPassedOn(): boolean {
    return this.passed !== null
  }

  /** Whether the owner named by Redis is this one, now or before a recent rename. */
  isNamed(owner: string): boolean {
    return owner === this.currentName || this.names?.has(owner) === true
  }

  /** @returns the entry for whichever of its names is in the map */
  find<T>(holds: ReadonlyMap<string, T>): T | undefined {
    for (const name of this.names ?? [this.currentName]) {
      const found = holds.get(name)
      if (found !== undefined) {
        return found
      }
    }
    return undefined
  }

  /**
   * Passes the entry on to another acquisition of this client. @param isQueued whether that is queued in Redis
   */
  passTo(next: Holder, isQueued: boolean): void {
    this.currentHolder = next
    if (isQueued) {
      const passed = (this.passed ??= [])
      passed.push(next.owner)
    }
  }

  /**
   * Renames the field to its successor, or finds that already done. Must run in a turn.
   * @throws LockError the name is then in doubt
   */
  async follow({ owner, note }: Successor): Promise<RenameReply['kind']> {
    const names = (this.names ??= new Set([this.currentName]))
    const from = [...names].filter((name) => name !== owner)
    names.add(owner)
    const to = (this.doubtful = { owner, note })
    const passedTo = [...this.passedTo]
    let reply: RenameReply | undefined
    try {
      reply = await this.namedBy.passing?.rename({ to, from, passedTo })
      this.passedHaveLeftQueue(passedTo.length)
    } catch (error) {
      if (!(error instanceof WrongTypeError)) {
        throw error
      }
      // The key was overwritten. The queued waiters leave with the release.
      reply = { kind: 'lost' }
    }
    this.doubtful = null
    this.currentName = owner
    return reply?.kind ?? 'renamed'
  }

  /** The first `count` of the waiters it was passed on to have left Redis's queue. */
  protected passedHaveLeftQueue(count: number): void {
    this.passed?.splice(0, count)
  }
}
