import { afterEach, describe, expect, it } from '@jest/globals'
import { RedisServer } from '@holdfast/faults/harness'
import { HARMS, type HarmName } from './support/harms.js'
import { Lane, type RoundOutcome } from './support/lane.js'

const LANES = 4
const LEASE_MS = 2_500
const LONG_MS = 240_000

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

const stage = {
  redis: async (options: { readonly args: readonly string[] }): Promise<RedisServer> => {
    const redis = await RedisServer.start(options)
    stops.push(() => redis.stop())
    return redis
  },
  after: (stop: () => unknown) => void stops.push(stop),
}

// It reads the process table of Linux.
const onLinux = process.platform === 'linux' ? describe : describe.skip
onLinux(
  'holdfast run, while it, its guardian, its command and Redis are killed and stopped at any instant',
  () => {
    it(
      'the group of the command is dead before anybody else has the lock, and nothing is left behind (I1, I4)',
      async () => {
        const wanted = Object.keys(HARMS) as HarmName[]
        const outcomes: RoundOutcome[] = []
        const serve = async (number: number): Promise<void> => {
          const lane = await Lane.open(stage, { number, leaseMs: LEASE_MS, seed: number })
          for (let next = wanted.pop(); next; next = wanted.pop()) outcomes.push(await lane.round(next))
        }
        await Promise.all(Array.from({ length: LANES }, (_, i) => serve(i)))
        expect(outcomes.flatMap(({ violations }) => violations)).toEqual([])
        expect(outcomes).toHaveLength(Object.keys(HARMS).length)
      },
      LONG_MS,
    )
  },
)
