import { beforeEach, describe, expect, it } from '@jest/globals'
import {
  accept,
  ask,
  begin,
  look,
  release,
  type BeginArguments,
} from '../../../src/entries/election/scripts.js'
import { WrongTypeError } from '../../../src/index.js'
import { fairKeys } from '../support/fair-line.js'
import { stamp } from '../support/plain-scripts.js'
import { eventually, own, useRig } from '../support/rig.js'

const NAME = 'leader'
const TERMS = 'holdfast:terms:{leader}'
const TOKENS = 'redisson_lock_token:{leader}'
const CHANNEL = 'holdfast:election:{leader}'
const [A, B, C] = ['a~1:1', 'b~1:1', 'c~1:7']
const election = { lockName: NAME, key: NAME }
const queue = fairKeys(NAME)

const rig = useRig()
const runner = own(() => rig.runner())
beforeEach(() => rig.atEnd(tidy))

const holds = async (owner: string): Promise<void> => {
  await rig.admin.del(NAME)
  await rig.admin.hset(NAME, owner, 1)
  await rig.admin.pexpire(NAME, 30_000)
}
const beginAs = (owner: string, change: Partial<BeginArguments> = {}) =>
  begin(runner, { ...election, owner, data: '"a"', known: undefined, tokens: 'counter', ...change })
const releaseAs = (owner: string, successor = '') =>
  release(runner, {
    ...{ ...election, owner, successor, stamp: stamp(2), patienceMs: 300_000, isNoted: false },
    tombstoneKey: `holdfast:latch:{leader}:${owner}`,
  })
const kept = async (): Promise<Record<string, string>[]> =>
  (await rig.admin.lrange(TERMS, 0, -1)).map((text) => JSON.parse(text) as Record<string, string>)
/** Makes the queue of owners that joined one after another, their clients alive, without grants. */
const standInLine = async (...owners: string[]): Promise<void> => {
  const now = Date.now()
  for (const [i, owner] of owners.entries()) {
    await rig.admin.rpush(queue.queue, owner)
    await rig.admin.zadd(queue.timeouts, now + 300_000 + i, owner)
    await rig.admin.zadd(queue.arrivals, 1_000 * now + i, owner)
    await rig.admin.hset(queue.heartbeats, owner.replace(/:\d+$/, ''), `${now + 20_000} ${now} 2:ab`)
  }
  await rig.admin.hset(queue.heartbeats, ':heard', now, ':span', 20_000)
}
const line = (): Promise<string[]> => rig.admin.lrange(queue.queue, 0, -1)
const tidy = (): Promise<number> => rig.admin.del(NAME, TERMS, ...Object.values(queue))

/** The messages on the channel of the election while `work` runs. */
const heardDuring = async (work: () => Promise<unknown>): Promise<string[]> => {
  const heard: string[] = []
  const listener = rig.connection()
  await listener.subscribe(CHANNEL)
  listener.on('message', (_, payload: string) => heard.push(payload))
  await work()
  await rig.admin.publish(CHANNEL, 'end')
  await eventually(() => heard.includes('end'))
  return heard.slice(0, -1)
}

describe('begin', () => {
  it('{token, since}: writes owner, token and data, announces them, and gives a copy the same token', async () => {
    await holds(A)
    const heard = await heardDuring(async () => {
      const first = await beginAs(A)
      expect(first).toEqual({ kind: 'leads', token: '1', sinceMs: expect.any(Number) })
      expect(await beginAs(A, { data: '"b"' })).toEqual(first)
    })
    expect(heard).toEqual(['1:term'])
    expect(await kept()).toEqual([
      { owner: A, token: '1', data: '"a"', from: expect.stringMatching(/^\d{13}$/) },
    ])
    expect(await rig.admin.pttl(TERMS)).toBeGreaterThan(86_000_000)
  })

  it('0: an owner that has no lock, or no longer, writes and counts nothing (I9)', async () => {
    expect(await beginAs(A)).toEqual({ kind: 'lost' })
    await holds(B)
    expect(await beginAs(A)).toEqual({ kind: 'lost' })
    expect([await kept(), await rig.admin.exists(TOKENS)]).toEqual([[], 0])
  })

  it('writes a term again that Redis has lost, with its token and its time', async () => {
    await holds(A)
    const { token, sinceMs } = (await beginAs(A)) as { token: string; sinceMs: number }
    await rig.admin.del(TERMS)
    const known = { token, sinceMs }
    expect(await beginAs(A, { known })).toEqual({ kind: 'leads', token, sinceMs })
    expect(await kept()).toEqual([{ owner: A, token, data: '"a"', from: `${sinceMs}` }])
    expect(await rig.admin.get(TOKENS)).toBe('1')
  })

  it('exceeds the latest term, where Redis has lost the counter alone or has an older one (I9)', async () => {
    for (const counter of [undefined, '3', '9', '9007199254740993']) {
      await rig.admin.rpush(TERMS, JSON.stringify({ owner: B, token: '9', data: '', from: '1' }))
      await (counter === undefined ? rig.admin.del(TOKENS) : rig.admin.set(TOKENS, counter))
      await holds(A)
      const token = counter?.startsWith('90') ? '9007199254740994' : '10'
      expect(await beginAs(A)).toMatchObject({ token })
      await tidy()
    }
  })

  it('by the clock: tokens exceed those from before Redis lost its data', async () => {
    await holds(A)
    expect(await beginAs(A, { tokens: 'time' })).toMatchObject({ token: expect.stringMatching(/^\d{16}$/) })
  })

  it('keeps the latest 32 terms, for a day', async () => {
    for (let i = 1; i <= 34; i += 1) {
      await holds(`a~1:${i}`)
      await beginAs(`a~1:${i}`)
      await releaseAs(`a~1:${i}`)
    }
    const terms = await kept()
    expect(terms.map(({ token }) => token)).toEqual(Array.from({ length: 32 }, (_, i) => `${i + 3}`))
    expect(await rig.admin.pttl(TERMS)).toBeGreaterThan(86_000_000)
  })

  it('fails where something else has the counter, and writes no term', async () => {
    await holds(A)
    await rig.admin.hset(TOKENS, 'not', 'a counter')
    await expect(beginAs(A)).rejects.toThrow(WrongTypeError)
    expect(await kept()).toEqual([])
    await rig.admin.del(TOKENS)
  })
})

describe('release', () => {
  it('1: ends the term and the lock, announces it, and a copy ends nobody else', async () => {
    await holds(A)
    await beginAs(A)
    const heard = await heardDuring(async () => {
      expect(await releaseAs(A)).toMatchObject({ kind: 'released' })
      await holds(B)
      await beginAs(B)
      expect(await releaseAs(A)).toMatchObject({ kind: 'not-held' })
    })
    expect(heard).toEqual(['1:term', '1:term'])
    expect((await kept()).map(({ owner, to }) => [owner, to !== undefined])).toEqual([
      [A, true],
      [B, false],
    ])
    expect(await rig.admin.hgetall(NAME)).toEqual({ [B]: '1' })
    expect(await rig.admin.exists(`holdfast:latch:{leader}:${A}`)).toBe(0)
  })

  it('puts the first waiter of the successor in front, in all that orders the queue', async () => {
    await holds(A)
    await beginAs(A)
    await standInLine(B, 'c~1:6', C, 'd~1:1')
    await releaseAs(A, 'c~1')
    expect(await line()).toEqual(['c~1:6', B, C, 'd~1:1'])
    expect(await rig.admin.zrange(queue.arrivals, '0', '-1')).toEqual(['c~1:6', B, C, 'd~1:1'])
    expect((await rig.admin.zrange(queue.timeouts, '0', '-1'))[0]).toMatch(/^[bc]~/)
  })

  it('passes a successor over whose heartbeat is overdue, or that has left', async () => {
    for (const gone of ['dead', 'left']) {
      await holds(A)
      await beginAs(A)
      await standInLine(B, C)
      if (gone === 'dead') {
        await rig.admin.hset(queue.heartbeats, 'c~1', `${Date.now() - 5} ${Date.now() - 9_000} 2:ab`)
      } else {
        await rig.admin.lrem(queue.queue, 1, C)
        await rig.admin.zrem(queue.timeouts, C)
        await rig.admin.zrem(queue.arrivals, C)
      }
      await releaseAs(A, 'c~1')
      expect(await line()).toEqual([B])
      await tidy()
    }
  })

  it('release of a waiter takes it out of the queue, and ends no term; a copy moves nobody', async () => {
    await holds(A)
    await beginAs(A)
    await standInLine(B, C)
    expect(await releaseAs(C, 'c~1')).toMatchObject({ kind: 'not-held' })
    expect(await line()).toEqual([B])
    expect((await kept())[0]).not.toHaveProperty('to')
  })

  it('frees the lock also where something else has the name of the terms, or of the queue', async () => {
    for (const key of [TERMS, queue.queue]) {
      await holds(A)
      await rig.admin.set(key, 'something else')
      expect(await releaseAs(A, 'c~1')).toMatchObject({ kind: 'released' })
      expect(await rig.admin.exists(NAME)).toBe(0)
      await tidy()
    }
  })
})

describe('look', () => {
  const lookAt = (knownToken = '', asksForLine = false) =>
    look(runner, { ...election, knownToken, asksForLine })

  it('tells the latest term, or all since one that is known, and who stands in the queue', async () => {
    expect(await lookAt()).toEqual({ ttlMs: -2, holder: '', terms: [], line: [] })
    for (const owner of [A, B, C]) {
      await holds(owner)
      await beginAs(owner)
    }
    await standInLine(A, B)
    expect(await lookAt('', true)).toMatchObject({ holder: C, terms: [{ token: '3' }], line: [A, B] })
    const since = async (token: string) => (await lookAt(token)).terms.map((term) => term.token)
    expect([await since('3'), await since('2'), await since('7')]).toEqual([
      ['3'],
      ['3', '2'],
      ['3', '2', '1'],
    ])
  })

  it('leaves out what no election has written', async () => {
    await rig.admin.rpush(
      TERMS,
      'not JSON',
      '7',
      '{"owner":"a"}',
      '{"owner":"a","token":"1","data":"{","from":"1"}',
    )
    expect(await lookAt('5')).toMatchObject({ terms: [] })
  })
})

describe('ask and accept', () => {
  const question = { ...election, owner: A, candidate: 'c~1', question: 'q1' }
  const answer = { ...election, clientId: 'c~1', token: '1', question: 'q1' }

  it('-1 and 0: who does not lead asks nobody, and who does not stand in the queue is not asked', async () => {
    expect(await ask(runner, question)).toBe('lost')
    await holds(A)
    await beginAs(A)
    expect(await heardDuring(() => ask(runner, question))).toEqual([])
    expect(await ask(runner, question)).toBe('not-in-line')
  })

  it('1, then 2 for the answer to this question; a message alone is no answer', async () => {
    await holds(A)
    await beginAs(A)
    await standInLine(B, C)
    expect(await heardDuring(() => ask(runner, question))).toEqual(['1:ask:1:q1:c~1'])
    await rig.admin.publish(CHANNEL, '1:yes')
    expect(await ask(runner, question)).toBe('asked')
    expect(await heardDuring(() => accept(runner, answer))).toEqual(['1:yes'])
    expect(await ask(runner, question)).toBe('will')
    expect(await ask(runner, { ...question, question: 'q2' })).toBe('asked')
    expect(await ask(runner, { ...question, candidate: 'b~1' })).toBe('asked')
  })

  it('asks again where Redis has lost the term', async () => {
    await holds(A)
    await standInLine(C)
    expect(await ask(runner, question)).toBe('asked')
  })

  it('0: an answer to another term, to one that is over, or of a client that has left is none', async () => {
    await holds(A)
    await beginAs(A)
    expect(await accept(runner, answer)).toBe(false)
    await standInLine(C)
    expect(await accept(runner, { ...answer, token: '2' })).toBe(false)
    expect(await accept(runner, answer)).toBe(true)
    await holds(B)
    expect(await accept(runner, answer)).toBe(false)
  })
})
