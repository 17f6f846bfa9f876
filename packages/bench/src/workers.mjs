import { WorkerProcess } from '@holdfast/faults/harness'

const MODULE = new URL('./worker/worker.mjs', import.meta.url)

/**
 * So many processes for `use`, ended whatever comes: killed, because what a library still waits for there is nobody's
 * business any more. They end by themselves when this process does.
 *
 * @template T
 * @param {number} count
 * @param {{ signal: AbortSignal, atMostMs: number, what: string, execPath?: string }} life rejects when `use` takes
 *   longer; the program of another Node than this one
 * @param {(workers: WorkerProcess[]) => Promise<T>} use
 */
export const withWorkers = async (count, { signal, atMostMs, what, execPath }, use) => {
  const started = await Promise.allSettled(
    Array.from({ length: count }, () => WorkerProcess.start(MODULE, { execPath })),
  )
  const workers = started.flatMap(({ status, value }) => (status === 'fulfilled' ? [value] : []))
  const life = endOf(signal, atMostMs, what)
  try {
    const failed = started.find(({ status }) => status === 'rejected')
    if (failed) throw failed.reason
    signal.throwIfAborted()
    return await Promise.race([use(workers), life.over])
  } finally {
    life.cancel()
    await Promise.all(workers.map((worker) => worker.kill()))
  }
}

const endOf = (signal, atMostMs, what) => {
  let cancel
  const over = new Promise((_, reject) => {
    const interrupted = () => reject(signal.reason)
    const timer = setTimeout(() => reject(new Error(`${what}: no end after ${atMostMs / 1_000} s`)), atMostMs)
    signal.addEventListener('abort', interrupted)
    cancel = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', interrupted)
    }
  })
  over.catch(() => undefined)
  return { over, cancel }
}

/** Opens a variant in each of them. A peer that does not load is noted, and left out. @returns {Promise<boolean>} */
export const openIn = async (workers, variant, context) => {
  const what = { variant, url: context.url, runId: context.runId }
  const results = await Promise.allSettled(workers.map((worker) => worker.call('open', what)))
  const failed = results.find(({ status }) => status === 'rejected')
  if (failed === undefined) return true
  if (variant.kind !== 'peer') throw failed.reason
  context.leaveOut(variant.contestant, failed.reason.message)
  return false
}
