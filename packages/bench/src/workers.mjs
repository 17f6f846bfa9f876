import { WorkerProcess } from '@holdfast/testing'

const MODULE = new URL('./worker/worker.mjs', import.meta.url)

/**
 * So many processes for `use`, ended whatever comes: killed, because what a library still waits for there is nobody's
 * business any more. They end by themselves when this process does.
 *
 * @template T
 * @param {number} count
 * @param {AbortSignal} signal
 * @param {(workers: WorkerProcess[]) => Promise<T>} use
 */
export const withWorkers = async (count, signal, use) => {
  const started = await Promise.allSettled(Array.from({ length: count }, () => WorkerProcess.start(MODULE)))
  const workers = started.flatMap(({ status, value }) => (status === 'fulfilled' ? [value] : []))
  const kill = () => Promise.all(workers.map((worker) => worker.kill()))
  const stopped = new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  stopped.catch(() => undefined)
  try {
    const failed = started.find(({ status }) => status === 'rejected')
    if (failed) throw failed.reason
    signal.throwIfAborted()
    return await Promise.race([use(workers), stopped])
  } finally {
    await kill()
  }
}

/** Opens a variant in each of them. A peer that does not load is noted, and left out. @returns {Promise<boolean>} */
export const openIn = async (workers, variant, context) => {
  const what = { variant, url: context.url, runId: context.runId }
  const results = await Promise.allSettled(workers.map((worker) => worker.call('open', what)))
  const failed = results.find(({ status }) => status === 'rejected')
  if (failed === undefined) return true
  if (variant.kind !== 'peer') throw failed.reason
  if (!context.missing.some(({ name }) => name === variant.contestant)) {
    context.missing.push({ name: variant.contestant, reason: failed.reason.message })
  }
  return false
}
