import { setTimeout as sleep } from 'node:timers/promises'

const WARM_UP_MS = 1_000

/**
 * A message that goes round through all workers, each hop a script that publishes to a subscriber: what handing
 * something over costs that is no lock at all.
 *
 * @returns {Promise<number>} hops per second
 */
export const hopsPerSecond = async (workers, { ms }, context) => {
  await joined(workers, context)
  try {
    const [first, ...others] = workers
    // All before the first: a message that nobody passes on would be the end of the chain.
    await Promise.all(others.map((worker) => worker.call('startChain', { begins: false })))
    await first.call('startChain', { begins: true })
    await sleep(Math.min(WARM_UP_MS, ms))
    await hopsOf(workers)
    await sleep(ms)
    return ((await hopsOf(workers)) * 1_000) / ms
  } finally {
    await left(workers)
  }
}

/** How long one push takes from the first worker to the second, ms, so many times. */
export const pushTimes = async ([from, to], { times, pauseMs }, context) => {
  await joined([from, to], context)
  try {
    const ms = []
    for (let i = 0; i < times; i += 1) {
      const heard = to.call('pushed')
      // Holds for as long as a holder keeps a lock: a process that has slept takes longer to hear.
      await sleep(pauseMs())
      const sentAt = await from.call('push', { to: 1 })
      ms.push(((await heard) - sentAt) / 1e6)
    }
    return ms
  } finally {
    await left([from, to])
  }
}

const joined = (workers, context) => {
  const name = context.name('chain', String(Math.random()))
  const what = { url: context.url, name, size: workers.length }
  return Promise.all(workers.map((worker, index) => worker.call('joinChain', { ...what, index })))
}

const hopsOf = async (workers) => {
  const counts = await Promise.all(workers.map((worker) => worker.call('hopsOfChain')))
  return counts.reduce((sum, count) => sum + count, 0)
}

const left = (workers) => Promise.all(workers.map((worker) => worker.call('leaveChain')))
