import { hopsPerSecond } from './push-chain.mjs'

const FLOWS = 8
const MS = 1_200

/**
 * Lets every contestant contend in these processes, and a chain of pushes go round, for long enough that the compiler
 * has seen all of it: a service runs for days, and a process that has just started is several times as slow.
 */
export const warmUp = async (workers, variants, { ms = MS }, context) => {
  for (const { name: variant } of variants) {
    context.signal.throwIfAborted()
    context.log(`warm-up: ${variant}`)
    const what = { variant, name: context.name('warm-up', variant), flows: FLOWS, ms, holdMs: 0 }
    // A failure here is repeated when it is measured, and told then.
    await Promise.allSettled(workers.map((worker) => worker.call('contend', what)))
  }
  context.log('warm-up: a chain of pushes')
  await hopsPerSecond(workers, { ms }, context)
}
