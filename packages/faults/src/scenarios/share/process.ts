import { setTimeout as sleep } from 'node:timers/promises'
import { LockError } from '@holdfast/core'
import { getShare, type SharedRun } from '@holdfast/core/share'
import { emit } from '@holdfast/faults/harness'
import { nowMs } from '../../run/shared-clock.js'
import type { ObservedClient } from '../../workload/observed-client.js'
import { MOMENTS } from './places.js'

/** What came of a call. */
export type Told = { readonly value: string } | { readonly code: string }

/** What the controller hears of a run: it acts, as long as it is trusted. */
export interface Act {
  readonly key: string
  readonly run: string
  /** By the clock of the machine, from before its trust was looked at. */
  readonly at: number
}

export interface Wanted {
  readonly key: string
  readonly calls: number
  readonly workMs: number
  readonly onCrash: 'rerun' | 'fail'
  readonly waitMs: number
}

const KEEP_MS = 60_000
const ACT_EVERY_MS = 3

/** The callers of one process. */
export class Process {
  #runs = 0

  constructor(
    private readonly client: ObservedClient,
    private readonly name: string,
  ) {}

  call({ key, calls, workMs, onCrash, waitMs }: Wanted): Promise<Told[]> {
    const share = getShare<string>(this.client.locks, 'faults', { keepMs: KEEP_MS, onCrash, waitMs })
    const task = (run: SharedRun): Promise<string> => this.work(run, workMs)
    return Promise.all(
      Array.from({ length: calls }, async () => {
        try {
          return { value: await share.run(key, task) }
        } catch (error) {
          if (!(error instanceof LockError)) throw error
          return { code: error.code }
        }
      }),
    )
  }

  /** What is kept of a key; a run of this process would say so. */
  kept(key: string): Promise<string> {
    return getShare<string>(this.client.locks, 'faults', { keepMs: KEEP_MS }).run(key, () => 'nothing')
  }

  private async work(run: SharedRun, workMs: number): Promise<string> {
    const { key } = run
    const id = `${this.name}#${(this.#runs += 1)}`
    const endsAt = nowMs() + workMs
    let told = 0
    const moments = Object.entries(MOMENTS)
    for (;;) {
      const at = nowMs()
      // It goes on after the loss of trust, as a function does that looks at no signal, and does not act any more.
      if (!run.signal.aborted) emit('acted', { key, run: id, at } satisfies Act)
      const done = 1 - (endsAt - at) / workMs
      for (; told < moments.length && done >= (moments[told]?.[1] ?? 2); told += 1) {
        emit('moment', { key, run: id, moment: moments[told]?.[0] })
      }
      if (done >= 1) return id
      await sleep(ACT_EVERY_MS)
    }
  }
}
