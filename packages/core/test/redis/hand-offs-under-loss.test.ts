import { describe, expect, it } from '@jest/globals'
import type { Hold, LockClient } from '../../src/index.js'
import { sleep } from './support/harness.js'
import { useRig } from './support/rig.js'

const rig = useRig()
const LOCKS = 8
// Far below the lease of 30 s, and below the resync where that is not to help.
const LIMIT_MS = 10_000

/**
 * Two clients hand one lock to each other. Who gave it back waits until the other has it, so that nobody else's try
 * makes up for a wake-up that was lost. Gives how long the lock was free each time, ms.
 */
async function handToAndFro(
  name: string,
  clients: readonly LockClient[],
  isEnough: (times: number) => boolean,
): Promise<number[]> {
  const take = (i: number): Promise<Hold> => clients[i % 2]!.getLock(name).acquire({ waitMs: LIMIT_MS })
  const needs: number[] = []
  let hold = await take(0)
  for (let i = 1; !isEnough(i - 1); i += 1) {
    const waiting = take(i)
    // Before it waits, and after: a message only helps one that does, which takes longer on a busy machine.
    await sleep((i % 4) * 8)
    expect(await hold.release()).toBe('released')
    const freeAt = performance.now()
    hold = await waiting
    needs.push(performance.now() - freeAt)
  }
  await hold.release()
  return needs
}

async function handAll(
  clients: readonly LockClient[],
  isEnough: (times: number) => boolean,
): Promise<number[]> {
  const names = Array.from({ length: LOCKS }, (_, i) => `relay:${i}`)
  return (await Promise.all(names.map((name) => handToAndFro(name, clients, isEnough)))).flat()
}

describe('wake-ups', () => {
  it('400 hand-offs while connections for messages are killed: none waits for a resync (I4)', async () => {
    const clients = [
      await rig.client({ resyncInterval: 30_000 }),
      await rig.client({ resyncInterval: 30_000 }),
    ]
    let [killed, isOver] = [0, false]
    const killing = async (): Promise<void> => {
      while (!isOver) {
        killed += Number(await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'))
        await sleep(100)
      }
    }
    const killer = killing()
    const needs = await handAll(clients, (times) => times === 50).finally(() => (isOver = true))
    await killer
    expect(needs).toHaveLength(400)
    expect(Math.max(...needs)).toBeLessThan(LIMIT_MS)
    expect(killed).toBeGreaterThanOrEqual(4)
  })

  it('hand-offs while every third message is dropped, 20 of them: none ends by the lease (I4)', async () => {
    const proxy = await rig.proxy()
    const open = (): Promise<LockClient> => rig.client({ resyncInterval: 200 }, rig.connection({}, proxy))
    const clients = [await open(), await open()]
    const drop = proxy.dropPushes(3)
    const needs = await handAll(clients, () => drop.count >= 20)
    expect(Math.max(...needs)).toBeLessThan(LIMIT_MS)
  })
})
