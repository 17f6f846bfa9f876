import { LockError, type Permit } from '@holdfast/core'
import { usesIn, type SemaphoreEvent, type Use } from '../../workload/permit-uses.js'
import { Impatience, impatienceOf, type Scene } from './attempt.js'
import type { Step } from './plan.js'

/** Steps of callers with semaphores and latches. */
export class SynchronizerSteps {
  private readonly scene: Scene

  constructor(scene: Scene) {
    this.scene = scene
  }

  /** Permits without an end, or one that ends: taken, used, and released. */
  async permits(step: Step): Promise<void> {
    const { id, lock: name, permits = 1, waitMs } = step
    this.scene.history.add('take', { name, use: id, permits, waitMs })
    // An object: what a callback sets is not seen by the compiler otherwise.
    const state = { isTaken: false }
    const taken = (untilMs?: number): void => {
      state.isTaken = true
      this.scene.history.add('taken', { use: id, untilMs })
    }
    try {
      await (name.startsWith('permits') ? this.ending(step, taken) : this.endless(step, taken))
    } catch (error) {
      if (!(error instanceof LockError) && !(error instanceof Impatience)) throw error
      if (state.isTaken) return
      const isRefused = error instanceof LockError && error.code === 'LOCK_TIMEOUT'
      this.scene.history.add(isRefused ? 'refused' : 'failed', { use: id })
    }
  }

  async countDown({ lock: latch }: Step): Promise<void> {
    this.scene.history.add('count', { latch })
    try {
      await this.scene.locks.getCountDownLatch(latch).countDown()
      this.scene.history.add('counted', { latch })
    } catch (error) {
      if (!(error instanceof LockError)) throw error
      this.scene.history.add('count-failed', { latch })
    }
  }

  async await({ lock: latch, waitMs }: Step): Promise<void> {
    this.scene.history.add('await', { latch, waitMs })
    try {
      const isOpen = await this.scene.locks.getCountDownLatch(latch).await({ waitMs })
      this.scene.history.add(isOpen ? 'passed' : 'closed', { latch })
    } catch (error) {
      if (!(error instanceof LockError)) throw error
      this.scene.history.add('await-failed', { latch })
    }
  }

  private async endless(step: Step, taken: () => void): Promise<void> {
    const { id, lock, permits = 1, waitMs, tasks } = step
    const semaphore = this.scene.locks.getSemaphore(lock)
    await this.unlessImpatient(step, (signal) => semaphore.acquire({ permits, waitMs, signal }))
    taken()
    for (const { ms } of tasks) await this.scene.process.sleep(ms)
    await this.release(id, () => semaphore.release(permits))
  }

  private async ending(step: Step, taken: (untilMs: number) => void): Promise<void> {
    const { id, lock, waitMs, leaseMs, tasks } = step
    const { world } = this.scene.process
    const semaphore = this.scene.locks.getPermitExpirableSemaphore(lock)
    const terms = leaseMs === undefined ? { renew: true } : { leaseMs }
    const permit = await this.unlessImpatient(step, (signal) =>
      semaphore.acquirePermit({ waitMs, signal, ...terms }),
    )
    taken(world.nowMs + permit.trustedForMs)
    permit.signal.addEventListener('abort', () => this.scene.history.add('lost', { use: id }))
    for (const { ms, asks } of tasks) {
      await this.scene.process.sleep(ms)
      if (asks === 'extend' && leaseMs !== undefined) await permit.updateLease(leaseMs)
      if (!this.trusts(id, permit)) break
    }
    await this.release(id, () => permit.release())
  }

  private trusts(use: string, { trustedForMs }: Permit): boolean {
    if (trustedForMs <= 0) return false
    this.scene.history.add('trusted', { use, untilMs: this.scene.process.world.nowMs + trustedForMs })
    return true
  }

  private async release(use: string, give: () => Promise<unknown>): Promise<void> {
    this.scene.history.add('give', { use })
    try {
      this.scene.history.add('given', { use, outcome: String(await give()) })
    } catch (error) {
      if (!(error instanceof LockError)) throw error
      this.scene.history.add('given', { use, outcome: error.code })
    }
  }

  /** One with an `abortMs` of 0 waits for as long as it may. */
  private async unlessImpatient<T>(
    step: Step,
    go: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    if (step.abortMs === 0) return go(undefined)
    const { signal, over } = impatienceOf(this.scene.process, step)
    try {
      return await go(signal)
    } finally {
      over()
    }
  }
}

/** The outcome of each call for permits. */
export const usesOf = (events: readonly unknown[]): Use[] => usesIn(events as readonly SemaphoreEvent[])
