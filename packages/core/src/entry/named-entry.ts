import type { ReentryRule, RemainingLevels } from './entry-command.js'
import { SerialQueue } from './serial-queue.js'
import { WrongTypeError, type LossReason } from '../errors.js'
import type { NoteRequest, RenameReply, Renaming, Successor } from '../scripts/lock.js'

/** Lets the owner's name in Redis follow a hold that is passed on. */
export interface Renamer {
  rename(renaming: Renaming): Promise<RenameReply>
}

/** The acquisition that has the entry now. */
export interface Holder extends RemainingLevels {
  readonly owner: string
  /** The lock's key in Redis. */
  readonly key: string
  readonly rule: ReentryRule
  /** That the hold shall have, when it is named in Redis. */
  readonly note: NoteRequest | undefined
  /** Released or lost. */
  readonly isOver: boolean
  readonly trustedForMs: number
  /** What a renewal sets, ms. */
  readonly ttlMs: number
  lose(reason: LossReason): void
  throwIfLost(): void
  /** Redis has granted a lease to a request that was sent at `sentAt`. */
  onLeaseConfirmed(sentAt: number, leaseMs: number): void
  /** The lease that is wanted was asked for, of what Redis gave to a waiter: from now on the watchdog keeps it. */
  onGrantConfirmed(): void
}

const NOBODY: readonly string[] = []

/**
 * What an entry is named. The field of the lock's hash has the name of the acquisition that took the lock in Redis; when
 * the entry is handed over inside the process, its name follows.
 */
export class NamedEntry extends SerialQueue {
  private currentHolder: Holder
  private currentName: string
  /** The name that a rename without an answer was to give it: nobody knows which of its names it has. */
  private doubtful: Successor | null = null
  /** Every name that it may have in Redis, once there is more than one. */
  private names: Set<string> | null = null
  /** Waiters that it was passed on to and that Redis has in line: they leave it with the name, or with the hold. */
  private passed: string[] | null = null

  constructor(
    holder: Holder,
    private readonly namedBy: { readonly handover: Renamer | null },
  ) {
    super()
    this.currentHolder = holder
    this.currentName = holder.owner
  }

  get holder(): Holder {
    return this.currentHolder
  }

  /** As commands have to name it. */
  get name(): string {
    return this.currentName
  }

  /** What it was to be named by a rename that has no answer: nobody knows which of its names it has. */
  get inDoubt(): Successor | null {
    return this.doubtful
  }

  /** Waiters that it was passed on to and that Redis may have in line. */
  get passedTo(): readonly string[] {
    return this.passed ?? NOBODY
  }

  /** Redis has, or had until lately, one in line that it was passed on to. */
  get wasPassedOn(): boolean {
    return this.passed !== null
  }

  /** Whether the owner that Redis tells of is, or lately was, this one. */
  isNamed(owner: string): boolean {
    return owner === this.currentName || this.names?.has(owner) === true
  }

  /** @returns what Redis says of any of its names */
  find<T>(holds: ReadonlyMap<string, T>): T | undefined {
    for (const name of this.names ?? [this.currentName]) {
      const found = holds.get(name)
      if (found !== undefined) {
        return found
      }
    }
    return undefined
  }

  /** It goes to another acquisition of this client. @param standsInLine of Redis */
  handOverTo(next: Holder, standsInLine: boolean): void {
    this.currentHolder = next
    if (standsInLine) {
      const passed = (this.passed ??= [])
      passed.push(next.owner)
    }
  }

  /**
   * In a turn: gives it the name of its successor, or finds out that it has it.
   * @throws LockError its name is in doubt then
   */
  async follow({ owner, note }: Successor): Promise<RenameReply['kind']> {
    const names = (this.names ??= new Set([this.currentName]))
    const from = [...names].filter((name) => name !== owner)
    names.add(owner)
    const to = (this.doubtful = { owner, note })
    const passedTo = [...this.passedTo]
    let reply: RenameReply | undefined
    try {
      reply = await this.namedBy.handover?.rename({ to, from, passedTo })
      this.haveLeftLine(passedTo.length)
    } catch (error) {
      if (!(error instanceof WrongTypeError)) {
        throw error
      }
      // Something else was written over it. Those in line leave with the release.
      reply = { kind: 'lost' }
    }
    this.doubtful = null
    this.currentName = owner
    return reply?.kind ?? 'renamed'
  }

  /** So many of those that it was passed on to, the first ones. */
  protected haveLeftLine(count: number): void {
    this.passed?.splice(0, count)
  }
}
