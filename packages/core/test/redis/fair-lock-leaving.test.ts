import { describe, expect, it } from '@jest/globals'
import { FairLine } from './support/fair-line.js'
import { eventually, soon, useRig } from './support/rig.js'

const rig = useRig()

describe('800 waiters that leave at any moment', () => {
  it('leave nothing in any key (I8)', async () => {
    const line = new FairLine(rig.admin, 'order:42')
    const [holding, ...clients] = await Promise.all([rig.client(), rig.client(), rig.client(), rig.client()])
    const holder = await line.lockOf(holding).acquire()
    const bystander = await line.join('bystander', holding)
    let [aborted, acquired] = [0, 0]
    const leave = async (i: number): Promise<void> => {
      const lock = line.lockOf(clients[i % 3]!)
      const abort = new AbortController()
      const waiting = lock.acquire(i % 5 === 0 ? { waitMs: 1 + (i % 7) } : { signal: abort.signal })
      setTimeout(() => abort.abort('enough'), (i * 7) % 11)
      const reason: unknown = await waiting.then(
        () => 'acquired',
        (error: unknown) => error,
      )
      aborted += reason === 'enough' ? 1 : 0
      acquired += reason === 'acquired' ? 1 : 0
    }
    for (let i = 0; i < 800; i += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, j) => leave(i + j)))
    }
    expect([aborted, acquired]).toEqual([640, 0])
    await eventually(async () => (await line.length()) === 1, 1_000)
    expect(await line.owners()).toEqual([bystander.owner])
    expect(await rig.admin.zcard(line.keys.timeouts)).toBe(1)
    expect(await line.arrivals()).toEqual([bystander.owner])
    await holder.release()
    await soon(bystander.done)
    expect(await rig.contents()).toEqual({})
  })
})
