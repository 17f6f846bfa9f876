import type { CountedLevels } from '../../workload/lock-steps.js'
import type { Keyspace } from '../engine.js'
import { keysOf } from './keys-of.js'

interface Levels {
  readonly key: string
  readonly owner: string
  readonly count: number
}

/** The levels that the owners of these locks have. */
export const levelsIn = (keyspace: Keyspace, locks: readonly string[]): readonly Levels[] =>
  locks
    .flatMap(keysOf)
    .flatMap((key) =>
      [...(keyspace.hash(key) ?? [])]
        .filter(([field]) => field !== 'mode')
        .map(([owner, count]) => ({ key, owner, count: Number(count) })),
    )

interface Lost {
  readonly key: string
  readonly owner: string
  /** The count that the replica had. */
  readonly counted: number
  /** The count of its primary, whose place it took. */
  readonly written: number
}

const clientOf = (owner: string): string => owner.slice(0, owner.indexOf(':') + 1)

/**
 * Levels that were added or released on a primary whose replica had not seen it when it took over: there they count as
 * they did before.
 */
export class LostLevels {
  private readonly lost: Lost[] = []

  /** @param replica what took over @param primary what it took over from */
  compare(replica: readonly Levels[], primary: readonly Levels[]): void {
    for (const { key, owner, count: counted } of replica) {
      const written = primary.find((each) => each.key === key && each.owner === owner)?.count
      if (written !== undefined && written !== counted) this.lost.push({ key, owner, counted, written })
    }
  }

  /** Whether just that is why Redis has another count than its owner. */
  explain({ lock, owner, counted, expected }: CountedLevels): boolean {
    return this.lost.some(
      (each) =>
        each.counted === counted &&
        each.written === expected &&
        // The history has the owner of the first of two keys; that of the second is another one of its client.
        (each.key === lock
          ? each.owner === owner
          : keysOf(lock).includes(each.key) && clientOf(each.owner) === clientOf(owner)),
    )
  }
}
