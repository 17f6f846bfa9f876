import { setTimeout as sleep } from 'node:timers/promises'
import { LockError, type CountDownLatch, type LockClient } from '@holdfast/core'
import type { Fleet } from '../../../run/fleet.js'
import type { SeededRandom } from '../../../harness/seeded-random.js'
import type { LatchAtRest } from '../../../workload/check-permits.js'
import type { SemaphoreEvent, SemaphoreHistory } from '../../../workload/permit-uses.js'

const COUNTS = 3
const WAITERS = 3
// One of so many is counted down once too little.
const EACH_THAT_STAYS = 4
const WAIT_MS = 2_000
const PAUSE_MS = 50
// So long that what is sent again is there before the last of them.
const LONGEST_STEP_MS = 500

type Latch = Omit<LatchAtRest, 'left'>

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

  /** Their count at rest. */
  atRest(): Promise<LatchAtRest[]> {
    return Promise.all(
      this.#latches.map(async (each) => ({
        ...each,
        left: await this.#observer.getCountDownLatch(each.latch).getCount(),
      })),
    )
  }
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
