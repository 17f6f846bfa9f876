import type { Fault, FaultProxy } from '@holdfast/faults/harness'
import type { Script } from '../../../src/redis/script.js'
import { runsOf } from './requests.js'
import type { SlowClock } from './slow-clock.js'

/** Makes a sign of life that long worth nothing to a client that is told of a grant. */
export const outdatedLives = (lifeMs: number): [string, (clock: SlowClock) => void][] => [
  ['that life is nearly over', (clock) => clock.skip(0.8 * lifeMs)],
  ['that life is over', (clock) => clock.skip(2 * lifeMs)],
  ['the machine was suspended since then', (clock) => clock.suspend(60_000)],
]

/** Makes a script run twice, the second time late. */
export const repeatedRuns = (script: Script): [string, (proxy: FaultProxy) => Fault][] => [
  ['sent again', (proxy) => proxy.loseReply(runsOf(script))],
  ['copied', (proxy) => proxy.copyLate(runsOf(script), 50)],
]
