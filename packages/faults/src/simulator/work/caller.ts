import { LockSteps } from '../../workload/lock-steps.js'
import { impatienceOf, trustWitnessed, WitnessedAttempt, type Scene } from './attempt.js'
import type { Step } from './plan.js'
import { SynchronizerSteps } from './synchronizer-steps.js'
import type { Register } from './register.js'

export interface CallerScene extends Scene {
  readonly register: Register
  /** The count in Redis follows when the turn ends: nobody is to find it the same at once. */
  readonly localReentry: boolean
  /** When each step began. */
  readonly begun: Map<string, number>
  /** Errors that no lock may end with. */
  broke(error: unknown, lock: string): void
}

/** One caller: takes its steps one after the other, and notes what it was told. */
export class Caller {
  isThrough = false
  private next = 0
  private readonly ofLocks: LockSteps<Step>
  private readonly others: SynchronizerSteps

  constructor(
    private readonly scene: CallerScene,
    private readonly steps: readonly Step[],
  ) {
    const { process, locks, history, register, localReentry } = scene
    this.ofLocks = new LockSteps({
      ...{ locks, history, countsAtOnce: !localReentry },
      now: () => process.runtime.now(),
      sleep: (ms) => process.sleep(ms),
      attempt: (call) => new WitnessedAttempt(scene, call),
      impatience: (step) => impatienceOf(process, step),
      trusts: (held) => trustWitnessed(scene, held),
      write: ({ hold: { token }, lock, owner }) => {
        register.write({ process: process.name, lock, owner, token })
        return undefined
      },
    })
    this.others = new SynchronizerSteps(scene)
  }

  async run(): Promise<void> {
    for (const step of this.steps) {
      this.next += 1
      await this.begins(step)
      try {
        await this.take(step)
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

  private take(step: Step): Promise<unknown> {
    const { way } = step
    if (way === 'permits') return this.others.permits(step)
    if (way === 'count-down') return this.others.countDown(step)
    if (way === 'await') return this.others.await(step)
    return this.ofLocks.take(way, step)
  }

  private async begins({ id, pauseMs, atMs }: Step): Promise<void> {
    const { process, begun } = this.scene
    const { world } = process
    if (atMs === undefined) await this.scene.process.sleep(pauseMs)
    else await new Promise<void>((resolve) => world.at(atMs, () => process.wake('timer', resolve)))
    begun.set(id, world.nowMs)
  }
}
