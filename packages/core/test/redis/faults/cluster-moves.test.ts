import { describe, expect, it } from '@jest/globals'
import type { RedisServer } from '@holdfast/faults/harness'
import type { Hold, Lock } from '../../../src/index.js'
import { useClusterRig } from '../support/cluster-rig.js'
import { nextLoss } from '../support/outcomes.js'
import { eventually, sleep, soon } from '../support/rig.js'

const NAME = 'order:42'
const CHANNEL = `redisson_lock__channel:{${NAME}}`
const WAITERS = 50
const FAIL_OVER_MS = 20_000
// A lease that no wait may sit out, and no tick but one a second.
const PATIENT = { lockWatchdogTimeout: 120_000, resyncInterval: 1_000, unavailableTimeoutMs: 30_000 }

describe('a cluster that changes', () => {
  const rig = useClusterRig({ replicasPerPrimary: 1 })

  /** Each takes the lock once and releases it; how many ever had it at a time, at most. */
  const takeTurns = (lock: Lock, callers: number) => {
    const seen = { most: 0, now: 0, passed: 0 }
    const turns = Array.from({ length: callers }, async () => {
      const hold = await lock.acquire()
      seen.now += 1
      seen.most = Math.max(seen.most, seen.now)
      await new Promise((resolve) => setImmediate(resolve))
      seen.now -= 1
      seen.passed += 1
      await hold.release()
    })
    return { seen, done: Promise.all(turns) }
  }
  const nameElsewhere = async (than: RedisServer): Promise<string> => {
    for (let i = 0; ; i += 1) {
      if ((await rig.primaryOf(`elsewhere:${i}`)) !== than) {
        return `elsewhere:${i}`
      }
    }
  }
  const namesAt = async (node: RedisServer, count: number): Promise<string[]> => {
    const names: string[] = []
    for (let i = 0; names.length < count; i += 1) {
      if ((await rig.primaryOf(`here:${i}`)) === node) {
        names.push(`here:${i}`)
      }
    }
    return names
  }
  const heldAndAwaited = async () => {
    const [locks, others] = await Promise.all([rig.client(PATIENT), rig.client(PATIENT)])
    const hold = await locks.getLock(NAME).acquire()
    const waits = takeTurns(others.getLock(NAME), WAITERS)
    await eventually(async () => (await rig.listening(CHANNEL, 'SHARDNUMSUB')).length === 1)
    return { hold, others, waits }
  }

  it('the slot of a hot lock moves while fifty wait for it: nobody waits for its lease (I4)', async () => {
    const { hold, waits } = await heldAndAwaited()
    await rig.cluster.migrateSlot(rig.slotOf(NAME), await rig.anotherPrimary(NAME))
    expect(await hold.release()).toBe('released')
    await soon(waits.done, FAIL_OVER_MS)
    expect(waits.seen).toEqual({ most: 1, now: 0, passed: WAITERS })
  })

  it('after a slot has moved messages are heard from its new owner, without a tick (I4)', async () => {
    const [locks, others] = await Promise.all([rig.client(), rig.client({ resyncInterval: 1_000 })])
    const hold = await locks.getLock(NAME).acquire()
    const waiting = others.getLock(NAME).acquire()
    await eventually(async () => (await rig.listening(CHANNEL, 'SHARDNUMSUB')).length === 1)
    const to = await rig.anotherPrimary(NAME)
    await rig.cluster.migrateSlot(rig.slotOf(NAME), to)
    await eventually(async () => (await rig.listening(CHANNEL, 'SHARDNUMSUB')).includes(to))
    expect(await hold.release()).toBe('released')
    await (await soon(waiting)).release()
  })

  it('those who leave while a slot of their node moves leave no subscription (I8)', async () => {
    const [locks, others] = await Promise.all([rig.client(PATIENT), rig.client(PATIENT)])
    const from = await rig.primaryOf(NAME)
    const names = await namesAt(from, 60)
    const holds = await Promise.all([NAME, ...names].map((name) => locks.getLock(name).acquire()))
    const waits = [NAME, ...names].map((name) => {
      const aborting = new AbortController()
      const done = others.getLock(name).acquire({ signal: aborting.signal })
      return { name, leave: () => aborting.abort('enough'), done: done.catch((error: unknown) => error) }
    })
    const channelsOf = async (): Promise<number> =>
      ((await from.command('PUBSUB', 'SHARDCHANNELS')) as unknown[]).length
    await eventually(async () => (await channelsOf()) === waits.length)
    const [moving, ...leaving] = waits
    await rig.cluster.migrateSlot(rig.slotOf(NAME), await rig.anotherPrimary(NAME))
    for (const wait of leaving) {
      // One after the other, while the client finds out: some of them between two looks.
      await sleep(3)
      wait.leave()
      expect(await wait.done).toBe('enough')
    }
    await Promise.all(holds.map((hold) => hold.release()))
    await (await soon(moving!.done as Promise<Hold>)).release()
    await eventually(async () => (await channelsOf()) === 0)
  })

  it('while its slot is on its way a lock can be neither had nor lost (TRYAGAIN), and afterwards it can', async () => {
    const locks = await rig.client(PATIENT)
    const held = await locks.getLock('held{order:42}').acquire()
    const migration = await rig.cluster.beginMigration(rig.slotOf(NAME), await rig.anotherPrimary(NAME))
    const waits = takeTurns(locks.getLock(NAME), 10)
    const impatient = locks.getLock('another{order:42}').tryAcquire({ waitMs: 500 })
    await expect(impatient).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    await migration.moveKeys()
    await held.verify()
    await migration.finish()
    await soon(waits.done, FAIL_OVER_MS)
    expect(waits.seen).toEqual({ most: 1, now: 0, passed: 10 })
    expect(await held.release()).toBe('released')
  })

  it('a planned fail-over loses nothing: the holder keeps it, and whoever waits gets it (I1, I4)', async () => {
    const { hold, others, waits } = await heldAndAwaited()
    const former = await rig.primaryOf(NAME)
    const [replica] = await rig.cluster.replicasOf(former)
    await rig.cluster.healReplication()
    await rig.cluster.failOver(replica as RedisServer)
    await hold.verify()
    expect(await others.getLock(NAME).tryLock()).toBe(false)
    expect(await hold.release()).toBe('released')
    await soon(waits.done, FAIL_OVER_MS)
    expect(waits.seen).toEqual({ most: 1, now: 0, passed: WAITERS })
  })

  it('a primary that is killed: whoever waits gets in, and the holder learns whether its lock is still there (I1, I4)', async () => {
    const { hold, waits } = await heldAndAwaited()
    const former = await rig.primaryOf(NAME)
    await rig.cluster.healReplication()
    await former.kill()
    await rig.cluster.newPrimaryOf(rig.slotOf(NAME), former)
    await hold.verify()
    expect(await hold.release()).toBe('released')
    await soon(waits.done, FAIL_OVER_MS)
    expect(waits.seen).toEqual({ most: 1, now: 0, passed: WAITERS })
    await former.restart()
    await rig.cluster.healReplication()
  })

  it('a primary that is killed before its replica had the lock: the holder is told as soon as there is another (I1)', async () => {
    const locks = await rig.client({ ...PATIENT, lockWatchdogTimeout: 300_000 })
    const changes: number[] = []
    locks.on('primary-changed', ({ doubted }) => changes.push(doubted))
    const former = await rig.primaryOf(NAME)
    await rig.cluster.cutReplication(former)
    const told = nextLoss(locks, FAIL_OVER_MS)
    const hold = await locks.getLock(NAME).acquire()
    const elsewhere = await locks.getLock(await nameElsewhere(former)).acquire()
    await former.kill()
    await rig.cluster.newPrimaryOf(rig.slotOf(NAME), former)
    expect((await told).event).toMatchObject({ owner: hold.owner, error: { reason: 'gone' } })
    expect(changes).toContain(1)
    expect(elsewhere.lossError).toBeNull()
    expect([await hold.release(), await elsewhere.release()]).toEqual(['lost', 'released'])
    await former.restart()
    await rig.cluster.healReplication()
  })

  it('with acks a lock is had from whoever has its slot now, though nothing else has asked since', async () => {
    const locks = await rig.client({ ...PATIENT, replicas: { acks: 1, timeoutMs: 1_000 } })
    await (await locks.getLock(NAME).acquire()).release()
    const [replica] = await rig.cluster.replicasOf(await rig.primaryOf(NAME))
    await rig.cluster.healReplication()
    await rig.cluster.failOver(replica as RedisServer)
    // Single tries: who waits would also listen, and find out by that.
    let hold: Hold | null = null
    const attempt = () => locks.getLock(NAME).tryAcquire()
    await eventually(async () => (hold = await attempt().catch(() => null)) !== null, FAIL_OVER_MS)
    expect(hold).toMatchObject({ replicas: 1 })
    await locks.getLock(NAME).forceUnlock()
  })

  it('with acks of all replicas a primary that is killed takes no lock along (I1)', async () => {
    const replicas = { acks: 1, timeoutMs: 1_000 }
    const [locks, others] = await Promise.all([
      rig.client({ ...PATIENT, replicas }),
      rig.client({ ...PATIENT, replicas }),
    ])
    const hold = await locks.getLock(NAME).acquire()
    expect(hold.replicas).toBe(1)
    const waits = takeTurns(others.getLock(NAME), 10)
    const former = await rig.primaryOf(NAME)
    await former.kill()
    await rig.cluster.newPrimaryOf(rig.slotOf(NAME), former)
    await hold.verify()
    await former.restart()
    await rig.cluster.healReplication()
    expect(waits.seen.passed).toBe(0)
    expect(await hold.release()).toBe('released')
    await soon(waits.done, FAIL_OVER_MS)
    expect(waits.seen).toEqual({ most: 1, now: 0, passed: 10 })
  })
})
