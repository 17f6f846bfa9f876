import { readWith, type Reading } from '../runtime/reading.js'
import type { ReleaseReply } from '../scripts/lock/release.js'

/** How long a write is tried, from when on (monotonic ms). */
export interface Patience {
  readonly limitMs: number
  readonly startedAt: number
}

interface Persistent {
  insist(levels: { readonly count: number }, patience: Patience, error: unknown): Promise<ReleaseReply>
}

/** Reads the answer to a write of the hold count. Where there is none, it is tried on. */
export class Insisting<T> implements Reading<ReleaseReply, T> {
  constructor(
    private readonly writer: Persistent,
    private readonly levels: { readonly count: number },
    private readonly patience: Patience,
    private readonly reading: Reading<ReleaseReply, T>,
  ) {}

  read(reply: ReleaseReply): T {
    return this.reading.read(reply)
  }

  fail(error: unknown): Promise<T> {
    return readWith(this.writer.insist(this.levels, this.patience, error), this.reading)
  }
}
