import { setTimeout as sleep } from 'node:timers/promises'
import { LockError, type CountDownLatch, type LockClient } from '@holdfast/core'
import type { Fleet } from '../../run/fleet.js'
import type { SeededRandom } from '../../run/random.js'
import { isCalm, type SemaphoreEvent, type Span, type SemaphoreHistory } from './events.js'

const COUNTS = 3
const WAITERS = 3
// One of so many is counted down once too little.
const EACH_THAT_STAYS = 4
const WAIT_MS = 2_000
const PAUSE_MS = 50
// So long that what is sent again is there before the last of them.
const LONGEST_STEP_MS = 500
const GRACE_MS = 1_000

interface Latch {
  readonly latch: string
  readonly counts: number
}

/** False: Redis is out of memory at the moment. */
const isMade = async (observer: LockClient, { latch, counts }: Latch): Promise<boolean> => {
  try {
    return await observer.getCountDownLatch(latch).trySetCount(counts)
  } catch (error) {
    if (!(error instanceof LockError) || error.code !== 'REDIS_UNAVAILABLE') throw error
    await sleep(PAUSE_MS)
    return false
  }
}

/** One latch after another, for as long as the run goes on: each process counts it down, and waits for it. */
export class LatchRounds {
  readonly #latches: Latch[] = []
  readonly #fleet: Fleet
  readonly #observer: LockClient
  #made = 0
  #isOver = false

  constructor(fleet: Fleet, observer: LockClient) {
    this.#fleet = fleet
    this.#observer = observer
  }

  stop(): void {
    this.#isOver = true
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const { workers } = this.#fleet
      this.#made += 1
      const counts = COUNTS * workers.length + (this.#made % EACH_THAT_STAYS === 0 ? 1 : 0)
      const made = { latch: `latch:${this.#made}`, counts }
      if (!(await isMade(this.#observer, made))) continue
      this.#latches.push(made)
      await Promise.all(
        workers.map(({ process }) =>
          process.call('latch', made.latch).catch((error: unknown) => {
            // A killed one counts no further.
            if (!(error as Error).message.startsWith('the worker ended (SIGKILL)')) throw error
          }),
        ),
      )
    }
  }

  /** What they count at rest. */
  atRest(): Promise<LatchAtRest[]> {
    return Promise.all(
      this.#latches.map(async (each) => ({
        ...each,
        left: await this.#observer.getCountDownLatch(each.latch).getCount(),
      })),
    )
  }
}

interface LatchAtRest extends Latch {
  readonly left: number
}

/** The part of one process: some of its callers count the latch down and some wait for it. */
export const useLatch = async (
  latch: CountDownLatch,
  history: SemaphoreHistory,
  random: SeededRandom,
): Promise<void> => {
  const note = (kind: SemaphoreEvent['kind'], more = {}): unknown =>
    history.add(kind, { latch: latch.name, ...more })
  const noted = async (
    begin: 'count' | 'await',
    failed: 'count-failed' | 'await-failed',
    go: () => Promise<SemaphoreEvent['kind']>,
  ): Promise<void> => {
    note(begin)
    try {
      note(await go())
    } catch (error) {
      if (!(error instanceof LockError)) throw error
      note(failed, { code: error.code })
    }
  }
  const countDown = async (): Promise<void> => {
    await sleep(random.between(0, LONGEST_STEP_MS))
    await noted('count', 'count-failed', async () => {
      await latch.countDown()
      return 'counted'
    })
  }
  const wait = (): Promise<void> =>
    noted('await', 'await-failed', async () =>
      (await latch.await({ waitMs: WAIT_MS })) ? 'passed' : 'closed',
    )
  await Promise.all([...Array.from({ length: COUNTS }, countDown), ...Array.from({ length: WAITERS }, wait)])
}

/** A latch opens when it was counted down as often as it was set to, not before, and for all that wait. */
export const checkLatches = (
  events: readonly SemaphoreEvent[],
  latches: readonly LatchAtRest[],
  faults: readonly Span[],
): { rounds: number; passed: number; closed: number; violations: string[] } => {
  const total = { rounds: latches.length, passed: 0, closed: 0, violations: [] as string[] }
  for (const { latch, counts, left } of latches) {
    const ofLatch = events.filter((event) => 'latch' in event && event.latch === latch)
    const times = (kind: SemaphoreEvent['kind']): number[] =>
      ofLatch.filter((event) => event.kind === kind).map(({ atMs }) => atMs)
    const [begun, counted, passed, closed] = [
      times('count'),
      times('counted'),
      times('passed'),
      times('closed'),
    ]
    const earliestMs = begun[counts - 1] ?? Infinity
    const latestMs = counted[counts - 1] ?? Infinity
    total.passed += passed.length
    total.closed += closed.length
    const isLeft = left >= Math.max(0, counts - begun.length) && left <= Math.max(0, counts - counted.length)
    const range = `${counts - begun.length} to ${counts - counted.length}`
    total.violations.push(
      ...passed
        .filter((atMs) => atMs < earliestMs)
        .map(() => `I1 ${latch} let a waiter pass after ${begun.length} of ${counts} counts`),
      ...[...passed, ...closed]
        .filter((toMs) => toMs > latestMs + GRACE_MS && isCalm(faults, { fromMs: latestMs, toMs }))
        .map((atMs) => `I4 ${latch} kept a waiter ${Math.round(atMs - latestMs)} ms after it opened`),
      ...(isLeft ? [] : [`I2 ${latch} counts ${left} at rest, it should be ${range}`]),
    )
  }
  return total
}
