import type { Remains } from '@holdfast/faults/harness'
import type { Keyspace } from '../engine.js'
import type { World } from '../world/world.js'
import { keysOf } from './keys-of.js'
import { SpansSeen } from './spans-seen.js'

const LOOK_MS = 10

interface Held {
  readonly lock: string
  readonly mode: Remains['mode']
}

/**
 * What Redis still has for processes that were killed. A clock that is set back keeps it for as much longer, and nobody
 * may take it before.
 */
export class RemainsOfTheDead {
  private readonly spans = new SpansSeen<Held>()
  private readonly dead = new Set<string>()

  constructor(
    private readonly world: World,
    private readonly keyspace: () => Keyspace,
    private readonly locks: readonly string[],
  ) {}

  get seen(): readonly Remains[] {
    return this.spans.all
  }

  /** From now on it looks at Redis again and again. */
  of(process: string): void {
    this.dead.add(process)
    if (this.dead.size === 1) this.look()
  }

  private look(): void {
    this.spans.look(this.world.nowMs, new Map(this.held().map((held) => [`${held.mode} ${held.lock}`, held])))
    this.world.after(LOOK_MS, () => this.look())
  }

  private held(): Held[] {
    const keyspace = this.keyspace()
    return this.locks.flatMap((lock) =>
      keysOf(lock).flatMap((key) => {
        const fields = keyspace.hash(key)
        if (fields === undefined) return []
        const isShared = fields.get('mode') === 'read'
        const has = [...fields].some(
          ([owner, levels]) =>
            this.dead.has(owner.slice(0, owner.indexOf('~'))) &&
            (!isShared || isAlive(keyspace, { key, owner, levels: Number(levels) })),
        )
        return has ? [{ lock, mode: isShared ? ('shared' as const) : ('exclusive' as const) }] : []
      }),
    )
  }
}

/** The field of a reader stays for as long as another reader has the lock; a key of its own says for how long it counts. */
const isAlive = (
  keyspace: Keyspace,
  { key, owner, levels }: { readonly key: string; readonly owner: string; readonly levels: number },
): boolean =>
  Array.from({ length: levels }, (_, i) => `{${key}}:${owner}:rwlock_timeout:${i + 1}`).some(
    (timeout) => keyspace.get(timeout) !== undefined,
  )
