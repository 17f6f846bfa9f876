import { performance } from 'node:perf_hooks'

/** @returns {Promise<number>} how long a call takes */
export const microsOf = async (call) => {
  const before = performance.now()
  await call()
  return (performance.now() - before) * 1_000
}
