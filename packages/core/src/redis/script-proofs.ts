import { QUEUED } from './failures.js'

/** How a script that was sent ends. */
export interface Outcomes {
  readonly answered: (reply: unknown) => void
  readonly failed: (error: unknown) => void
}

/**
 * Which scripts Redis has run by their digests on this connection: one that it does not know takes a round trip more. What
 * is written to a connection is there before whatever is written later, unless it has to be sent twice.
 */
export class ScriptProofs {
  private readonly known = new Set<string>()
  private epoch = 0
  /** Scripts in flight that Redis may not know. */
  private open = 0

  get areComplete(): boolean {
    return this.open === 0
  }

  has(script: string): boolean {
    return this.known.has(script)
  }

  areOf(epoch: number): boolean {
    if (this.epoch === epoch) {
      return true
    }
    this.epoch = epoch
    this.known.clear()
    return false
  }

  /** For a script that is not known: its outcomes, which prove it. */
  ofFirst(script: string, { answered, failed }: Outcomes, isProof: (reply: unknown) => boolean): Outcomes {
    this.open += 1
    return {
      answered: (reply) => {
        this.open -= 1
        if (isProof(reply) && reply !== QUEUED) {
          this.known.add(script)
        }
        answered(reply)
      },
      failed: (error) => {
        this.open -= 1
        failed(error)
      },
    }
  }
}
