import { expect } from '@jest/globals'
import type { Redis } from 'ioredis'
import { luaSources } from '../../../src/redis/lua-sources.js'
import { setImmediate as nextLoop } from 'node:timers/promises'
import { stateOf } from '../support/carrier.js'
import { JavaClient } from '../support/java-client.js'
import { eventually, sleep, soon } from '../support/rig.js'
import { describe, it, useRig } from '../support/together.js'

const NAME = 'order:42'
const CHANNEL = `redisson_lock__channel:{${NAME}}`
/** A tick that no test waits for. */
const NEVER_MS = 60_000

const rig = useRig()

describe('messages that are lost', () => {
  it('all of them: a free lock is found at the next resync (I4)', async () => {
    const proxy = await rig.proxy()
    const holding = await rig.client()
    const waiting = await rig.client({ resyncInterval: 300 }, rig.connection({}, proxy))
    const drops = proxy.dropPushes(1)
    for (let round = 0; round < 5; round += 1) {
      const hold = await holding.getLock(NAME).acquire()
      const wait = waiting.getLock(NAME).acquire()
      await rig.heard(NAME)
      await hold.release()
      const releasedAt = performance.now()
      expect(await (await soon(wait)).release()).toBe('released')
      // Room for a busy machine; without the resync it would be the 30 s of the lease.
      expect(performance.now() - releasedAt).toBeLessThan(3_000)
    }
    expect(drops.count).toBeGreaterThanOrEqual(5)
  })

  it('on a subscriber whose connection is killed again and again: every wait ends without a tick (I4)', async () => {
    const [holding, waiting] = [await rig.client(), await rig.client({ resyncInterval: NEVER_MS })]
    let [killed, going] = [0, true]
    const killing = (async () => {
      while (going) {
        killed += Number(await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'))
        await sleep(20)
      }
    })()
    for (let round = 0; round < 20; round += 1) {
      const hold = await holding.getLock(NAME).acquire()
      const wait = waiting.getLock(NAME).acquire()
      await sleep(round * 3)
      await hold.release()
      expect(await (await soon(wait, 10_000)).release()).toBe('released')
    }
    going = false
    await killing
    expect(killed).toBeGreaterThan(5)
  })
})

describe('an unlock that races with a subscription', () => {
  const subscribes = (bytes: Buffer): boolean =>
    bytes.includes(CHANNEL) && /\r\nsubscribe\r\n/i.test(bytes.toString())

  it('an unlock that races with a subscription, and comes before it, after the refusal: the waiter tries again when it is confirmed (I4)', async () => {
    const { proxy, locks: waiting } = await rig.proxied({ resyncInterval: NEVER_MS })
    await new JavaClient(rig.admin).hold(NAME, NEVER_MS)
    proxy.delay(300)
    await rig.server.resetStats()
    const wait = waiting.getLock(NAME).acquire()
    // Refused, which the client hears 300 ms later, and its SUBSCRIBE is here 300 ms after that.
    await eventually(async () => (await rig.server.commandStats()).has('evalsha'))
    const results = await rig.admin.multi().del(NAME).publish(CHANNEL, '0').exec()
    const heardBy = results?.[1]?.[1]
    expect(heardBy).toBe(0)
    proxy.delay(0)
    expect(await (await soon(wait)).release()).toBe('released')
  })

  it('an unlock that races with a subscription whose confirmation is lost: the waiter subscribes anew, and tries again (I4)', async () => {
    const { proxy, locks: waiting } = await rig.proxied({ resyncInterval: NEVER_MS })
    const java = new JavaClient(rig.admin)
    await java.hold(NAME, NEVER_MS)
    const fault = proxy.loseReply(subscribes)
    const wait = waiting.getLock(NAME).acquire()
    await soon(fault.happened)
    // Nobody is subscribed now.
    await java.unlock(NAME)
    expect(await (await soon(wait)).release()).toBe('released')
  })

  it('an unlock that races with a subscription, which is cut off when it is made anew, by a wait that ends before the next one: none is left', async () => {
    const proxy = await rig.proxy()
    const connection = rig.connection({}, proxy)
    const waiting = await rig.client({ resyncInterval: NEVER_MS }, connection)
    await new JavaClient(rig.admin).hold(NAME, NEVER_MS)
    const aborting = new AbortController()
    const wait = waiting.getLock(NAME).acquire({ signal: aborting.signal })
    await rig.heard(NAME)
    const fault = proxy.loseRequest(subscribes)
    proxy.cutAll()
    await soon(fault.happened)
    proxy.refuse()
    // The other one is cut later: then the client knows of both.
    await eventually(() => stateOf(connection) !== 'ready')
    aborting.abort('enough')
    await expect(wait).rejects.toBe('enough')
    // The unsubscribing waits for the end of a tick, and there is no connection that it could be sent on.
    await nextLoop()
    await nextLoop()
    proxy.pass()
    // That of the client itself, which is subscribed to with it, is back and alone.
    await eventually(async () => (await rig.admin.pubsub('CHANNELS')).length > 0)
    await rig.heard(NAME, 0)
    expect(await rig.admin.pubsub('CHANNELS')).toHaveLength(1)
    await rig.admin.del(NAME)
  })
})

describe('how many heard a message', () => {
  // The number is wrong where a replica or another node has the subscriber. A client that has passed a lock on takes it
  // as a hint to stand back: without it the others have the chance that they have without passing.
  it('is asked by grants and releases alone, where a wrong number costs no wake-up', () => {
    const publishing = /redis\.p?call\((ARGV\[\d+\]|command|'s?publish')|\bpublish\(/i
    // A statement of its own: nothing takes what it gives.
    const isTold = /^(local function .*|publish\(.*\))$/
    const lines = Object.values(luaSources).flatMap((lua) => lua.split('\n').map((line) => line.trim()))
    const calls = lines.filter((line) => publishing.test(line) && !isTold.test(line))
    expect([...new Set(calls)].sort()).toEqual([
      // Readers that are told to look, for the writer that stands back.
      "local heard = publish(command, channel, '1')",
      // A grant that nobody could be told of is taken back.
      "local isTold = publish('publish', inbox, '2:grant:' .. redis.sha1hex(nonce .. told .. nonce) .. ':' .. told)",
      "return 4 + (publish(ARGV[7], ARGV[6], '0') or 0)",
      "return 4 + (tonumber(redis.pcall(ARGV[7], ARGV[6], '0')) or 0)",
      // Whether this user may publish.
      "return publish(ARGV[2], ARGV[1], '0') and 1 or 2",
      'return tonumber(redis.pcall(command, channel, message))',
    ])
  })

  it('changes no answer: a release is a release with no, one and several subscribers', async () => {
    const locks = await rig.client()
    const listeners: Redis[] = []
    for (let count = 0; count < 3; count += 1) {
      const hold = await locks.getLock(NAME).acquire()
      expect(await hold.release()).toBe('released')
      expect(await rig.listeners(CHANNEL)).toBe(count)
      const listener = rig.connection()
      await listener.subscribe(CHANNEL)
      listeners.push(listener)
    }
  })
})
