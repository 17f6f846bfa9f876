// The ways in which a caller takes a lock, works under it and releases it: in the torture, and in simulated worlds.
import { LockLostError, type Hold, type LockClient, type LockHold } from '@holdfast/core'
import type { Mode } from '@holdfast/faults/harness'
import { noteLoss, release, type Attempt, type AttemptCall, type Held, type Recorder } from './attempt.js'
import { lockNamed, readWriteNamed, type PlainFace } from './lock-kinds.js'

const INNER_LEASE_MS = 500
const EXTENSION_MS = 600
/** How long withLock waits for the answer to its release, by default. */
const RELEASE_WAIT_MS = 1_000

export type LockWay = 'callback' | 'hold' | 'once' | 'impatient' | 'reentrant' | 'downgrade'

/** The ways of whoever wants a lock so; undefined: one that has no modes. */
export const waysOf = (mode: Mode | undefined): readonly LockWay[] => {
  const ways: readonly LockWay[] = ['callback', 'hold', 'once', 'impatient', 'reentrant']
  return mode === 'exclusive' ? [...ways, 'downgrade', 'downgrade'] : ways
}

/** The share of readers among callers of a read-write lock. */
export const READERS = 0.7

/** The pause of an owner, in ms, before it goes on. */
export interface Task {
  readonly ms: number
  readonly asks: 'nothing' | 'verify' | 'extend'
  /** It writes without a look at its lock, where tokens guard the register: as code does that goes on after a pause. */
  readonly isCareless: boolean
}

/** One call of one caller, all of it decided before it begins. */
export interface LockStep {
  readonly id: string
  readonly lock: string
  readonly mode?: Mode | undefined
  readonly waitMs: number
  /** Not renewed. */
  readonly leaseMs?: number | undefined
  /** After so long it is ended by its signal, if it has one. */
  readonly abortMs: number
  readonly tasks: readonly Task[]
}

/** The surroundings of a caller: its client, its clock, and what it notes. */
export interface LockScene<Step extends LockStep = LockStep> {
  readonly locks: LockClient
  readonly history: Recorder
  /** Whether Redis counts a level as soon as its owner has it. */
  readonly countsAtOnce: boolean
  now(): number
  sleep(ms: number): Promise<unknown>
  attempt(call: AttemptCall): Attempt
  /** A signal that ends a call as its step says, and what is called when it need not any more. */
  impatience(step: Step): { readonly signal: AbortSignal; readonly over: () => void }
  /** Notes until when the owner trusts its lock. @returns whether it does */
  trusts(held: Held): boolean
  /** Writes to the register that the lock guards. */
  write(held: Held): Promise<void> | undefined
}

/** A count that an owner finds in Redis, and the one that its own calls have led to. */
export interface CountedLevels {
  readonly lock: string
  readonly owner: string
  readonly counted: number
  readonly expected: number
}

/** I2: Redis counts other levels than its owner. */
export class Miscount extends Error {
  constructor(readonly levels: CountedLevels) {
    const { lock, owner, counted, expected } = levels
    super(`Redis counts ${counted} holds of ${lock} for ${owner}, not ${expected} (I2)`)
  }
}

/** Each to its end, also when one of them fails. */
const allOf = async (calls: readonly Promise<unknown>[]): Promise<void> => {
  await Promise.allSettled(calls)
  await Promise.all(calls)
}

/** Takes the steps of one caller, and notes what it was told. */
export class LockSteps<Step extends LockStep = LockStep> {
  constructor(private readonly scene: LockScene<Step>) {}

  take(way: LockWay, step: Step): Promise<unknown> {
    return this.ways[way](step)
  }

  private readonly ways: Record<LockWay, (step: Step) => Promise<unknown>> = {
    callback: (step) => {
      const { waitMs } = step
      return this.attempt(step, waitMs, async (attempt) => {
        let held: Held | undefined
        let endedMs = 0
        await this.faceOf(step).withLock(
          async (hold) => {
            held = attempt.acquired(hold)
            try {
              await this.work(step.tasks, held)
            } finally {
              this.scene.history.add('release-begin', { lock: held.lock, owner: held.owner })
              endedMs = this.scene.now()
            }
          },
          { waitMs },
        )
        // Later it returns without an answer, and the release goes on: nobody was told of its outcome.
        const outcome = this.scene.now() - endedMs < RELEASE_WAIT_MS - 1 ? 'released' : 'error'
        if (held) this.scene.history.add('released', { lock: held.lock, owner: held.owner, outcome })
      })
    },

    hold: (step) => {
      const { waitMs, leaseMs } = step
      const lease = leaseMs === undefined ? {} : { leaseMs }
      return this.attempt(step, waitMs, async (attempt) => {
        const held = attempt.acquired(await this.faceOf(step).acquire({ waitMs, ...lease }))
        await this.workAndRelease(step, held)
      })
    },

    once: (step) =>
      this.attempt(step, 0, async (attempt) => {
        const hold = await this.faceOf(step).tryAcquire()
        if (hold) await this.workAndRelease(step, attempt.acquired(hold))
        else attempt.refused()
      }),

    impatient: (step) => {
      const { waitMs } = step
      const { signal, over } = this.scene.impatience(step)
      return this.attempt(step, waitMs, async (attempt) => {
        const held = attempt.acquired(await this.faceOf(step).acquire({ signal, waitMs }))
        over()
        await this.workAndRelease(step, held)
      }).finally(over)
    },

    /** Levels that come and go at once. A reader gets in again also while a writer waits for it. */
    reentrant: (step) =>
      this.scene.locks.run(() =>
        this.attempt(step, step.waitMs, async (attempt) => {
          const lock = this.faceOf(step)
          const held = attempt.acquired(await lock.acquire({ waitMs: step.waitMs }))
          const inner: LockHold[] = []
          const enter = async (): Promise<unknown> =>
            inner.push(await lock.acquire({ leaseMs: INNER_LEASE_MS }))
          const leave = async (): Promise<unknown> => inner[0]?.release()
          try {
            await allOf([enter(), enter()])
            await this.expectCount(lock, held, 3)
            await allOf([leave(), enter(), enter()])
            // Meanwhile copies of all of these arrive.
            await this.work(step.tasks, held)
            await this.expectCount(lock, held, 4)
            await allOf(inner.map((hold) => hold.release()))
            await this.expectCount(lock, held, 1)
          } finally {
            try {
              await allOf(inner.map((hold) => hold.release()))
            } finally {
              // Whatever an inner release met: a hold that nobody releases would be renewed for good.
              await release(this.scene.history, held)
            }
          }
        }),
      ),

    /** Writes, takes the read lock besides, releases the write lock and reads on. */
    downgrade: (step) =>
      this.scene.locks.run(() =>
        this.attempt(step, step.waitMs, async (attempt) => {
          const { waitMs, id } = step
          const reader = readWriteNamed(this.scene.locks, step.lock).readLock()
          const writing = attempt.acquired(await this.faceOf(step).acquire({ waitMs }))
          const inner: Step = { ...step, id: `${id}+`, mode: 'shared' }
          const reading = await this.attempt(inner, waitMs, async (attempted) => {
            await this.readOn(step, { writing, hold: await reader.acquire({ waitMs }), attempt: attempted })
          })
          // It got no read lock, so nothing released the write lock.
          if (!reading.isHeld) await this.workAndRelease(step, writing)
        }),
      ),
  }

  private async readOn(
    step: Step,
    { writing, hold, attempt }: { writing: Held; hold: Hold; attempt: Attempt },
  ): Promise<void> {
    // An owner whose write lock was lost meanwhile is a reader like any other. Not one whose write lock is only in
    // doubt, after a restart of Redis: it trusts neither lock then, and both again when it has asked.
    const isWriter = !writing.hold.signal.aborted
    const reading = isWriter ? attempt.acquiredBesides(hold, writing) : attempt.acquired(hold)
    try {
      try {
        await this.work(step.tasks, writing)
      } finally {
        // From here on it trusts for as long as the read lock says.
        if (isWriter) {
          noteLoss(this.scene.history, reading)
          this.scene.trusts(reading)
        }
        await release(this.scene.history, writing)
      }
      await this.work(step.tasks, reading)
    } finally {
      await release(this.scene.history, reading)
    }
  }

  private faceOf({ lock, mode }: Step): PlainFace {
    const { locks } = this.scene
    if (mode === undefined) return lockNamed(locks, lock)
    const both = readWriteNamed(locks, lock)
    return mode === 'shared' ? both.readLock() : both.writeLock()
  }

  private async attempt(
    { id, lock, mode, leaseMs }: Step,
    deadlineMs: number,
    go: (attempt: Attempt) => Promise<void>,
  ): Promise<Attempt> {
    const attempt = this.scene.attempt({ lock, attempt: id, mode, deadlineMs, leaseMs })
    try {
      await go(attempt)
    } catch (error) {
      attempt.endedBy(error)
    }
    return attempt
  }

  private async workAndRelease({ tasks }: Step, held: Held): Promise<void> {
    try {
      await this.work(tasks, held)
    } finally {
      await release(this.scene.history, held)
    }
  }

  /** It writes, or reads, while it may trust its lock; where tokens guard the register also without having looked. */
  private async work(tasks: readonly Task[], held: Held): Promise<void> {
    const { hold, mode } = held
    for (const { ms, asks, isCareless } of tasks) {
      await this.scene.sleep(ms)
      if (hold.token === undefined || !isCareless) {
        if (asks === 'verify') await hold.verify()
        if (asks === 'extend') await hold.extend(EXTENSION_MS)
        if (!this.trusts(held)) return
      }
      const written = mode === 'shared' ? undefined : this.scene.write(held)
      if (written) await written
    }
  }

  private trusts(held: Held): boolean {
    try {
      held.hold.ensure()
    } catch (error) {
      if (error instanceof LockLostError) return false
      throw error
    }
    return this.scene.trusts(held)
  }

  /** I2, as long as nobody has taken the lock away. */
  private async expectCount(lock: PlainFace, { hold, lock: name }: Held, expected: number): Promise<void> {
    if (!this.scene.countsAtOnce) return
    const count = await lock.getHoldCount()
    if (count !== expected && !hold.signal.aborted && hold.trustedForMs > 0) {
      // LockLostError: it had been taken away, and this client did not know it yet.
      await hold.verify()
      throw new Miscount({ lock: name, owner: hold.owner, counted: count, expected })
    }
  }
}
