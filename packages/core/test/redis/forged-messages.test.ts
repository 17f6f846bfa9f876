import { describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../src/index.js'
import { lockKinds } from './support/lock-kinds.js'
import { eventually, soon, useRig } from './support/rig.js'
import { nextEvent } from './support/behind.js'

// Whoever may publish can say what he likes to a client. Only what Redis answers counts.

const NAME = 'order:42'
const rig = useRig()

const inboxOf = ({ clientId }: LockClient): string => `holdfast:client:${clientId}`

/** Says something to a client, as soon as it listens. */
async function tell(locks: LockClient, payload: string): Promise<void> {
  await eventually(async () => (await rig.admin.publish(inboxOf(locks), payload)) === 1)
}

/** Each hold of a client asks Redis once it has been told. */
const renewals = async (): Promise<number> => (await rig.server.commandStats()).get('evalsha') ?? 0

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
        await eventually(async () => (await renewals()) === 1)
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
      expect(await renewals()).toBeLessThanOrEqual(10)
      proxy.pass()
      expect(await soon(hold.release())).toBe('released')
    })
  },
)
