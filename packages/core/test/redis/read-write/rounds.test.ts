import { describe, expect, it } from '@jest/globals'
import type { Hold, LockClient } from '../../../src/index.js'
import { eventually, own, soon, useRig } from '../support/rig.js'

// Whose turn it is at a plain lock that is held for long. See docs/decisions/0073-nobody-starves.md.

const NAME = 'order:42'
const LINE = 'holdfast:line:{order:42}'
const CHANNEL = `redisson_lock__channel:{${NAME}}`

const rig = useRig()

// No tick helps within a test.
const client = (): Promise<LockClient> => rig.client({ resyncInterval: 20_000 })
const holder = own(async () => (await client()).getLock(NAME).acquire())
const lineUp = () => rig.admin.zrangebyscore(LINE, 0, '+inf')
const mark = () => rig.admin.zscore(LINE, 'left-free')

/** A wait of a client of its own that stands in the queue. */
async function standing() {
  const before = await lineUp()
  const locks = await client()
  const waiting = locks.getLock(NAME).acquire()
  await eventually(async () => (await lineUp()).length > before.length)
  const owner = (await lineUp()).find((each) => !before.includes(each))!
  // Behind the answer to the try that put it there: a grant before it would have to be asked for.
  await locks.getLock(NAME).isLocked()
  return { waiting, owner }
}

/** Moves the last race, and arrivals, into the past. */
async function ago(leftFreeMs: number, came: readonly (readonly [owner: string, ms: number])[] = []) {
  const now = Date.now()
  const arrivals = came.flatMap(([owner, ms]) => [(now - ms) * 1_000, owner])
  await rig.admin.zadd(LINE, `${leftFreeMs - now}`, 'left-free', ...arrivals)
  return `${leftFreeMs - now}`
}

describe('whoever waits in the queue for a plain lock (I15)', () => {
  it.each([
    ['gets it a second later, if it came before the lock was last left free', 1_000, 500, false, true],
    ['so, too, where others listen who do not stand in the queue, as Java clients', 1_000, 500, true, true],
    ['gets it within 100 ms of that, if it came later', 0, 1, false, true],
    ['not so where others listen', 0, 1, true, false],
    ['and not later: pollers have their chance', 1_000, 1_500, false, false],
    ['nor by a time that is to come: the clock was set back', 1_000, -60_000, false, false],
  ])('%s', async (_what, cameAgoMs, leftFreeAgoMs, isBesideOthers, isGiven) => {
    const others = rig.connection()
    if (isBesideOthers) await others.subscribe(CHANNEL)
    let hold: Hold = holder
    for (let isInTime = false; !isInTime;) {
      const { waiting, owner } = await standing()
      const before = await ago(leftFreeAgoMs, [[owner, cameAgoMs]])
      await hold.release()
      // It is moved when the lock is left free.
      const isMoved = (await mark()) !== before
      // On a machine that stands still, the 100 ms of who came later may be over before Redis sees the release.
      isInTime = !isGiven || cameAgoMs > leftFreeAgoMs || (await rig.now()) + Number(before) < 100
      if (isInTime) expect(isMoved).toBe(!isGiven)
      hold = await soon(waiting)
    }
    await hold.release()
  })

  it('gets it once before it is left free again, and before those who come later', async () => {
    const inLine = [await standing(), await standing(), await standing()]
    const came = inLine.map(({ owner }, i) => [owner, [900, 800, 100][i]!] as const)
    const before = await ago(500, came)
    const marks: (string | null)[] = []
    const served: string[] = []
    const turns = inLine.map(async ({ waiting }) => {
      const hold = await waiting
      served.push(hold.owner)
      // A release while its client is still leaving the channel cannot say who else listens, and leaves the lock free.
      await rig.heard(NAME, inLine.length - served.length)
      marks.push(await mark())
      await hold.release()
    })
    await holder.release()
    await soon(Promise.all(turns))
    expect(served).toEqual(inLine.map(({ owner }) => owner))
    expect(marks.map((each) => each === before)).toEqual([true, true, false])
  })

  it('has to race for it if all others left in between: the mark outlives an empty queue', async () => {
    const first = await standing()
    await holder.release()
    const hold = await soon(first.waiting)
    expect(await rig.admin.zrange(LINE, '0', '-1')).toEqual(['left-free'])
    expect(await rig.admin.pttl(LINE)).toBeGreaterThan(100_000)
    const second = await standing()
    const before = await ago(200, [[second.owner, 100]])
    await hold.release()
    expect(await mark()).not.toBe(before)
    const last = await soon(second.waiting)
    await last.release()
    // Nobody waits: the next chain begins anew.
    expect(await rig.admin.exists(LINE)).toBe(0)
  })

  it('is known after the release of somebody who had nothing', async () => {
    const first = await standing()
    await holder.release()
    const hold = await soon(first.waiting)
    await rig.admin.hset(NAME, 'somebody-else:1', '1')
    await rig.admin.hdel(NAME, hold.owner)
    expect(await hold.release()).toBe('lost')
    expect(await mark()).not.toBeNull()
    await rig.admin.del(NAME)
  })
})
