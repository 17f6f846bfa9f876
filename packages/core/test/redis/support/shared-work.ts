import type { Share, ShareCallOptions, SharedRun } from '../../../src/entries/share/index.js'
import { eventually } from './rig.js'

/** A function that runs until it is told how to end, and says when it has begun. */
export class Work<T> {
  runs = 0
  last: SharedRun | null = null
  private readonly ends: { resolve: (value: T) => void; reject: (error: unknown) => void }[] = []

  readonly task = (run: SharedRun): Promise<T> => {
    this.runs += 1
    this.last = run
    return new Promise((resolve, reject) => this.ends.push({ resolve, reject }))
  }

  async untilRunning(runs = 1): Promise<void> {
    await eventually(() => this.runs === runs)
  }

  succeed(value: T, run = this.runs): void {
    this.ends[run - 1]!.resolve(value)
  }

  fail(error: unknown, run = this.runs): void {
    this.ends[run - 1]!.reject(error)
  }
}

/** A run that goes on until the test ends it, and what its caller is given. */
export async function running(share: Pick<Share<string>, 'run'>, key: string, options?: ShareCallOptions) {
  const work = new Work<string>()
  const first = share.run(key, work.task, options)
  await work.untilRunning()
  return { work, first }
}

export const never = (): never => {
  throw new Error('must not run')
}
