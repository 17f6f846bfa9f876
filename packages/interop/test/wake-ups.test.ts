import { beforeAll, describe, expect, it } from '@jest/globals'
import { setTimeout as sleep } from 'node:timers/promises'
import { rows } from './support/rows.js'
import { setting } from './support/setting.js'
import type { Side } from './support/side.js'
import { useSides } from './support/sides.js'

const ROUNDS = setting.mode === 'smoke' ? 50 : 300
const LEASE_MS = 3_000
const MOST_MS = 10

const sides = useSides()
let java: Side
let node: Side

beforeAll(async () => {
  ;[java, node] = await Promise.all([sides.launch('java'), sides.launch('node')])
})

/** How long each wait went on after its lock was free, ms. */
async function delays(holder: Side, waiter: Side, row: (typeof rows)[number]): Promise<number[]> {
  const found: number[] = []
  for (let i = 0; i < ROUNDS; i += 1) {
    await holder.call('h', 'lock', row.held, 'order:42', { lease: LEASE_MS })
    const waiting = waiter.call('w', 'lock', row.wanted, 'order:42', { lease: LEASE_MS })
    // The release falls anywhere between the first try of the waiter and its sleep.
    await sleep(((i % 40) / 40) * MOST_MS)
    const { to: freed } = await holder.call('h', 'unlock', row.held, 'order:42')
    found.push((await waiting).to - freed)
    await waiter.call('w', 'unlock', row.wanted, 'order:42')
  }
  return found
}

describe('a release at any moment of a wait', () => {
  it.each(rows)(
    '$name: nobody sleeps until the lease of a lock that is free has ended (I4)',
    async (row) => {
      for (const [holder, waiter] of [
        [java, node],
        [node, java],
      ] as const) {
        const longest = Math.max(...(await delays(holder, waiter, row)))
        expect(longest).toBeLessThan(LEASE_MS / 2)
      }
    },
    120_000,
  )
})
