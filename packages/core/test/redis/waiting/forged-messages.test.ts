import { beforeEach, describe, expect, it } from '@jest/globals'
import type { AnyLock, LockClient, LockHold } from '../../../src/index.js'
import { nextEvent } from '../support/outcomes.js'
import { fairKeys } from '../support/fair-line.js'
import { lockKinds } from '../support/lock-kinds.js'
import { MessageLog } from '../support/message-log.js'
import { eventually, own, soon, useRig } from '../support/rig.js'

// Whoever may publish can say what he likes to a client. Only what Redis answers counts.

const NAME = 'order:42'
const rig = useRig()

const inboxOf = ({ clientId }: LockClient): string => `holdfast:client:${clientId}`

/** Says something to a client, as soon as it listens. */
async function tell(locks: LockClient, payload: string): Promise<void> {
  await eventually(async () => (await rig.admin.publish(inboxOf(locks), payload)) === 1)
}

const scriptsRun = async (): Promise<number> => (await rig.server.commandStats()).get('evalsha') ?? 0

describe.each(lockKinds.filter(({ locks }) => locks === 1))(
  'a forced release of a $name that nobody did',
  (kind) => {
    const options = { resyncInterval: 20_000 }

    it.each([{}, { leaseMs: 30_000 }])(
      'ends no hold: Redis is asked once, and says that it is held, acquired with %j',
      async (request) => {
        const locks = await rig.client(options)
        const hold = await kind.of(locks, NAME).acquire(request)
        await rig.server.resetStats()
        await tell(locks, hold.owner)
        // Each hold asks Redis once it has been told.
        await eventually(async () => (await scriptsRun()) === 1)
        await eventually(() => hold.trustedForMs > 0)
        expect(hold.trustedForMs).toBeLessThan(30_000)
        hold.ensure()
        await hold.verify()
        expect(hold.signal.aborted).toBe(false)
        expect(await hold.release()).toBe('released')
      },
    )

    it('is refused by `ensure` until Redis has answered', async () => {
      const proxy = await rig.proxy()
      const locks = await rig.client(options, rig.connection({}, proxy))
      const hold = await kind.of(locks, NAME).acquire()
      proxy.delay(150)
      await tell(locks, hold.owner)
      await eventually(() => hold.trustedForMs === 0)
      expect(() => hold.ensure()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }))
      expect(hold.signal.aborted).toBe(false)
      await eventually(() => hold.trustedForMs > 0)
      hold.ensure()
      proxy.pass()
      expect(await hold.release()).toBe('released')
    })

    it('ends a hold that Redis does not have, and says that it was forced', async () => {
      const locks = await rig.client(options)
      const hold = await kind.of(locks, NAME).acquire()
      const lost = nextEvent(locks, 'lost')
      await rig.admin.del(NAME)
      await tell(locks, hold.owner)
      expect(await lost).toMatchObject({ owner: hold.owner, error: { code: 'LOCK_LOST', reason: 'forced' } })
      expect(hold.signal.aborted).toBe(true)
      expect(await hold.release()).toBe('lost')
      await rig.admin.del(...(await rig.keysLeft()), NAME)
    })

    it('said many times: one question at a time', async () => {
      const proxy = await rig.proxy()
      const locks = await rig.client(options, rig.connection({}, proxy))
      const hold = await kind.of(locks, NAME).acquire()
      await tell(locks, hold.owner)
      await eventually(() => hold.trustedForMs > 0)
      await rig.server.resetStats()
      // An answer takes twice as long as a message: all of them arrive before the first.
      proxy.delay(150)
      await Promise.all(Array.from({ length: 200 }, () => tell(locks, hold.owner)))
      await eventually(() => hold.trustedForMs === 0)
      await eventually(() => hold.trustedForMs > 0)
      expect(await scriptsRun()).toBeLessThanOrEqual(10)
      proxy.pass()
      expect(await soon(hold.release())).toBe('released')
    })
  },
)

// A message that a lock was granted to a waiter counts only with what the waiter put in the queue. Without it, it is a doorbell.

const LINE = `holdfast:line:{${NAME}}`
const { queue: QUEUE, timeouts: TIMES, arrivals: ARRIVALS, heartbeats: HEARTBEATS } = fairKeys(NAME)
const CHANNEL = `redisson_lock__channel:{${NAME}}`
const LIFE_MS = 40_000

const client = () => rig.client({ resyncInterval: LIFE_MS / 2 })

const kinds: [string, (locks: LockClient) => AnyLock, () => Promise<string | undefined>][] = [
  ['lock', (of) => of.getLock(NAME), async () => (await rig.admin.zrangebyscore(LINE, 0, '+inf'))[0]],
  ['fair lock', (of) => of.getFairLock(NAME), async () => (await rig.admin.zrange(ARRIVALS, '0', '0'))[0]],
]

describe.each(kinds)('%s', (kind, of, firstInLine) => {
  const isFair = kind === 'fair lock'
  const [locks, others] = [own(client), own(client)]
  const holder = own(() => of(others).acquire())
  let waiting: Promise<LockHold>
  let owner: string
  let given: LockHold | undefined

  beforeEach(async () => {
    given = undefined
    waiting = of(locks).acquire()
    waiting.then(
      (hold) => (given = hold),
      () => undefined,
    )
    await eventually(async () => (await firstInLine()) !== undefined)
    owner = (await firstInLine())!
    await of(locks).isLocked()
    await rig.server.resetStats()
  })

  const say = (payload: string) => rig.admin.publish(inboxOf(locks), payload)
  const releaseAll = async (): Promise<void> => {
    await holder.release()
    expect(await (await soon(waiting)).release()).toBe('released')
  }

  it.each([
    ['no proof, as an older version', (until: number) => `grant:${until}:${owner}`],
    ['a wrong proof', (until: number) => `2:grant:${'0'.repeat(40)}:${until}:${owner}`],
    ['an empty proof', (until: number) => `2:grant::${until}:${owner}`],
    ['no end', () => `2:grant:${'0'.repeat(40)}::${owner}`],
  ])('a grant with %s is a doorbell: a try, and no hold', async (_what, payload) => {
    expect(await say(payload((await rig.now()) + LIFE_MS))).toBe(1)
    await eventually(async () => (await scriptsRun()) > 0)
    await of(locks).isLocked()
    expect(given).toBeUndefined()
    await releaseAll()
  })

  it.each(['3:grant:0:1:', '3:turn:', '17:forced:', '99999999999999999999:'])(
    'what a later version says (%s) is nothing to this one',
    async (before) => {
      expect(await say(before + owner)).toBe(1)
      expect(await say(before + holder.owner)).toBe(1)
      await of(locks).isLocked()
      await of(locks).isLocked()
      // Those two questions alone.
      expect(await scriptsRun()).toBe(2)
      expect(given).toBeUndefined()
      await releaseAll()
    },
  )

  it('a proof is of one grant: it proves no other end, and no other owner', async () => {
    const log = await MessageLog.open(rig.connection(), rig.admin)
    await holder.release()
    const first = await soon(waiting)
    const told = (await log.take()).map(([, payload]) => payload).find((each) => each.includes('grant'))!
    const again = of(locks).acquire()
    let second: LockHold | undefined
    again.then(
      (hold) => (second = hold),
      () => undefined,
    )
    // A caller of the client that has the lock stands in its line here, and in Redis where that keeps the order.
    await eventually(async () => !isFair || (await firstInLine()) !== undefined)
    for (const each of [told, told.replace(/:\d+:/, `:${(await rig.now()) + LIFE_MS}:`)]) {
      await say(each)
      await say(each.replaceAll(first.owner, `${locks.clientId}:${Number(first.owner.split(':')[1]) + 1}`))
    }
    await of(locks).isLocked()
    expect(second).toBeUndefined()
    await first.release()
    expect(await (await soon(again)).release()).toBe('released')
  })

  it('granted by an older version: it hears a doorbell, tries, and finds itself the owner', async () => {
    const until = (await rig.now()) + LIFE_MS
    await rig.admin.multi().del(NAME).hset(NAME, owner, 1).pexpireat(NAME, until).exec()
    if (isFair) {
      await rig.admin.lrem(QUEUE, 1, owner)
      await rig.admin.zrem(TIMES, owner)
      await rig.admin.zrem(ARRIVALS, owner)
    }
    await say(`grant:${until}:${owner}`)
    const hold = await soon(waiting)
    expect(hold.owner).toBe(owner)
    await hold.verify()
    expect(await hold.release()).toBe('released')
    expect(await holder.release()).toBe('lost')
  })
})

describe('a waiter of an older version', () => {
  const others = own(client)
  const OLD = 'old~123456789012345678901:7'
  const inbox = 'holdfast:client:old~123456789012345678901'

  it('in the queue of a plain lock is granted nothing, and hears what everybody hears', async () => {
    const hold = await others.getLock(NAME).acquire()
    const listener = rig.connection()
    await listener.subscribe(CHANNEL, inbox)
    const log = await MessageLog.open(rig.connection(), rig.admin)
    const now = await rig.now()
    await rig.admin.zadd(LINE, now * 1000, OLD, -(now + LIFE_MS), `alive:${OLD}`)
    await rig.admin.pexpire(LINE, LIFE_MS)
    await hold.release()
    expect(await rig.admin.exists(NAME)).toBe(0)
    expect(await log.take()).toEqual([[CHANNEL, '0']])
    await rig.admin.del(LINE)
  })

  it('in the queue of a fair lock is told that it is its turn, in its own words', async () => {
    const hold = await others.getFairLock(NAME).acquire()
    const listener = rig.connection()
    await listener.subscribe(inbox)
    const log = await MessageLog.open(rig.connection(), rig.admin)
    const now = await rig.now()
    await rig.admin.rpush(QUEUE, OLD)
    await rig.admin.zadd(TIMES, now + LIFE_MS, OLD)
    await rig.admin.zadd(ARRIVALS, now * 1000, OLD)
    await rig.admin.hset(HEARTBEATS, OLD.split(':')[0]!, `${now + LIFE_MS} ${now} gp`)
    await hold.release()
    expect(await rig.admin.exists(NAME)).toBe(0)
    expect(await log.take()).toEqual([[inbox, `turn:${OLD}`]])
    await rig.admin.flushall()
  })
})
