import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Kind, Side } from './support/side.js'
import { eventually, useSides } from './support/sides.js'
import { differences, trace, type Scenario } from './support/trace.js'

const NAME = 'order'

const sides = useSides()
let java: Side
let node: Side

beforeAll(async () => {
  ;[java, node] = await Promise.all([sides.launch('java'), sides.launch('node')])
})

const taking =
  (kind: Kind): Scenario =>
  async (side, [me], note) => {
    const call = (verb: string, options = {}) => side.call(me, verb, kind, NAME, options)
    await call('lock')
    await note('take')
    await call('lock')
    await note('re-enter')
    await call('unlock')
    await note('release one level')
    await call('unlock')
    await note('release')
    await call('lock', { lease: 10_000 })
    await note('take for 10 s')
    await call('forceUnlock')
    await note('free by force')
  }

const waiting =
  (held: Kind, wanted: Kind): Scenario =>
  async (side, [me, other], note) => {
    await side.call(me, 'lock', held, NAME)
    const second = side.call(other, 'tryLock', wanted, NAME, { wait: 30_000, lease: 20_000 })
    await eventually(
      async () => (await sides.redis.pubsub('CHANNELS', `*{${NAME}}*`)).length > 0 || kindIsFair(held),
    )
    await eventually(
      async () => !kindIsFair(held) || (await sides.redis.llen(`redisson_lock_queue:{${NAME}}`)) === 1,
    )
    // A thread of Redisson that has not fallen asleep yet misses the release of a writer: wake-ups.test.ts.
    await new Promise((resolve) => setTimeout(resolve, 100))
    await note('somebody waits')
    await side.call(me, 'unlock', held, NAME)
    await second
    // The grant of a waiter of ours is prolonged to the lease that it asked for a moment later.
    await eventually(async () => !kindIsFair(wanted) || (await sides.redis.pttl(NAME)) > 15_000)
    await note('handed over')
    await side.call(other, 'unlock', wanted, NAME)
    await note('released')
  }

const kindIsFair = (kind: Kind): boolean => kind === 'fair'

const downgrading: Scenario = async (side, [me], note) => {
  await side.call(me, 'lock', 'write', NAME)
  await side.call(me, 'lock', 'read', NAME)
  await note('write, and read')
  await side.call(me, 'unlock', 'write', NAME)
  await note('read on')
  await side.call(me, 'unlock', 'read', NAME)
  await note('release')
}

const counting: Scenario = async (side, [me], note) => {
  const call = (verb: string, options = {}) => side.call(me, verb, 'semaphore', NAME, options)
  await call('trySetPermits', { permits: 3 })
  await note('3 permits')
  await call('acquire', { permits: 2 })
  await note('take 2')
  await call('release', { permits: 1 })
  await note('release 1')
  await call('addPermits', { permits: 2 })
  await note('add 2')
  await call('drain')
  await note('drain')
}

const expiring: Scenario = async (side, [me], note) => {
  const call = (verb: string, options = {}) => side.call(me, verb, 'permits', NAME, options)
  await call('trySetPermits', { permits: 2 })
  await note('2 permits')
  const { value: id } = await call('acquire', { lease: 10_000 })
  await note('take one for 10 s')
  await call('release', { id: id as string })
  await note('release it')
}

const latching: Scenario = async (side, [me], note) => {
  const call = (verb: string, options = {}) => side.call(me, verb, 'latch', NAME, options)
  await call('trySetCount', { count: 2 })
  await note('2 things')
  await call('countDown')
  await note('one has happened')
  await call('countDown')
  await note('both have')
  await call('trySetCount', { count: 1 })
  await call('delete')
  await note('deleted')
}

const RW = 'redisson_rwlock:{order}'
const WRITER_WAKES = `says: 1 on ${RW} → 1 on ${RW}, 00 on ${RW}`
const tokens = (step: string, there: number, here: number): string =>
  `${step}: redisson_lock_token:{order}: string "${there}" → string "${here}"`

/** Differences on purpose in each scenario, from Java to here: docs/interop.md has the reasons. */
const SCENARIOS: readonly [string, Scenario, string[]][] = [
  ['lock', taking('lock'), []],
  ['fair lock', taking('fair'), []],
  [
    'fenced lock',
    taking('fenced'),
    [
      tokens('re-enter', 2, 1),
      tokens('release one level', 2, 1),
      tokens('release', 2, 1),
      tokens('take for 10 s', 3, 2),
      tokens('free by force', 3, 2),
    ],
  ],
  [
    'write lock',
    taking('write'),
    ['re-enter: order ends after: 60 → 30', `release: ${WRITER_WAKES}`, `free by force: ${WRITER_WAKES}`],
  ],
  [
    'read lock',
    taking('read'),
    [
      'free by force: {order}:owner-1:rwlock_timeout:1 ends after: 10 → -',
      'free by force: {order}:owner-1:rwlock_timeout:1: string "1" → -',
    ],
  ],
  ['lock with a waiter', waiting('lock', 'lock'), []],
  [
    'fair lock with a waiter',
    waiting('fair', 'fair'),
    [
      'somebody waits: redisson_lock_queue:{order} ends after: none → 600',
      'somebody waits: redisson_lock_timeout:{order} ends after: none → 600',
      'handed over: says: 0 on redisson_lock__channel:{order}:owner-1 → nothing',
    ],
  ],
  [
    'write lock with a writer behind',
    waiting('write', 'write'),
    [`handed over: ${WRITER_WAKES}`, `released: ${WRITER_WAKES}`],
  ],
  ['write lock with a reader behind', waiting('write', 'read'), [`handed over: ${WRITER_WAKES}`]],
  ['read lock with a writer behind', waiting('read', 'write'), [`released: ${WRITER_WAKES}`]],
  [
    'write lock, then both, then read',
    downgrading,
    [
      'write, and read: order: hash {"mode":"write","owner-1":"1","owner-1:write":"1"} → hash {"mode":"write","owner-1:write":"1","owner-2":"1"}',
      'write, and read: {order}:owner-1:rwlock_timeout:1 ends after: 30 → -',
      'write, and read: {order}:owner-1:rwlock_timeout:1: string "1" → -',
      'write, and read: {order}:owner-2:rwlock_timeout:1 ends after: - → 30',
      'write, and read: {order}:owner-2:rwlock_timeout:1: - → string "1"',
      `read on: says: nothing → 1 on ${RW}, 00 on ${RW}`,
    ],
  ],
  ['semaphore', counting, []],
  ['permit-expirable semaphore', expiring, []],
  ['count-down latch', latching, []],
]

describe('what Redis has and says, step by step', () => {
  it.each(SCENARIOS)(
    '%s: the same from both sides, but for what is so on purpose',
    async (_, scenario, onPurpose) => {
      const fromJava = await trace(sides.redis, java, scenario)
      const fromNode = await trace(sides.redis, node, scenario)
      expect(differences(fromJava, fromNode)).toEqual(onPurpose)
    },
  )
})
