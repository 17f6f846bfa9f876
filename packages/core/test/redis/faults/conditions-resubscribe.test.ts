import { describe, expect, it } from '@jest/globals'
import { setImmediate } from 'node:timers/promises'
import { nextEvent, waitBehind } from '../support/outcomes.js'
import { JavaClient } from '../support/java-client.js'
import { eventually, soon, useRig } from '../support/rig.js'
import { standStills } from '../support/stand-stills.js'

const NAME = 'order:42'
const [, busy] = standStills[0]!
const rig = useRig()

/** The ids of the connections that have subscribed. */
const subscribers = async (): Promise<string[]> =>
  String(await rig.admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).match(/^id=\d+/gm) ?? []

describe('a subscriber that reconnects while Redis is BUSY', () => {
  it('is subscribed again when that is over: waiters wake and a forceUnlock is heard (I4)', async () => {
    const proxy = await rig.proxy()
    // Without its check ioredis is ready although Redis answers BUSY, and SUBSCRIBE is refused.
    const connection = rig.connection({ enableReadyCheck: false }, proxy)
    const locks = await rig.client({ resyncInterval: 20_000 }, connection)
    const hold = await locks.getLock(NAME).acquire()
    const java = new JavaClient(rig.admin)
    await java.hold('taken', 120_000)
    const { waiting } = await waitBehind(rig, 'taken', () => locks.getLock('taken').acquire())

    const before = await subscribers()
    const { over } = await busy(rig.server, 500)
    proxy.cutAll()
    await over
    await eventually(async () => {
      const [now, channels] = [await subscribers(), await rig.admin.pubsub('CHANNELS')]
      return !now.some((each) => before.includes(each)) && channels.length === 2
    })
    await java.unlock('taken')
    expect(await (await soon(waiting)).release()).toBe('released')
    // Behind the renewal that a new connection asks for: its answer would tell of the loss before the message does.
    await setImmediate()
    await hold.verify()
    const lost = nextEvent(locks, 'lost')
    expect(await (await rig.client()).getLock(NAME).forceUnlock()).toBe(true)
    expect(await lost).toMatchObject({ owner: hold.owner, error: { reason: 'forced' } })
  })
})

describe('a wait that ends while the connection for messages is broken', () => {
  it('leaves its lock to be listened to again: the next waiter is woken (I4)', async () => {
    const lock = (await rig.client({ resyncInterval: 20_000 })).getLock('taken')
    const java = new JavaClient(rig.admin)
    await java.hold('taken', 120_000)
    const left = new AbortController()
    const { waiting } = await waitBehind(rig, 'taken', () => lock.acquire({ signal: left.signal }))

    const [, most] = (await rig.admin.config('GET', 'maxclients')) as [string, string]
    // Who is connected stays, and nobody else comes.
    await rig.admin.config('SET', 'maxclients', '1')
    await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    // Behind this answer the client knows it.
    await lock.isLocked()
    left.abort()
    await expect(soon(waiting)).rejects.toThrow()
    await rig.admin.config('SET', 'maxclients', most)

    const { waiting: next } = await waitBehind(rig, 'taken', () => lock.acquire())
    await java.unlock('taken')
    expect(await (await soon(next)).release()).toBe('released')
  })
})
