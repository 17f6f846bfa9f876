import { beforeEach, describe, expect, it } from '@jest/globals'
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { permitsChannel, permitTimeouts } from '../../../src/keys.js'
import { cancel } from '../../../src/scripts/counter.js'
import { release as endTerm } from '../../../src/entries/election/scripts.js'
import { acquire as acquireFair, fairLine, release as releaseFair } from '../../../src/scripts/fair-lock.js'
import { acquireFencedCall } from '../../../src/scripts/fenced-lock.js'
import { acquireExpirable, cancelExpirable } from '../../../src/scripts/permit-semaphore.js'
import {
  acquireRead,
  readWriteKeys,
  releaseRead,
  shortenRead,
  shortenWrite,
  acquireWrite,
  releaseWrite,
} from '../../../src/scripts/read-write-lock.js'
import { shorten } from '../../../src/scripts/lock.js'
import { acquirePermits } from '../../../src/scripts/semaphore.js'
import { CHANNEL, TOMBSTONE, LEASE_MS, NAME, OWNER, plainScripts, stamp } from '../support/plain-scripts.js'
import { own, useRig } from '../support/rig.js'

const rig = useRig()
const runner = own(() => rig.runner())
// The counter of the fenced lock stays.
beforeEach(() => rig.atEnd(() => rig.admin.del('token')))

type Stamp = ReturnType<typeof stamp>

/** The scripts of one kind of lock, as the client runs them: the one that takes it, and the one that undoes that. */
interface Kind {
  readonly scripts: readonly string[]
  acquire(stamp: Stamp): Promise<unknown>
  release(stamp: Stamp, holds: number): Promise<unknown>
}

interface LockKind extends Kind {
  shorten(stamp: Stamp, leaseMs: number | null): Promise<unknown>
}

const { acquireAs, releaseAs } = plainScripts(() => runner)
const keys = readWriteKeys(NAME, NAME)
const lock = { tombstoneKey: TOMBSTONE, owner: OWNER, holds: 1, leaseMs: LEASE_MS }
const line = fairLine({ lockName: NAME, key: NAME }, 300_000, false)
const alive = {
  clientId: 'a~1',
  aliveForMs: 60_000,
  hears: true,
  takesGrants: true,
  passesOn: true,
  nonce: '0f',
}
const operationOf = ({ sequence, tombstoneThrough }: Stamp) => ({
  lockName: NAME,
  key: NAME,
  timeoutsKey: permitTimeouts(NAME),
  channel: permitsChannel(NAME),
  stamp: { key: TOMBSTONE, number: sequence, floor: tombstoneThrough },
})

const toShorten = (stamp: Stamp, leaseMs: number | null) => ({
  ...lock,
  lockName: NAME,
  key: NAME,
  stamp,
  leaseMs,
})
const shortenPlain: LockKind['shorten'] = (...given) => shorten(runner, toShorten(...given))

const kinds: Record<string, LockKind> = {
  lock: {
    scripts: ['lock/acquire', 'lock/release', 'lock/shorten'],
    shorten: shortenPlain,
    acquire: (stamp) => acquireAs({ stamp }),
    release: (stamp, holds) => releaseAs({ stamp, holds, channel: CHANNEL }),
  },
  'fenced lock': {
    scripts: ['fenced-lock/acquire', 'lock/release', 'lock/shorten'],
    shorten: shortenPlain,
    acquire: (stamp) => {
      const token = { tokenKey: 'token', tokens: 'counter', tokenTtlMs: undefined } as const
      return runner.run(acquireFencedCall({ ...lock, ...token, lockName: NAME, key: NAME, stamp }))
    },
    release: (stamp, holds) => releaseAs({ stamp, holds }),
  },
  'fair lock': {
    scripts: ['fair-lock/acquire', 'fair-lock/release', 'lock/shorten'],
    shorten: shortenPlain,
    acquire: (stamp) => acquireFair(runner, { ...lock, line, stamp, alive, arrival: '0' }),
    release: (stamp, holds) => releaseFair(runner, { ...lock, line, stamp, holds, passedTo: [] }),
  },
  election: {
    scripts: ['fair-lock/acquire', 'election/release', 'lock/shorten'],
    shorten: shortenPlain,
    acquire: (stamp) => acquireFair(runner, { ...lock, line, stamp, alive, arrival: '0' }),
    release: (stamp, holds) =>
      holds > 0
        ? releaseFair(runner, { ...lock, line, stamp, holds, passedTo: [] })
        : endTerm(runner, {
            ...lock,
            lockName: NAME,
            key: NAME,
            stamp,
            successor: '',
            patienceMs: 300_000,
            isNoted: false,
          }),
  },
  'read lock': {
    scripts: ['read-lock/acquire', 'read-lock/release', 'read-lock/shorten'],
    shorten: (...given) => shortenRead(runner, toShorten(...given)),
    acquire: (stamp) => acquireRead(runner, { ...lock, keys, stamp, besideOwner: '', standsBack: false }),
    release: (stamp, holds) => releaseRead(runner, { ...lock, keys, stamp, holds }),
  },
  'write lock': {
    scripts: ['write-lock/acquire', 'write-lock/release', 'write-lock/shorten'],
    shorten: (...given) => shortenWrite(runner, toShorten(...given)),
    acquire: (stamp) => acquireWrite(runner, { ...lock, keys, stamp, announceForMs: 0 }),
    release: (stamp, holds) => releaseWrite(runner, { ...lock, keys, stamp, holds }),
  },
}

/** Not the scripts of a kind of lock: `travel-replay.test.ts` and `share-wire.test.ts` have their late copies. */
const OF_ENTRIES = ['share/enter', 'share/finish', 'travel/adopt', 'travel/hand-over']

/** For these, the operations of a client stand for the tombstone. */
const counters: Record<string, Kind> = {
  semaphore: {
    scripts: ['semaphore/acquire', 'counter/cancel'],
    acquire: (stamp) => acquirePermits(runner, { ...operationOf(stamp), permits: 1 }),
    release: (stamp) => cancel(runner, { ...operationOf(stamp), unit: 1 }),
  },
  'permit-expirable semaphore': {
    scripts: ['permit-semaphore/acquire', 'permit-semaphore/cancel'],
    acquire: (stamp) =>
      acquireExpirable(runner, { ...operationOf(stamp), ids: ['00'.repeat(16)], leaseMs: LEASE_MS }),
    release: (stamp) => cancelExpirable(runner, { ...operationOf(stamp), ids: ['00'.repeat(16)] }),
  },
}

const strangers: [string, () => Promise<unknown>][] = [
  ['a string', () => rig.admin.set(NAME, 'mine')],
  ['a list', () => rig.admin.rpush(NAME, 'mine')],
]

const quietly = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)

/** Only the tombstone, and the counter of the fenced lock, may be there. */
const expectFree = async (): Promise<void> => {
  expect(await rig.admin.exists(NAME)).toBe(0)
  expect(Object.keys(await rig.contents()).filter((key) => key !== TOMBSTONE)).toEqual([])
}

describe('something of another type has the name of the lock while it is released', () => {
  const cases = Object.entries(kinds).flatMap(([name, kind]) =>
    strangers.flatMap(([what, put]) => [0, 1].map((holds) => [name, what, holds, kind, put] as const)),
  )

  it.each(cases)('%s, %s, down to %i: a late copy of the acquire takes nothing', async (...each) => {
    const [, , holds, kind, put] = each
    await put()
    await quietly(kind.release(stamp(2, 1), holds))
    await rig.admin.del(NAME)
    expect(await kind.acquire(stamp(1))).toEqual({ kind: 'superseded' })
    await expectFree()
    expect(await rig.admin.get(TOMBSTONE)).toBe('1')
    expect(await rig.admin.pttl(TOMBSTONE)).toBeGreaterThan(60_000)
  })

  it.each(Object.entries(kinds))('%s: so does a copy of an acquire that met it', async (_name, kind) => {
    await rig.admin.set(NAME, 'mine')
    await expect(kind.acquire(stamp(3, 2))).rejects.toMatchObject({ code: 'WRONG_TYPE' })
    await quietly(kind.release(stamp(4, 3), 0))
    await rig.admin.del(NAME)
    for (const sequence of [1, 2, 3]) {
      expect(await kind.acquire(stamp(sequence))).toEqual({ kind: 'superseded' })
    }
    await expectFree()
  })

  it.each(Object.entries(kinds))('%s: out of memory the tombstone is written', async (_name, kind) => {
    await rig.admin.set(NAME, 'mine')
    await rig.outOfMemory(() => quietly(kind.release(stamp(2, 1), 0)))
    await rig.admin.del(NAME)
    expect(await kind.acquire(stamp(1))).toEqual({ kind: 'superseded' })
    await expectFree()
  })

  it.each(Object.entries(counters))('%s: a cancelled operation takes nothing', async (_name, kind) => {
    await rig.admin.hset(NAME, 'mine', 1)
    await quietly(kind.release(stamp(1), 0))
    await rig.admin.del(NAME)
    await rig.admin.set(NAME, '5')
    expect(await kind.acquire(stamp(1))).toMatchObject({ kind: 'over' })
    expect(await rig.admin.getdel(NAME)).toBe('5')
  })
})

describe('the tombstone', () => {
  it.each(Object.entries(kinds))(
    '%s: is written out of memory when the lock is released',
    async (...each) => {
      const [, kind] = each
      expect(await kind.acquire(stamp(1))).toMatchObject({ kind: 'acquired' })
      await rig.outOfMemory(async () => {
        expect(await kind.release(stamp(3, 2), 1)).toEqual({ kind: 'still-held' })
        expect(await kind.release(stamp(4, 3), 0)).toMatchObject({ kind: 'released' })
      })
      expect(await rig.admin.get(TOMBSTONE)).toBe('3')
      expect(await rig.admin.exists(NAME)).toBe(0)
    },
  )

  it.each(Object.entries(kinds))('%s: refuses nothing where it is no number', async (_name, kind) => {
    await rig.admin.set(TOMBSTONE, 'someone else’s')
    expect(await kind.acquire(stamp(1))).toMatchObject({ kind: 'acquired' })
    expect(await kind.release(stamp(2), 1)).toEqual({ kind: 'still-held' })
    expect(await kind.release(stamp(3), 0)).toMatchObject({ kind: 'released' })
  })

  it.each(Object.entries(kinds))('%s: refuses late copies of what shortens a lease', async (_name, kind) => {
    await kind.acquire(stamp(1))
    await rig.outOfMemory(async () => expect(await kind.shorten(stamp(3, 2), null)).toBe('shortened'))
    expect(await kind.shorten(stamp(2), 1)).toBe('superseded')
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(1_000)
    expect(await kind.shorten(stamp(4), 10_000)).toBe('shortened')
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(10_000)
    expect(await kind.release(stamp(5), 0)).toMatchObject({ kind: 'released' })
    expect(await kind.shorten(stamp(6), 1_000)).toBe('lost')
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it('no script that has one is forgotten here', () => {
    const texts = ['scripts', 'entries'].flatMap((room) => {
      const folder = fileURLToPath(new URL(`../../../src/${room}/`, import.meta.url))
      return readdirSync(folder, { recursive: true })
        .map(String)
        .filter((file) => file.endsWith('.lua') && !file.endsWith('.part.lua'))
        .map((file) => [file.slice(0, -'.lua'.length), readFileSync(folder + file, 'utf8')] as const)
    })
    const names = texts.map(([name]) => name)
    const guarded = texts
      .filter(([, text]) => /tombstone of this owner|insert tombstone/.test(text))
      .map(([name]) => name)
    const cancelling = names.filter((name) => name.endsWith('/cancel'))
    const tested = (table: Record<string, Kind>): Set<string> =>
      new Set(Object.values(table).flatMap(({ scripts }) => scripts))
    expect([...tested(kinds), ...OF_ENTRIES].sort()).toEqual(guarded.sort())
    expect([...tested(counters)].filter((name) => name.endsWith('/cancel')).sort()).toEqual(cancelling.sort())
  })
})
