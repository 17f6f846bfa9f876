import type { LockClient } from '@holdfast/core'
import {
  Attempt,
  trust,
  type AttemptCall,
  type Believed,
  type Held,
  type TrustClock,
} from '../../workload/attempt.js'
import type { SeenByProcess } from '../journal.js'
import type { Process } from '../world/process.js'
import type { Step } from './plan.js'

/** Looks at Redis whenever somebody says that it trusts its lock. */
export interface Witness {
  believes(held: Held<Believed>, untilMs: number): void
}

export interface Scene {
  readonly process: Process
  readonly locks: LockClient
  /** The events that this process saw. */
  readonly history: SeenByProcess
  readonly witness: Witness
}

/** By the clock of the world: that of the process may run faster or slower. */
const clockOf =
  ({ world, toWorldMs }: Process): TrustClock =>
  ({ trustedForMs }) => ({ atMs: world.nowMs, untilMs: world.nowMs + toWorldMs(trustedForMs) })

/** One call that wants a lock: when it has it, the witness looks. */
export class WitnessedAttempt extends Attempt {
  readonly #scene: Scene
  readonly #clock: TrustClock

  constructor(scene: Scene, call: AttemptCall) {
    const clock = clockOf(scene.process)
    super(scene.history, call, clock)
    this.#scene = scene
    this.#clock = clock
  }

  protected override taken<H extends Believed>(hold: H, owner: string): Held<H> {
    const held = super.taken(hold, owner)
    this.#scene.witness.believes(held, this.#clock(hold).untilMs)
    return held
  }
}

/** Why a caller stops waiting: as an `AbortSignal.timeout` says it. */
export class Impatience extends Error {
  override readonly name = 'TimeoutError'
}

/** A signal that ends a call as its step says. */
export const impatienceOf = (
  { runtime, onArrival }: Pick<Process, 'runtime' | 'onArrival'>,
  { abortMs, abortOn }: Pick<Step, 'abortMs' | 'abortOn'>,
): { readonly signal: AbortSignal; readonly over: () => void } => {
  const controller = new AbortController()
  const abort = (): void => controller.abort(new Impatience())
  if (abortOn) return { signal: controller.signal, over: onArrival(abortOn, abort) }
  const timer = runtime.setTimer(abortMs, abort)
  return { signal: controller.signal, over: () => timer.cancel() }
}

/** Notes until when the owner trusts its lock, and lets the witness look. @returns whether it does */
export const trustWitnessed = ({ process, history, witness }: Scene, held: Held): boolean => {
  const untilMs = trust(history, held, clockOf(process))
  if (untilMs === undefined) return false
  witness.believes(held, untilMs)
  return true
}
