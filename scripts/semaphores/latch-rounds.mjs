import { setTimeout as sleep } from 'node:timers/promises'

const COUNTS = 3
const WAITERS = 3
// One of so many is counted down once too little.
const EACH_THAT_STAYS = 4
const WAIT_MS = 2_000
const PAUSE_MS = 50

/** False: Redis is out of memory at the moment. */
const isMade = async (observer, latch, counts) => {
  try {
    return await observer.getCountDownLatch(latch).trySetCount(counts)
  } catch (error) {
    if (error.code !== 'REDIS_UNAVAILABLE') throw error
    await sleep(PAUSE_MS)
    return false
  }
}

/** One latch after another, for as long as the run goes on: each process counts it down, and waits for it. */
export class LatchRounds {
  latches = []
  #fleet
  #made = 0
  #over = false

  constructor(fleet) {
    this.#fleet = fleet
  }

  stop() {
    this.#over = true
  }

  async run() {
    while (!this.#over) {
      const { workers, observer } = this.#fleet
      const latch = `latch:${(this.#made += 1)}`
      const counts = COUNTS * workers.length + (this.#made % EACH_THAT_STAYS === 0 ? 1 : 0)
      if (!(await isMade(observer, latch, counts))) continue
      this.latches.push({ latch, counts })
      const share = { counts: COUNTS, waiters: WAITERS, waitMs: WAIT_MS }
      await Promise.all(
        workers.map(({ process }) =>
          process.call('latch', latch, share).catch((error) => {
            // A killed one counts no further.
            if (!error.message.startsWith('the worker ended (SIGKILL)')) throw error
          }),
        ),
      )
    }
  }

  /** What they count at rest. */
  atRest() {
    const { observer } = this.#fleet
    return Promise.all(
      this.latches.map(async (each) => ({
        ...each,
        left: await observer.getCountDownLatch(each.latch).getCount(),
      })),
    )
  }
}
