import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Matrix } from './support/matrix.js'
import type { NodeSide } from './support/node-side.js'
import { eventually, useSides } from './support/sides.js'
import type { Kind, Side } from './support/side.js'

// A waiter of Holdfast dies or is stopped in the queue, and a thread of Java waits for the same lock. A release may give the
// lock to that waiter and tell nobody else: the thread would sleep beside a free lock until the lease of the former
// holder ends, which was all that it was told of (docs/decisions/0035-a-grant-that-nobody-took.md).

const NAME = 'order:42'
const CHANNEL = `redisson_lock__channel:{${NAME}}`
const LINE = `holdfast:line:{${NAME}}`
const QUEUE = `redisson_lock_queue:{${NAME}}`
const LEASE_MS = 30_000
const BOUND_MS = 5_000
// A grant to a waiter lasts for two of these at most. Where Java must not have to wait for that, it is well over
// the bound; where it must, well under it.
const LONG_RESYNC_MS = 10_000
const SHORT_RESYNC_MS = 1_000

const sides = useSides()
const matrix = new Matrix('in front of a Java thread')
afterAll(() => matrix.print())
let java: Side

const call = (side: Side, verb: string, kind: Kind, options = {}) =>
  side.call('caller', verb, kind, NAME, options)
const listeners = async (): Promise<number> => Number((await sides.redis.pubsub('NUMSUB', CHANNEL))[1])
const inboxes = async (): Promise<number> =>
  (await sides.redis.pubsub('CHANNELS', 'holdfast:client:*')).length
/** Those in the queue for a plain lock have a score of 0 or more there. */
const standing = (kind: Kind): Promise<number> =>
  kind === 'fair' ? sides.redis.llen(QUEUE) : sides.redis.zcount(LINE, 0, '+inf')

const nodes = (count: number, resyncMs: number): Promise<NodeSide[]> =>
  Promise.all(Array.from({ length: count }, () => sides.launch('node', { resyncMs })))

/** `side` waits at the end of the line; the promise inside is that of its lock. */
async function linedUp(side: Side, kind: Kind): Promise<{ locked: Promise<unknown> }> {
  const before = await standing(kind)
  const locked = call(side, 'lock', kind)
  // It may be killed.
  locked.catch(() => undefined)
  await eventually(async () => (await standing(kind)) === before + 1)
  return { locked }
}

/** Redisson tries, subscribes, tries again, and sleeps from then on. */
async function asleep(kind: Kind) {
  const owner = String((await call(java, 'owner', kind)).value)
  const monitor = await sides.redis.monitor()
  let tries = 0
  // Commands of a script have the source `lua`.
  monitor.on('monitor', (_time: string, args: string[], source: string) => {
    if (source !== 'lua' && args.includes(owner)) tries += 1
  })
  const locked = call(java, 'lock', kind, { lease: LEASE_MS })
  await eventually(() => Promise.resolve(tries >= 2))
  monitor.disconnect()
  return { locked }
}

async function killed(side: Side): Promise<void> {
  const before = await inboxes()
  await side.kill()
  // Redis has noticed.
  await eventually(async () => (await inboxes()) < before)
}

/** How long Java waited after the lock was released. It releases it in turn. */
async function servedAfter(holder: Side, kind: Kind, locked: Promise<{ to: number }>): Promise<number> {
  const { to: freed } = await call(holder, 'unlock', kind)
  const { to } = await locked
  await call(java, 'unlock', kind)
  return to - freed
}

const note = (who: string, kind: Kind, delayMs: number): void =>
  matrix.note(who, kind, `${delayMs.toFixed(0)} ms`)

beforeAll(async () => {
  java = await sides.launch('java')
})

describe.each([
  ['plain lock', 'lock'],
  ['fair lock', 'fair'],
] as const)('a Java thread that waits for a %s', (_name, kind) => {
  beforeEach(async () => {
    // From here on Redisson's scripts are known, and each try is one command.
    await call(java, 'lock', kind)
    await call(java, 'unlock', kind)
  })

  it('has it at once when the waiter in front of it was killed (I4)', async () => {
    const [holder, waiter] = (await nodes(2, LONG_RESYNC_MS)) as [NodeSide, NodeSide]
    await call(holder, 'lock', kind, { lease: LEASE_MS })
    await linedUp(waiter, kind)
    const { locked } = await asleep(kind)
    await killed(waiter)
    const delayMs = await servedAfter(holder, kind, locked)
    note('a waiter that was killed', kind, delayMs)
    expect(delayMs).toBeLessThan(BOUND_MS)
  })

  it('does not sleep for the lease when the waiter in front of it was stopped (I4)', async () => {
    const [holder, waiter] = (await nodes(2, SHORT_RESYNC_MS)) as [NodeSide, NodeSide]
    await call(holder, 'lock', kind, { lease: LEASE_MS })
    const stopped = await linedUp(waiter, kind)
    const { locked } = await asleep(kind)
    await waiter.pause()
    const delayMs = await servedAfter(holder, kind, locked)
    note('one that was stopped', kind, delayMs)
    expect(delayMs).toBeLessThan(BOUND_MS)
    waiter.resume()
    await stopped.locked
    await call(waiter, 'unlock', kind)
  })

  it('does not sleep for the lease when one in front of it was stopped and another killed (I4)', async () => {
    const [holder, first, second] = (await nodes(3, SHORT_RESYNC_MS)) as [NodeSide, NodeSide, NodeSide]
    await call(holder, 'lock', kind, { lease: LEASE_MS })
    const stopped = await linedUp(first, kind)
    await linedUp(second, kind)
    const { locked } = await asleep(kind)
    await killed(second)
    if (kind === 'lock') {
      // The number of listeners is that of waiters: the one that is stopped, and Java instead of the one that was killed.
      expect([await listeners(), await standing(kind)]).toEqual([2, 2])
    }
    await first.pause()
    const delayMs = await servedAfter(holder, kind, locked)
    note('one of each', kind, delayMs)
    expect(delayMs).toBeLessThan(BOUND_MS)
    first.resume()
    await stopped.locked
    await call(first, 'unlock', kind)
  })
})
