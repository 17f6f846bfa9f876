import { describe, expect, it } from '@jest/globals'
import { seededRandom } from '@holdfast/faults/harness'
import { InvalidArgumentError } from '../../../src/index.js'
import { nextEvent, outcomeOf, waitBehind } from '../support/outcomes.js'
import { MessageLog } from '../support/message-log.js'
import { channelOf, soon, useRig } from '../support/rig.js'

const rig = useRig()
// Nothing but a message can end a wait soon.
const deaf = { resyncInterval: 20_000 }

const chosen = [
  // One character each.
  ...Array.from('"\\\'\u0000\n\u2028 {}🔒\ufeff\u202e0'),
  ...'*?[a] __proto__ constructor {} }{ a{b}c {{a}} {a a} {}{a} größe -1 null'.split(' '),
  ...['a\u0000b', 'a\r\nb', 'e\u0301', 'half \ud800 pair', '\udc00', '\udc00\ud800', '\ufffd-'],
  ...['redisson_lock__channel:{x}', 'holdfast:latch:{x}:a~1:1', 'holdfast:probe:{x}', 'holdfast:client:a~1'],
  'x'.repeat(1_024),
]

const PIECES = [...Array.from('{}:\u0000\n aZ7ß☃😀\u0301%'), '\ud83d', '\ude00']

function randomName(random: () => number): string {
  const length = 1 + Math.floor(random() ** 3 * 40)
  return Array.from({ length }, () => PIECES[Math.floor(random() * PIECES.length)]).join('')
}

const random = seededRandom(1).next
const all = [...new Set([...chosen, ...Array.from({ length: 60 }, () => randomName(random))])]

describe('a name of any kind', () => {
  it.each([
    ['without a prefix', ''],
    ['behind a prefix with a hash tag', 'app{1}:'],
    ['behind a prefix that UTF-8 cannot say', 'half\ud800:'],
  ])('excludes another client and wakes it, %s (I1, I4)', async (_how, keyPrefix) => {
    const [one, other] = [
      await rig.client(deaf, rig.connection({ keyPrefix })),
      await rig.client(deaf, rig.connection({ keyPrefix })),
    ]
    for (const name of all) {
      const raw = Buffer.from(keyPrefix + name)
      const hold = await one.getLock(name).acquire()
      expect(await rig.admin.hgetall(raw)).toEqual({ [hold.owner]: '1' })
      expect(await other.getLock(name).tryLock()).toBe(false)
      const { waiting } = await waitBehind(rig, raw.toString(), () => other.getLock(name).acquire())
      expect(await hold.release()).toBe('released')
      const next = await soon(waiting)
      await next.verify()
      expect(await next.release()).toBe('released')
      expect(await rig.keysLeft()).toEqual([])
    }
  })

  it('travels in batches with all the others, and re-enters (I2)', async () => {
    const locks = await rig.client()
    const thread = locks.thread()
    // Two names are one lock where they are the same to Redis.
    const byRawName = new Map(all.map((name) => [Buffer.from(name).toString(), name]))
    const distinct = [...byRawName.values()]
    const log = await MessageLog.open(rig.connection(), rig.admin)
    const holds = await Promise.all(distinct.map((name) => thread.getLock(name).lock()))
    await Promise.all(distinct.map((name) => thread.getLock(name).lock()))
    expect(await rig.admin.dbsize()).toBe(distinct.length)
    for (const [i, name] of distinct.entries()) {
      expect(await rig.admin.hgetall(Buffer.from(name))).toEqual({ [holds[i]!.owner]: '2' })
    }
    await Promise.all(distinct.map((name) => thread.getLock(name).unlock()))
    await Promise.all(distinct.map((name) => thread.getLock(name).unlock()))
    expect(await rig.admin.dbsize()).toBe(0)
    const told = (await log.take()).map(([channel]) => channel)
    expect(told.sort()).toEqual([...byRawName.keys()].map(channelOf).sort())
  })

  it('a name of any kind that is the same to Redis is the same lock here: re-entered, and lost by force (I1)', async () => {
    const [locks, others] = [await rig.client(), await rig.client(deaf)]
    await locks.run(async () => {
      const outer = await locks.getLock('half \ud800').lock()
      const inner = await locks.getLock('half \udc00').lock()
      expect(inner.owner).toBe(outer.owner)
      expect(await rig.admin.hgetall('half \ufffd')).toEqual({ [outer.owner]: '2' })
      const lost = nextEvent(locks, 'lost')
      expect(await others.getLock('half \ufffd').forceUnlock()).toBe(true)
      expect((await lost).error).toMatchObject({ reason: 'forced' })
    })
  })

  it('a name of any kind of a client that UTF-8 cannot say: its holds are found, and hear of a forceUnlock (I1)', async () => {
    const locks = await rig.client({ clientName: 'half \ud800' })
    const hold = await locks.getLock('order:42').acquire()
    await hold.verify()
    expect(hold.owner.startsWith('half \ufffd~')).toBe(true)
    const lost = nextEvent(locks, 'lost')
    await (await rig.client()).getLock('order:42').forceUnlock()
    expect((await lost).error).toMatchObject({ reason: 'forced' })
  })

  it('may have 1,024 bytes of UTF-8 and not one more', async () => {
    const locks = await rig.client()
    for (const piece of ['a', 'ß', '☃', '😀', '\ud800']) {
      const bytes = Buffer.byteLength(piece)
      const longest = piece.repeat(Math.floor(1_024 / bytes)) + 'x'.repeat(1_024 % bytes)
      expect(Buffer.byteLength(longest)).toBe(1_024)
      expect(await locks.getLock(longest).withLock(() => 'done')).toBe('done')
      const error = await outcomeOf(Promise.resolve().then(() => locks.getLock(`${longest}x`)))
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'name' })
      expect((error as Error).message).toMatch(
        /^name must be at most 1024 bytes of UTF-8: use a hash of it; got a string of \d+ /,
      )
    }
  })
})

describe('a name that looks like something inside', () => {
  it('a name that looks like something inside of a read or write lock is a lock of its own: a caller that reads takes it, and excludes others (I1)', async () => {
    const [locks, others] = [await rig.client(deaf), await rig.client(deaf)]
    const around = locks.getReadWriteLock('x')
    for (const [mode, held] of [
      ['read', around.readLock()],
      ['write', around.writeLock()],
    ] as const) {
      await locks.run(async () => {
        const outer = await held.acquire()
        const hold = await locks.getLock(`${mode}:x`).acquire()
        expect([outer.count, hold.count]).toEqual([1, 1])
        expect(await others.getLock(`${mode}:x`).tryLock()).toBe(false)
        await hold.release()
        await outer.release()
      })
    }
  })

  it('a name that looks like something inside of a line of siblings is a lock of its own: who waits for it holds up none of them (I7)', async () => {
    const [locks, others] = [await rig.client(deaf), await rig.client(deaf)]
    const names = ['turn', 'reenter'].flatMap((line) => [...Array(20).keys()].map((i) => `${line}:${i}`))
    const held = await Promise.all(names.map((name) => others.getLock(name).acquire()))
    const waits = names.map((name) => locks.getLock(name).withLock(() => undefined))
    const lock = locks.getLock('y')
    await lock.withLock(() => Promise.all([lock.withLock(() => undefined), lock.withLock(() => undefined)]))
    await Promise.all(held.map((hold) => hold.release()))
    await soon(Promise.all(waits))
  })
})
