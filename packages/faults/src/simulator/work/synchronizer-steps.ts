import { LockError } from '@holdfast/core'
import { Take } from '../../workload/take.js'
import { impatienceOf, type Scene } from './attempt.js'
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
    const { history, process } = this.scene
    const take = new Take(history, { name, use: id, permits, waitMs }, () => process.world.nowMs)
    try {
      await (name.startsWith('permits') ? this.ending(step, take) : this.endless(step, take))
    } catch (error) {
      take.endedBy(error)
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

  private async endless(step: Step, take: Take): Promise<void> {
    const { lock, permits = 1, waitMs, tasks } = step
    const semaphore = this.scene.locks.getSemaphore(lock)
    await this.unlessImpatient(step, (signal) => semaphore.acquire({ permits, waitMs, signal }))
    take.taken()
    for (const { ms } of tasks) await this.scene.process.sleep(ms)
    await take.release(() => semaphore.release(permits))
  }

  private async ending(step: Step, take: Take): Promise<void> {
    const { lock, waitMs, leaseMs, tasks } = step
    const semaphore = this.scene.locks.getPermitExpirableSemaphore(lock)
    const terms = leaseMs === undefined ? { renew: true } : { leaseMs }
    const permit = await this.unlessImpatient(step, (signal) =>
      semaphore.acquirePermit({ waitMs, signal, ...terms }),
    )
    take.watch(permit)
    for (const { ms, asks } of tasks) {
      await this.scene.process.sleep(ms)
      if (asks === 'extend' && leaseMs !== undefined) await permit.updateLease(leaseMs)
      if (!take.trust(permit)) break
    }
    await take.release(() => permit.release())
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
