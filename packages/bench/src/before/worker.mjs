import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { serveWorker } from '@holdfast/faults/harness'

const LEAD_IN_MS = 100

let client

/** The ES module that users of a built package import. */
const entryOf = (folder) => {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const entry = exports['.'].import
  // Commits up to November 2026 name its types beside it.
  return join(folder, entry.default ?? entry)
}

const runFor = async (ms, { flows, names }) => {
  const endsAt = performance.now() + ms
  let pairs = 0
  await Promise.all(
    Array.from({ length: flows }, async (_, i) => {
      const lock = client.getLock(`order:${i % names}`)
      do {
        const hold = await lock.lock()
        if ((await hold.release()) !== 'released') throw new Error(`${lock.name} was lost`)
        pairs += 1
      } while (performance.now() < endsAt)
    }),
  )
  return pairs
}

serveWorker({
  async begin({ url, folder, options }) {
    const earlier = () => import(pathToFileURL(entryOf(join(folder, 'packages/core'))).href)
    const { LockClient } = folder === undefined ? await import('@holdfast/core') : await earlier()
    client = await LockClient.connect(url, { bareCalls: 'allow', ...options })
  },

  async measure({ ms, ...load }) {
    await runFor(Math.min(ms, LEAD_IN_MS), load)
    const cpuBefore = process.cpuUsage()
    const startedAt = performance.now()
    const pairs = await runFor(ms, load)
    const elapsedMs = performance.now() - startedAt
    const { user, system } = process.cpuUsage(cpuBefore)
    return { pairsPerSecond: (pairs * 1000) / elapsedMs, clientMicros: (user + system) / pairs }
  },
})
