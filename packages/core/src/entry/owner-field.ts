import { WrongTypeError } from '../errors.js'
import type { RenameReply, Renaming, Successor } from '../scripts/lock.js'

const NOBODY: readonly string[] = []
const LOST: RenameReply = { kind: 'lost' }

/** Lets the owner's name in Redis follow a hold that is passed on. */
export interface Renamer {
  rename(renaming: Renaming): Promise<RenameReply>
}

/**
 * The field of the lock's hash that stands for a hold. It has the name of whoever took the lock in Redis; when the
 * hold is passed on inside the process, its name follows.
 */
export class OwnerField {
  /** What it was to be named by a command that has no answer: nobody knows which of the names it has. */
  inDoubt: Successor | null = null
  /** Waiters that the hold was passed on to and that Redis has in line: they leave it with the name, or with the hold. */
  private passed: string[] | null = null
  /** Every name that it may have in Redis, once there is more than one. */
  private names: Set<string> | null = null

  constructor(private current: string) {}

  /** As commands have to name it. */
  get name(): string {
    return this.current
  }

  /** Waiters that it was passed on to and that Redis may have in line. */
  get passedTo(): readonly string[] {
    return this.passed ?? NOBODY
  }

  /** Redis has, or had until lately, one in line that it was passed on to. */
  get wasPassedOn(): boolean {
    return this.passed !== null
  }

  passesTo(waiter: string): void {
    const passed = (this.passed ??= [])
    passed.push(waiter)
  }

  /** So many of them, the first ones, are not in line any more. */
  haveLeft(count: number): void {
    this.passed?.splice(0, count)
  }

  /** Whether the owner that Redis tells of is, or lately was, this one. */
  isNamed(owner: string): boolean {
    return owner === this.current || this.names?.has(owner) === true
  }

  /** @returns what Redis says of any of its names */
  find<T>(holds: ReadonlyMap<string, T>): T | undefined {
    for (const name of this.names ?? [this.current]) {
      const found = holds.get(name)
      if (found !== undefined) {
        return found
      }
    }
    return undefined
  }

  /**
   * Gives it the name, or finds out that it has it.
   * @throws LockError its name is in doubt then
   */
  async follow({ owner, note }: Successor, passing: Renamer | null): Promise<RenameReply['kind']> {
    const names = (this.names ??= new Set([this.current]))
    const from = [...names].filter((name) => name !== owner)
    names.add(owner)
    const to = (this.inDoubt = { owner, note })
    const passedTo = [...this.passedTo]
    let reply: RenameReply | undefined
    try {
      reply = await passing?.rename({ to, from, passedTo })
      this.haveLeft(passedTo.length)
    } catch (error) {
      if (!(error instanceof WrongTypeError)) {
        throw error
      }
      // Something else was written over it. Those in line leave with the release.
      reply = LOST
    }
    this.inDoubt = null
    this.current = owner
    return reply?.kind ?? 'renamed'
  }
}
