import { type Hold, LockError, type LockHold } from '@holdfast/core'
import type { Mode } from '@holdfast/faults/harness'
import type { Journal } from '../journal.js'
import type { Process } from '../world/process.js'

/** A hold, as the history knows it. */
export interface Held {
  readonly hold: LockHold & Partial<Pick<Hold, 'token'>>
  readonly lock: string
  /** Of the history: a reader inside its own write lock is one owner there, and two in Redis. */
  readonly owner: string
  readonly mode: Mode | undefined
}

/** Looks at Redis whenever somebody says that it trusts its lock. */
export interface Witness {
  believes(held: Held, untilMs: number): void
}

export interface Scene {
  readonly process: Process
  readonly journal: Journal
  readonly witness: Witness
}

interface AttemptCall {
  readonly lock: string
  readonly attempt: string
  readonly mode?: Mode | undefined
  readonly deadlineMs: number
}

/** One call that wants a lock: its begin and its outcome, in the history. */
export class Attempt {
  isHeld = false
  private readonly where: { readonly lock: string; readonly attempt: string }

  constructor(
    private readonly scene: Scene,
    private readonly call: AttemptCall,
  ) {
    this.where = { lock: call.lock, attempt: call.attempt }
    this.note('acquire-begin', { mode: call.mode, deadlineMs: call.deadlineMs })
  }

  acquired(hold: Held['hold'], owner = hold.owner): Held {
    this.isHeld = true
    const { lock, mode } = this.call
    const held = { hold, lock, owner, mode }
    const trustedUntilMs = untilMsOf(this.scene, held)
    this.note('acquired', { owner, token: hold.token, trustedUntilMs })
    this.scene.witness.believes(held, trustedUntilMs)
    hold.signal.addEventListener('abort', () => {
      const { reason } = hold.signal.reason as { reason: string }
      this.scene.journal.add(this.scene.process.name, 'lost', { lock, owner, reason })
    })
    return held
  }

  refused(): void {
    this.note('refused')
  }

  /** An error after the lock was taken is no outcome of the attempt to take it. @throws what no lock may end with */
  endedBy(error: unknown): void {
    if (this.isHeld) {
      if (!(error instanceof LockError)) throw error
    } else if (error instanceof LockError) {
      if (error.code === 'LOCK_TIMEOUT') this.refused()
      else this.note('failed', { code: error.code })
    } else if (error instanceof Impatience) this.note('aborted')
    else throw error
  }

  private note(kind: 'acquire-begin' | 'acquired' | 'refused' | 'failed' | 'aborted', more = {}): void {
    this.scene.journal.add(this.scene.process.name, kind, { ...this.where, ...more })
  }
}

/** Why a caller stops waiting. */
export class Impatience extends Error {}

/** By the clock of the world: that of the process may run faster or slower. */
const untilMsOf = ({ process }: Scene, { hold }: Held): number =>
  process.world.nowMs + process.toWorldMs(hold.trustedForMs)

/** Notes until when the owner trusts its lock. @returns whether it does */
export const trust = (scene: Scene, held: Held): boolean => {
  if (held.hold.trustedForMs <= 0) return false
  const untilMs = untilMsOf(scene, held)
  scene.journal.add(scene.process.name, 'trusted', { lock: held.lock, owner: held.owner, untilMs })
  scene.witness.believes(held, untilMs)
  return true
}

/** Gives one level back. */
export const release = async ({ journal, process }: Scene, held: Held): Promise<void> => {
  const { hold, lock, owner, mode } = held
  journal.add(process.name, 'release-begin', { lock, owner, mode })
  journal.add(process.name, 'released', { lock, owner, outcome: await hold.release() })
}
