import { describe, expect, it } from '@jest/globals'
import { failureOf } from './support/losses.js'
import { useNodes } from './support/nodes.js'
import { eventually, soon, useRig } from './support/rig.js'

// Whoever is not told by the end of its client would be told by nothing else in time.
const LONG_MS = 30_000

describe('multi lock: the end of its client', () => {
  const rig = useRig()

  it('ends a wait for a member of another client, which stays open, with CLIENT_CLOSED (I5)', async () => {
    const [home, second, other] = [await rig.client(), await rig.client(), await rig.client()]
    const hold = await other.getLock('b').acquire()
    const lock = home.getMultiLock(home.getLock('a'), second.getLock('b'))
    const waits = [
      failureOf(lock.acquire()),
      failureOf(lock.acquire({ signal: new AbortController().signal })),
    ]
    await eventually(async () => {
      const [, heardBy] = (await rig.admin.pubsub('NUMSUB', 'redisson_lock__channel:{b}')) as [string, number]
      return heardBy > 0
    })
    await home.close({ graceMs: 0 })
    for (const error of await soon(Promise.all(waits), 1_000)) {
      expect(error).toMatchObject({ code: 'CLIENT_CLOSED' })
    }
    await hold.release()
    await second.getLock('b').withLock(() => undefined)
  })
})

describe('RedLock: the end of its client', () => {
  const nodes = useNodes(3)

  it('ends a pause of a call that has a signal at once (I5)', async () => {
    const clients = await nodes.participant({ resyncInterval: LONG_MS, unavailableTimeoutMs: LONG_MS })
    const lock = clients[0]!.getRedLock(...clients.map((client) => client.getLock('order:42')))
    await Promise.all([1, 2].map((index) => nodes.at(index).server.kill()))
    const wait = failureOf(lock.acquire({ signal: new AbortController().signal }))
    // Released by the one node that is left: what comes next is the pause.
    await eventually(async () => {
      const stats = String(await nodes.at(0).server.command('INFO', 'commandstats'))
      return /cmdstat_publish:calls=/.test(stats)
    })
    await clients[0]!.close({ graceMs: 0 })
    expect(await soon(wait, 2_000)).toMatchObject({ code: 'CLIENT_CLOSED' })
  })
})
