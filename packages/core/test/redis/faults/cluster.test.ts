import { describe, expect, it } from '@jest/globals'
import { getElection } from '../../../src/entries/election/index.js'
import { InvalidArgumentError, type LockClient, type LockTimeoutError } from '../../../src/index.js'
import { exclusive } from '../../../src/entries/schedule/index.js'
import { getShare } from '../../../src/entries/share/index.js'
import { nextLoss, outcomeOf, renewed } from '../support/outcomes.js'
import { useClusterRig } from '../support/cluster-rig.js'
import { lockKinds } from '../support/lock-kinds.js'
import { eventually, own, signalled, soon } from '../support/rig.js'

const NAME = 'order:42'
const CHANNEL = `redisson_lock__channel:{${NAME}}`

/** Names in as many slots. */
const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `order:${i}`)

describe('on a Redis Cluster', () => {
  const rig = useClusterRig({ replicasPerPrimary: 0, nodeTimeoutMs: 15_000 })
  const one = own(() => rig.client())
  const other = own(() => rig.client())

  it.each(lockKinds)('$name: whoever waits is woken by the release, without any tick (I4)', async (kind) => {
    const parked = signalled()
    other.on('waiting', () => parked.resolve())
    const hold = await kind.of(one, NAME).acquire()
    const waiting = kind.rivalOf(other, NAME).acquire()
    await soon(parked.promise)
    const [channel] = kind.saidByRelease(NAME)[0] ?? []
    if (channel) {
      await eventually(async () => (await rig.listening(channel, 'SHARDNUMSUB')).length === 1)
    }
    await hold.release()
    await (await soon(waiting)).release()
  })

  it.each([
    ['auto', 'SHARDNUMSUB'],
    ['off', 'NUMSUB'],
  ] as const)(
    'shardedPubSub %s: a keyPrefix in redisOptions is part of the name, and waiters are woken (I4)',
    async (shardedPubSub, kind) => {
      const opened = [1, 2].map(() =>
        rig.client(
          { shardedPubSub, pushedGrants: false },
          rig.connection({ redisOptions: { keyPrefix: 'app:' } }),
        ),
      )
      const [one, other] = (await Promise.all(opened)) as [LockClient, LockClient]
      const hold = await one.getLock(NAME).acquire()
      const waiting = other.getLock(NAME).acquire()
      // node-redis has a prefix since 6.
      const channels = [CHANNEL, `redisson_lock__channel:{app:${NAME}}`]
      await eventually(async () => {
        const there = await Promise.all(channels.map((each) => rig.listening(each, kind)))
        return there.flat().length === 1
      })
      await hold.release()
      await (await soon(waiting)).release()
    },
  )

  it.each([
    ['auto', 'SHARDNUMSUB', 'NUMSUB'],
    ['on', 'SHARDNUMSUB', 'NUMSUB'],
    ['off', 'NUMSUB', 'SHARDNUMSUB'],
  ] as const)(
    'shardedPubSub %s: a waiter listens at one node, by %s',
    async (shardedPubSub, kind, otherKind) => {
      const [one, other] = await Promise.all([rig.client({ shardedPubSub }), rig.client({ shardedPubSub })])
      const hold = await one.getLock(NAME).acquire()
      const waiting = other.getLock(NAME).acquire()
      await eventually(async () => (await rig.listening(CHANNEL, kind)).length === 1)
      expect(await rig.listening(CHANNEL, otherKind)).toEqual([])
      if (kind === 'SHARDNUMSUB') {
        expect(await rig.listening(CHANNEL, kind)).toEqual([await rig.primaryOf(NAME)])
      }
      await hold.release()
      await (await soon(waiting)).release()
      await eventually(async () => (await rig.listening(CHANNEL, kind)).length === 0)
    },
  )

  it('what comes before the first answer of the cluster is announced as it is decided then', async () => {
    const other = await rig.client()
    const waiting = other.getLock(NAME)
    const hold = await (await rig.client()).getLock(NAME).acquire()
    const next = waiting.acquire()
    await eventually(async () => (await rig.listening(CHANNEL, 'SHARDNUMSUB')).length === 1)
    const early = rig.clientNow()
    expect(await early.getLock(NAME).forceUnlock()).toBe(true)
    await (await soon(next)).release()
    expect(await hold.release()).toBe('lost')
  })

  it('a hold that is released by force is told of it, whichever node its lock is on', async () => {
    for (const name of names(6)) {
      const told = nextLoss(one)
      const hold = await one.getLock(name).acquire()
      await other.getLock(name).forceUnlock()
      expect((await told).event).toMatchObject({ owner: hold.owner, error: { reason: 'forced' } })
      await hold.release()
    }
  })

  it('a latch whose name has braces opens for whoever waits, though Redisson’s channel is in another slot', async () => {
    const name = 'group{a}:latch'
    await one.getCountDownLatch(name).trySetCount(1)
    const open = other.getCountDownLatch(name).await()
    const channel = `redisson_countdownlatch__channel__{${name}}`
    await eventually(async () => (await rig.listening(channel, 'NUMSUB')).length === 1)
    await one.getCountDownLatch(name).countDown()
    expect(await soon(open)).toBe(true)
  })

  const braces = ['{', '}', '}{', '{}', 'a{b', 'a}b', 'a{}b', '{}{x}', '{a', 'a}', 'path/{id', '{}}']
  it('a name with a brace that is no hash tag is refused, with the way out', async () => {
    for (const name of braces) {
      const kinds: (() => unknown)[] = [
        ...lockKinds.map((kind) => () => kind.of(one, name)),
        () => one.getSemaphore(name),
        () => one.getPermitExpirableSemaphore(name),
        () => one.getCountDownLatch(name),
        () => one.getMultiLock(one.getLock('a'), one.getLock(name)),
        () => getElection(one, name),
      ]
      for (const make of kinds) {
        expect(make).toThrow(InvalidArgumentError)
        expect(make).toThrow(
          /^name must be on a cluster without braces, or with a hash tag.*encodeURIComponent/,
        )
      }
      const task = exclusive(name, { locks: one }, () => undefined)
      await expect(task()).rejects.toMatchObject({ argument: 'name' })
      expect(await one.getLock(encodeURIComponent(name)).withLock(() => 'in')).toBe('in')
    }
  })

  it('a name with a hash tag works', async () => {
    for (const name of ['{a}b', '{{a}}', 'a:{b}:c:{d}', 'json:{"id":42}', 'x{y}z{', '}{a}', 'ä{ö}']) {
      for (const kind of lockKinds) await (await kind.of(one, name).acquire()).release()
    }
  })

  it('a keyPrefix with a hash tag makes all names work, and one with a lone brace none', async () => {
    const tagged = await rig.client({}, rig.connection({ keyPrefix: '{tenant}:' }))
    expect(await tagged.getLock('a{b').withLock(() => 'in')).toBe('in')
    const lone = await rig.client({}, rig.connection({ keyPrefix: 'tenant{' }))
    expect(() => lone.getLock('a')).toThrow(InvalidArgumentError)
  })

  it('the keys of a share are those of users: any braces do, and each key has a result of its own', async () => {
    for (const name of ['pages', 'a{b', '%7B']) {
      const keys = ['%7B', 'x', '{a}', '}:{', ...braces]
      const shares = [
        getShare<string>(one, name, { keepMs: 60_000 }),
        getShare<string>(other, name, { keepMs: 60_000 }),
      ]
      for (const key of keys) {
        await shares[0]!.run(key, () => `${name} ${key}`)
      }
      for (const key of keys) {
        expect(await shares[1]!.run(key, () => 'of nobody')).toBe(`${name} ${key}`)
        await shares[1]!.invalidate(key)
      }
    }
  })

  it('a permit that comes back wakes who waits for one', async () => {
    const semaphore = one.getSemaphore('tickets')
    await semaphore.trySetPermits(1)
    await semaphore.acquire()
    const permit = other.getSemaphore('tickets').acquire()
    await eventually(async () => (await rig.listening('redisson_sc:{tickets}', 'SHARDNUMSUB')).length === 1)
    await semaphore.release()
    await soon(permit)
    await (await rig.primaryOf('tickets')).command('DEL', 'tickets')
  })

  it('what travels together is of one slot: a script for each', async () => {
    const acquireAll = (all: readonly string[]) => Promise.all(all.map((name) => one.getLock(name).acquire()))
    const together = names(30).map((name) => `{tenant}:${name}`)
    const apart = names(30)
    const slots = new Set(apart.map((name) => rig.slotOf(name))).size
    // The first batch of all has to be loaded by every node.
    const warm = await Promise.all([acquireAll(together), acquireAll(apart)])
    await Promise.all(warm.flat().map((hold) => hold.release()))
    await rig.scriptsSent()
    const holds = await acquireAll(together)
    expect(await rig.scriptsSent()).toBe(1)
    holds.push(...(await acquireAll(apart)))
    expect(await rig.scriptsSent()).toBe(slots)
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('leases are renewed slot by slot, and one that is gone harms no other', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 3_000 })
    const all = [...names(20), ...names(20).map((name) => `{tenant}:${name}`)]
    const holds = await Promise.all(all.map((name) => locks.getLock(name).acquire()))
    const told = nextLoss(locks)
    await (await rig.primaryOf('order:7')).command('DEL', 'order:7')
    const others = holds.filter(({ lockName }) => lockName !== 'order:7')
    const [{ event }] = await Promise.all([told, ...others.map(renewed)])
    expect(event).toMatchObject({ lockName: 'order:7', error: { reason: 'gone' } })
    expect(holds.filter((hold) => hold.isLost)).toHaveLength(1)
    const outcomes = await Promise.all(holds.map((hold) => hold.release()))
    expect(outcomes.filter((outcome) => outcome !== 'released')).toEqual(['lost'])
  })

  it('inspectAll() asks every primary; a name whose keys are in two slots is left out', async () => {
    const locks = await rig.client({ describeHolds: true })
    const held = names(30)
    const holds = await Promise.all(held.map((name) => locks.getLock(name).acquire()))
    const owners = new Set(await Promise.all(held.map((name) => rig.primaryOf(name))))
    expect(owners.size).toBeGreaterThan(1)
    const connection = rig.connection()
    await connection.hset('x{y', 'page:7', '1')
    await connection.pexpire('x{y', 60_000)
    const { locks: found, complete } = await locks.inspectAll()
    expect(complete).toBe(true)
    expect(found.map(({ name }) => name).sort()).toEqual(held.sort())
    await connection.del('x{y')
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('a note is in the slot of its lock, and goes with the hold, whatever the kind', async () => {
    const [locks, others] = [await rig.client({ describeHolds: true }), await rig.client()]
    for (const lockOf of [
      (client: typeof locks) => client.getLock('order:42'),
      (client: typeof locks) => client.getFairLock('a{order}b'),
      (client: typeof locks) => client.getFencedLock('order:43'),
      (client: typeof locks) => client.getReadWriteLock('order:44').writeLock(),
    ]) {
      const hold = await lockOf(locks).acquire()
      const error = (await outcomeOf(lockOf(others).acquire({ waitMs: 0 }))) as LockTimeoutError
      expect(error.holder?.heldForMs).toBeGreaterThanOrEqual(0)
      expect(await lockOf(others).inspect()).toMatchObject({ holders: [{ owner: hold.owner }] })
      await hold.release()
    }
  })
})
