import { describe, expect, test } from '@jest/globals'
import { LockLostError } from '@holdfast/core'
import { Engine, type Keyspace } from '../../src/simulator/engine.js'
import { LostLevels, levelsIn } from '../../src/simulator/work/lost-levels.js'
import { planOf } from '../../src/simulator/index.js'
import { Stage } from '../../src/simulator/work/stage.js'
import { RemainsOfTheDead } from '../../src/simulator/work/remains.js'
import { World } from '../../src/simulator/world/world.js'
import { Attempt, noteLoss, type Held } from '../../src/workload/attempt.js'

const LOCK = 'plain:0'
const OWNER = 'p0~x:1'

const keyspaceWith = (entries: Record<string, Record<string, string> | string>): Keyspace => {
  const { keyspace } = new Engine({ clock: { now: () => 0 }, runId: 'r' })
  for (const [key, value] of Object.entries(entries))
    keyspace.set(key, typeof value === 'string' ? value : new Map(Object.entries(value)))
  return keyspace
}

describe('what a fail-over has undone', () => {
  const lostOf = (lock: string, key: string, owner: string): LostLevels => {
    const lost = new LostLevels()
    const levels = (count: string) =>
      levelsIn(keyspaceWith({ [key]: { [owner]: count }, 'semaphore:1': '4' }), [lock])
    lost.compare(levels('1'), levels('2'))
    lost.compare(levels('1'), levels('1'))
    return lost
  }

  test('explains the count that the replica brought back, of that owner and lock alone', () => {
    const lost = lostOf(LOCK, LOCK, OWNER)
    const count = { lock: LOCK, owner: OWNER, counted: 1, expected: 2 }

    expect(lost.explain(count)).toBe(true)
    expect(lost.explain({ ...count, counted: 2, expected: 1 })).toBe(false)
    expect(lost.explain({ ...count, owner: 'p0~x:2' })).toBe(false)
    expect(lost.explain({ ...count, lock: 'plain:1' })).toBe(false)
  })

  test('what a fail-over has undone of a multi lock also by its second key, where another owner of the same client has it', () => {
    const lost = lostOf('multi:1', 'multi:1:second', 'p0~x:2')
    const count = { lock: 'multi:1', owner: OWNER, counted: 1, expected: 2 }

    expect(lost.explain(count)).toBe(true)
    expect(lost.explain({ ...count, owner: 'p1~y:1' })).toBe(false)
  })

  test('is nothing when both have the same', () => {
    const lost = new LostLevels()
    const levels = levelsIn(keyspaceWith({ [LOCK]: { [OWNER]: '1' } }), [LOCK])
    lost.compare(levels, levels)
    lost.compare(levels, [])

    expect(lost.explain({ lock: LOCK, owner: OWNER, counted: 1, expected: 2 })).toBe(false)
  })
})

describe('what a dead owner left', () => {
  const watched = async (
    lock: string,
    entries: Record<string, Record<string, string> | string>,
    gone: string,
  ): Promise<RemainsOfTheDead['seen']> => {
    const world = new World()
    const keyspace = keyspaceWith(entries)
    const remains = new RemainsOfTheDead(world, () => keyspace, [lock])
    world.at(100, () => remains.of('p0'))
    world.at(505, () => keyspace.delete(gone))
    await world.run(() => false, 1_000)
    return remains.seen
  }

  test('is there until Redis has it no longer', async () => {
    const seen = await watched(LOCK, { [LOCK]: { [OWNER]: '1' } }, LOCK)

    expect(seen).toEqual([{ lock: LOCK, mode: 'exclusive', fromMs: 100, toMs: 500 }])
  })

  test('what a dead owner left of a reader until its own lease has ended, though others keep its field', async () => {
    const lock = 'read-write:0'
    const timeout = `{${lock}}:${OWNER}:rwlock_timeout:1`
    const hash = { mode: 'read', [OWNER]: '1', 'p1~y:1': '1' }
    const seen = await watched(lock, { [lock]: hash, [timeout]: '1' }, timeout)

    expect(seen).toEqual([{ lock, mode: 'shared', fromMs: 100, toMs: 500 }])
  })

  test('is looked for as soon as a process is killed', async () => {
    const step = { id: '0.0.0', lock: LOCK, way: 'hold', pauseMs: 0, waitMs: 0, abortMs: 0 } as const
    const tasks = [{ ms: 60_000, asks: 'nothing', isCareless: false }] as const
    const processes = [{ name: 'p0', callers: [[{ ...step, tasks }]] }]
    const stage = new Stage({ ...planOf(1), locks: [LOCK], faults: [], processes })
    await stage.world.run(() => stage.network.primary.engine.keyspace.hash(LOCK) !== undefined, 5_000)
    for (const each of stage.living) stage.kill(each)

    expect(stage.remains.seen).toMatchObject([{ lock: LOCK, mode: 'exclusive' }])
  })

  test('is nothing where the living have it', async () => {
    expect(await watched(LOCK, { [LOCK]: { 'p1~y:1': '1' } }, LOCK)).toEqual([])
  })
})

describe('a read lock inside a write lock', () => {
  const recorded = () => {
    const kinds: string[] = []
    const history = { add: (kind: string, more?: object) => kinds.push(`${kind} ${JSON.stringify(more)}`) }
    const losing = new AbortController()
    const hold = { owner: 'p0~x:2', trustedForMs: 100, signal: losing.signal } as unknown as Held['hold']
    const writing = { owner: `${OWNER}:write` } as Held
    const attempt = new Attempt(history, { lock: LOCK, attempt: 'a', mode: 'shared' })
    const lose = () => losing.abort(new LockLostError({ lockName: LOCK, owner: 'p0~x:2', reason: 'expired' }))
    const losses = () => kinds.filter((each) => each.startsWith('lost '))
    return { history, held: attempt.acquiredBesides(hold, writing), lose, losses }
  }
  const told = [`lost ${JSON.stringify({ lock: LOCK, owner: `${OWNER}:write`, reason: 'expired' })}`]

  test('is lost without a word of the write lock', () => {
    const { history, held, lose, losses } = recorded()
    lose()
    expect(losses()).toEqual([])

    noteLoss(history, held)
    expect(losses()).toEqual(told)
  })

  test('is all that its owner has when the write lock is released', () => {
    const { history, held, lose, losses } = recorded()
    noteLoss(history, held)
    expect(losses()).toEqual([])

    lose()
    expect(losses()).toEqual(told)
  })
})
