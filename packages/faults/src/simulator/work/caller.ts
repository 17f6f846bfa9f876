import { type Hold, LockLostError } from '@holdfast/core'
import { noteLoss, release, type Held } from '../../workload/attempt.js'
import { lockNamed, readWriteNamed, type PlainFace } from '../../workload/lock-kinds.js'
import { impatienceOf, trustWitnessed, WitnessedAttempt, type Scene } from './attempt.js'
import type { CountedLevels } from './lost-levels.js'
import type { Step, Task } from './plan.js'
import { SynchronizerSteps } from './synchronizer-steps.js'
import type { Register } from './register.js'

const INNER_LEASE_MS = 500
const EXTENSION_MS = 600
/** How long withLock waits for the answer to its release, by default. */
const RELEASE_WAIT_MS = 1_000

export interface CallerScene extends Scene {
  readonly register: Register
  /** The count in Redis follows when the turn ends: nobody is to find it the same at once. */
  readonly localReentry: boolean
  /** When each step began. */
  readonly begun: Map<string, number>
  /** Errors that no lock may end with. */
  broke(error: unknown, lock: string): void
}

/** I2: Redis counts other levels than its owner. */
export class Miscount extends Error {
  constructor(readonly levels: CountedLevels) {
    const { lock, owner, counted, expected } = levels
    super(`Redis counts ${counted} holds of ${lock} for ${owner}, not ${expected} (I2)`)
  }
}

/** One caller: takes its steps one after the other, and notes what it was told. */
export class Caller {
  isThrough = false
  private next = 0
  private readonly others: SynchronizerSteps

  constructor(
    private readonly scene: CallerScene,
    private readonly steps: readonly Step[],
  ) {
    this.others = new SynchronizerSteps(scene)
  }

  async run(): Promise<void> {
    for (const step of this.steps) {
      this.next += 1
      await this.begins(step)
      try {
        await this.ways[step.way](step)
      } catch (error) {
        this.scene.broke(error, step.lock)
      }
    }
    this.isThrough = true
  }

  /** Steps that it has not begun. */
  get stepsLeft(): readonly Step[] {
    return this.steps.slice(this.next)
  }

  private readonly ways: Record<Step['way'], (step: Step) => Promise<unknown>> = {
    callback: (step) => {
      const { waitMs } = step
      const { runtime } = this.scene.process
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
              endedMs = runtime.now()
            }
          },
          { waitMs },
        )
        // Later it returns without an answer, and the release goes on: nobody was told of its outcome.
        const outcome = runtime.now() - endedMs < RELEASE_WAIT_MS - 1 ? 'released' : 'error'
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
      const { signal, over } = impatienceOf(this.scene.process, step)
      return this.attempt(step, waitMs, async (attempt) => {
        const held = attempt.acquired(await this.faceOf(step).acquire({ signal, waitMs }))
        over()
        await this.workAndRelease(step, held)
      }).finally(over)
    },

    reentrant: (step) =>
      this.scene.locks.run(() =>
        this.attempt(step, step.waitMs, async (attempt) => {
          const lock = this.faceOf(step)
          const held = attempt.acquired(await lock.acquire({ waitMs: step.waitMs }))
          let inner
          try {
            inner = await lock.acquire({ leaseMs: INNER_LEASE_MS })
            await this.expectCount(lock, held, 2)
            await this.work(step.tasks, held)
            await inner.release()
            await this.expectCount(lock, held, 1)
          } finally {
            try {
              await inner?.release()
            } finally {
              await release(this.scene.history, held)
            }
          }
        }),
      ),

    permits: (step) => this.others.permits(step),
    'count-down': (step) => this.others.countDown(step),
    await: (step) => this.others.await(step),

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
    { writing, hold, attempt }: { writing: Held; hold: Hold; attempt: WitnessedAttempt },
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
          trustWitnessed(this.scene, reading)
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
    go: (attempt: WitnessedAttempt) => Promise<void>,
  ): Promise<WitnessedAttempt> {
    const attempt = new WitnessedAttempt(this.scene, { lock, attempt: id, mode, deadlineMs, leaseMs })
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
    const { hold, lock, owner, mode } = held
    const { token } = hold
    for (const { ms, asks, isCareless } of tasks) {
      await this.scene.process.sleep(ms)
      if (token === undefined || !isCareless) {
        if (asks === 'verify') await hold.verify()
        if (asks === 'extend') await hold.extend(EXTENSION_MS)
        if (!this.trusts(held)) return
      }
      if (mode !== 'shared')
        this.scene.register.write({ process: this.scene.process.name, lock, owner, token })
    }
  }

  private trusts(held: Held): boolean {
    try {
      held.hold.ensure()
    } catch (error) {
      if (error instanceof LockLostError) return false
      throw error
    }
    return trustWitnessed(this.scene, held)
  }

  private async begins({ id, pauseMs, atMs }: Step): Promise<void> {
    const { process, begun } = this.scene
    const { world } = process
    if (atMs === undefined) await this.scene.process.sleep(pauseMs)
    else await new Promise<void>((resolve) => world.at(atMs, () => process.wake('timer', resolve)))
    begun.set(id, world.nowMs)
  }

  /** I2, as long as nobody has taken the lock away. */
  private async expectCount(lock: PlainFace, { hold, lock: name }: Held, expected: number): Promise<void> {
    if (this.scene.localReentry) return
    const count = await lock.getHoldCount()
    if (count !== expected && !hold.signal.aborted && hold.trustedForMs > 0) {
      // LockLostError: it had been taken away, and this client did not know it yet.
      await hold.verify()
      throw new Miscount({ lock: name, owner: hold.owner, counted: count, expected })
    }
  }
}
