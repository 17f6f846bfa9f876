import { LockClient } from '@holdfast/core'
import { report } from '@holdfast/core/observe'
import { RedisServer } from '@holdfast/faults/harness'
import { quantile } from '../statistics.mjs'

const FLOWS = 100
const TURN_MS = 300
/** The shortest interval that a client may have. */
const EVERY_MS = 1_000

/** Medians of what a client does with its report, divided by what it does without, a moment before or after. */
export const costOfReport = async ({ rounds }, interrupted) => {
  const server = await RedisServer.start()
  const locks = await LockClient.connect(server.url, { bareCalls: 'allow' })
  try {
    const ratios = []
    for (let round = -3; round < rounds; round += 1) {
      interrupted.throwIfAborted()
      const turns = {}
      for (const reports of round % 2 === 0 ? [true, false] : [false, true]) {
        const reporting = reports ? report(locks, { everyMs: EVERY_MS }) : null
        turns[reports] = await turn(locks)
        await reporting?.stop()
      }
      const [on, off] = [turns.true, turns.false]
      if (round >= 0)
        ratios.push({ pairs: on.pairs / off.pairs, cpu: on.cpu / on.pairs / (off.cpu / off.pairs) })
    }
    const median = (what) =>
      quantile(
        ratios.map((each) => each[what]),
        0.5,
      )
    return { pairs: median('pairs'), cpu: median('cpu') }
  } finally {
    await locks.close()
    await server.stop()
  }
}

const turn = async (locks) => {
  const endsAt = performance.now() + TURN_MS
  const before = process.cpuUsage()
  let pairs = 0
  const flow = async (_, i) => {
    const lock = locks.getLock(`flow:${i}`)
    while (performance.now() < endsAt) {
      const hold = await lock.acquire()
      await hold.release()
      pairs += 1
    }
  }
  await Promise.all(Array.from({ length: FLOWS }, flow))
  const { user, system } = process.cpuUsage(before)
  return { pairs, cpu: user + system }
}
