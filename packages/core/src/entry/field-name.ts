import type { Renamer } from './entry-commands.js'
import { WrongTypeError } from '../errors.js'
import type { RenameReply, Successor } from '../scripts/lock.js'

const NOBODY: readonly string[] = []

/**
 * The field name of an entry. It is the name of the acquisition that acquired the lock in Redis; after a local pass the
 * field is renamed.
 */
export class FieldName {
  /** The new name of a rename without a reply: it is unknown which of its names Redis has. */
  inDoubt: Successor | null = null
  /** Waiters it was passed on to that Redis may have queued: they leave the queue with the rename or the release. */
  passedTo = NOBODY
  /** All names that Redis may have, once there are several. */
  private names: Set<string> | null = null

  /** @param name the current one, for commands */
  constructor(
    public name: string,
    private readonly namedBy: { readonly passing: Renamer | null },
  ) {}

  /** Redis has, or recently had, a waiter queued that it was passed on to. */
  get wasPassedOn(): boolean {
    // Empty, but not this empty list: they have left the queue.
    return this.passedTo !== NOBODY
  }

  /** Whether the owner named by Redis is this one, now or before a recent rename. */
  isNamed(owner: string): boolean {
    return owner === this.name || this.names?.has(owner) === true
  }

  /** @returns the entry for whichever of its names is in the map */
  find<T>(holds: ReadonlyMap<string, T>): T | undefined {
    for (const name of this.names ?? [this.name]) {
      const found = holds.get(name)
      if (found !== undefined) {
        return found
      }
    }
    return undefined
  }

  /** It is passed on to a waiter that Redis has queued. */
  passTo(waiter: string): void {
    this.passedTo = [...this.passedTo, waiter]
  }

  /** These, the first of the waiters it was passed on to, have left Redis's queue. */
  passedHaveLeftQueue({ length }: readonly string[]): void {
    if (length > 0) {
      this.passedTo = this.passedTo.slice(length)
    }
  }

  /**
   * Renames the field to its successor, or finds that already done. Needs the ticket of its entry.
   * @throws LockError the name is then in doubt
   */
  async follow({ owner, note }: Successor): Promise<RenameReply['kind']> {
    const names = (this.names ??= new Set([this.name]))
    const from = [...names].filter((name) => name !== owner)
    names.add(owner)
    const to = (this.inDoubt = { owner, note })
    const { passedTo } = this
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
    this.inDoubt = null
    this.name = owner
    return reply?.kind ?? 'renamed'
  }
}
