import type { Redis } from 'ioredis'
import type { AcquireOptions, Hold, Lock, LockClient } from '../../../src/index.js'
import { eventually } from './rig.js'

/** The keys of one fair lock, by hand: `keys.ts` is what is tested. */
export function fairKeys(name: string) {
  return {
    queue: `redisson_lock_queue:{${name}}`,
    timeouts: `redisson_lock_timeout:{${name}}`,
    arrivals: `holdfast:arrivals:{${name}}`,
    heartbeats: `holdfast:heartbeats:{${name}}`,
  }
}

type JoinOptions = AcquireOptions & { work?: (hold: Hold) => Promise<unknown> }

/** A caller that stands in the queue. */
export interface Standing {
  readonly owner: string
  /** Settles when it has had its turn; rejects with why it left. */
  readonly done: Promise<void>
}

/** Callers of one fair lock that come one after another, and the order in which they are served. */
export class FairLine {
  readonly served: string[] = []
  readonly keys: ReturnType<typeof fairKeys>

  constructor(
    private readonly redis: Redis,
    readonly name: string,
  ) {
    this.keys = fairKeys(name)
  }

  /** Owners, the first in the queue first. */
  owners(): Promise<string[]> {
    return this.redis.lrange(this.keys.queue, 0, -1)
  }

  /** Waiters of ours, the first to come first. */
  arrivals(): Promise<string[]> {
    return this.redis.zrange(this.keys.arrivals, '0', '-1')
  }

  length(): Promise<number> {
    return this.redis.llen(this.keys.queue)
  }

  lockOf(locks: Pick<LockClient, 'getFairLock'>): Lock {
    return locks.getFairLock(this.name)
  }

  /** Resolves when it stands in the queue. It will note its label, and release the lock. */
  async join(
    label: string,
    locks: Pick<LockClient, 'getFairLock'>,
    options: JoinOptions = {},
  ): Promise<Standing> {
    const before = await this.arrivals()
    const { work, ...limits } = options
    const done = this.lockOf(locks)
      .acquire(limits)
      .then(async (hold) => {
        this.served.push(label)
        await work?.(hold)
        await hold.release()
      })
    done.catch(() => undefined)
    let owner: string | undefined
    await eventually(async () => {
      owner = (await this.arrivals()).find((each) => !before.includes(each))
      return owner !== undefined
    })
    return { owner: owner!, done }
  }

  /** Lets several `join`, each in the queue before the next one comes. */
  async joinAll(
    labels: readonly string[],
    locksOf: (label: string) => Pick<LockClient, 'getFairLock'>,
    options: JoinOptions = {},
  ): Promise<Standing[]> {
    const all: Standing[] = []
    for (const label of labels) {
      all.push(await this.join(label, locksOf(label), options))
    }
    return all
  }
}

/** Waits for all to be served. */
export async function served(standing: readonly Standing[]): Promise<void> {
  await Promise.all(standing.map(({ done }) => done))
}
