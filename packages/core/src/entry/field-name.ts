import type { Renamer } from './entry-commands.js'
import { WrongTypeError } from '../errors.js'
import type { RenameReply, Successor } from '../scripts/lock.js'

const NOBODY: readonly string[] = []

/** The traces of an entry that was passed on. */
interface Passed {
  /** All names that Redis may have, once there are several. */
  readonly names: readonly string[]
  /** The new name of a rename without a reply: it is unknown which of its names Redis has. */
  readonly inDoubt: Successor | null
  /** Waiters it was passed on to that Redis may have queued: they leave the queue with the rename or the release. */
  readonly to: readonly string[]
}

const NOT_PASSED: Passed = { names: [], inDoubt: null, to: NOBODY }

/**
 * The field name of an entry. It is the name of the acquisition that acquired the lock in Redis; after a local pass the
 * field is renamed.
 */
export class FieldName {
  /** Written only here, like `name`. */
  passed = NOT_PASSED

  /** @param name the current one, for commands */
  constructor(
    public name: string,
    private readonly namedBy: { readonly passing: Renamer | null },
  ) {}

  /** Redis has, or recently had, a waiter queued that it was passed on to. */
  get wasPassedOn(): boolean {
    // Empty, but not this empty list: they have left the queue.
    return this.passed.to !== NOBODY
  }

  /** Whether the owner named by Redis is this one, now or before a recent rename. */
  isNamed(owner: string): boolean {
    return owner === this.name || this.passed.names.includes(owner)
  }

  /** @returns the entry for whichever of its names is in the map */
  find<T>(holds: ReadonlyMap<string, T>): T | undefined {
    const { names } = this.passed
    const all = names.length > 0 ? names : [this.name]
    return all.map((name) => holds.get(name)).find((found) => found !== undefined)
  }

  /** It is passed on to a waiter that Redis has queued. */
  passTo(waiter: string): void {
    this.passed = { ...this.passed, to: [...this.passed.to, waiter] }
  }

  /** These, the first of the waiters it was passed on to, have left Redis's queue. */
  passedHaveLeftQueue({ length }: readonly string[]): void {
    if (length > 0) {
      this.passed = { ...this.passed, to: this.passed.to.slice(length) }
    }
  }

  /**
   * Renames the field to its successor, or finds that already done. Needs the ticket of its entry.
   * @throws LockError the name is then in doubt
   */
  async follow({ owner, note }: Successor): Promise<RenameReply['kind']> {
    const { to: passedTo, names } = this.passed
    const to = { owner, note }
    const all = [...new Set([...names, this.name, owner])]
    const from = all.filter((name) => name !== owner)
    this.passed = { ...this.passed, names: all, inDoubt: to }
    let reply: RenameReply | undefined
    try {
      reply = await this.namedBy.passing?.rename({ to, from, passedTo })
      this.passedHaveLeftQueue(passedTo)
    } catch (error) {
      if (!(error instanceof WrongTypeError)) {
        throw error
      }
      // The key was overwritten. The queued waiters leave with the release.
      reply = { kind: 'lost' }
    }
    this.passed = { ...this.passed, inDoubt: null }
    this.name = owner
    return reply?.kind ?? 'renamed'
  }
}
