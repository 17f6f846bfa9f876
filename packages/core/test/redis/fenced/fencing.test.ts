import { describe, expect, it } from '@jest/globals'
import { fencedSet, type FencedHold, type LockClient } from '../../../src/index.js'
import { NAME } from '../support/fenced-keys.js'
import { useRig } from '../support/rig.js'

// A lock and a guard together: what tokens are for.

const KEY = 'order:42:state'

const rig = useRig()
const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))

describe.each(['counter', 'time'] as const)('fencing, tokens by %s', (tokens) => {
  it('4 clients, 80 acquisitions each: tokens grow in their order, and every guarded write is accepted (I9)', async () => {
    const clients: LockClient[] = await Promise.all(times(4, () => rig.client()))
    const data = rig.connection()
    const inOrder: string[] = []
    const accepted = new Set<boolean>()
    const turn = async (hold: FencedHold): Promise<void> => {
      inOrder.push(hold.token)
      const result = await fencedSet(data, { key: KEY, token: hold.token, value: hold.owner })
      accepted.add(result.accepted && result.highestToken === hold.token)
    }
    await Promise.all(
      clients.flatMap((client) =>
        times(4, async () => {
          for (let i = 0; i < 20; i += 1) {
            await client.getFencedLock(NAME, { tokens }).withLock(turn)
          }
        }),
      ),
    )
    const numbers = inOrder.map(BigInt)
    expect(numbers).toHaveLength(320)
    expect(numbers.filter((each, i) => i > 0 && each <= numbers[i - 1]!)).toEqual([])
    if (tokens === 'counter') {
      expect(inOrder).toEqual(times(320, (i) => `${i + 1}`))
    }
    expect([...accepted]).toEqual([true])
    await rig.admin.del(KEY)
  })

  it('a holder that lost the lock is refused once the next one has written, and its data stand', async () => {
    const [one, two] = [await rig.client(), await rig.client()]
    const data = rig.connection()
    const stale = await one.getFencedLock(NAME, { tokens }).acquire()
    const write = (hold: FencedHold, value: string) => fencedSet(data, { key: KEY, token: hold.token, value })
    expect((await write(stale, 'first')).accepted).toBe(true)
    // Nobody tells the holder: it believes in its lock until its next renewal.
    await rig.admin.del(NAME)
    const next = await two.getFencedLock(NAME, { tokens }).acquire()
    expect((await write(next, 'second')).accepted).toBe(true)
    expect(stale.signal.aborted).toBe(false)
    expect(await write(stale, 'too late')).toEqual({ accepted: false, highestToken: next.token })
    expect(await rig.admin.hget(KEY, 'value')).toBe('second')
    expect((await write(next, 'third')).accepted).toBe(true)
    expect(await stale.release()).toBe('lost')
    expect(await next.release()).toBe('released')
    await rig.admin.del(KEY)
  })
})

describe('fencing when Redis lost its data', () => {
  it("tokens: 'time' goes on with a guard that did not; 'counter' is refused by it (I9)", async () => {
    const locks = await rig.client()
    const data = rig.connection()
    // The data are elsewhere: what is lost is the lock's Redis alone.
    const write = (key: string) => (hold: FencedHold) =>
      fencedSet(data, { key, token: hold.token, value: hold.owner })
    const [timed, counted] = [
      locks.getFencedLock('timed', { tokens: 'time' }),
      locks.getFencedLock('counted'),
    ]
    for (let i = 0; i < 3; i += 1) {
      expect((await timed.withLock(write('by-time'))).accepted).toBe(true)
      expect((await counted.withLock(write('by-counter'))).accepted).toBe(true)
    }
    await rig.admin.del('redisson_lock_token:{timed}', 'redisson_lock_token:{counted}')
    expect((await timed.withLock(write('by-time'))).accepted).toBe(true)
    expect(await counted.withLock(write('by-counter'))).toEqual({ accepted: false, highestToken: '3' })
    await rig.admin.del('by-time', 'by-counter')
  })
})
