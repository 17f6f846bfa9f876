import { setTimeout as sleep } from 'node:timers/promises'
import { serveWorker } from '@holdfast/testing'
import { seededRandom } from '../torture/random.mjs'
import { Participant } from './participant.mjs'

const participant = new Participant()
const failures = []
let running = []
let isOver = false

/** Wants one lock again and again, and uses it as it should be used. */
const want = async (lock, random, leaseMs) => {
  while (!isOver) {
    await sleep(random.between(100, 300))
    const belief = await participant.acquire(lock, random.chance(0.5) ? { leaseMs } : {})
    if (belief === null) continue
    if (belief.token !== undefined) await participant.guardedWrite(belief)
    await sleep(random.between(10, 40))
    belief.isEnsured()
    await belief.giveBack()
  }
}

serveWorker({
  async begin({ locks, seed, ...settings }) {
    await participant.open(settings)
    running = locks.map((lock, i) =>
      want(lock, seededRandom(seed * 1_000 + i), settings.leaseMs).catch((error) => failures.push(error)),
    )
  },

  async finish() {
    isOver = true
    await Promise.all(running)
    if (failures.length > 0) throw failures[0]
    await participant.close()
  },
})
