import { expect } from '@jest/globals'
import { LockLostError, type LockClient } from '../../../src/index.js'
import {
  CandidateUnavailableError,
  getElection,
  TermEndedError,
  type Election,
  type ElectionOptions,
} from '../../../src/entries/election/index.js'
import { campaign, lastingTerm } from '../support/campaign.js'
import { aborted } from '../support/outcomes.js'
import { eventually, signalled, soon } from '../support/rig.js'
import { standStills } from '../support/stand-stills.js'
import { describe, it, useRig } from '../support/together.js'

const NAME = 'leader'
const rig = useRig()

const elect = (locks: LockClient, options: ElectionOptions = {}): Election =>
  getElection(locks, NAME, options)
const named = (clientName: string, options = {}): Promise<LockClient> =>
  rig.client({ clientName, lockWatchdogTimeout: 3_000, ...options })
const inLine = async (election: Election): Promise<string[]> =>
  (await election.candidates()).map(({ clientName }) => clientName)
/** Resolves when these stand in the queue, in any order. */
const standing = (election: Election, ...names: string[]): Promise<void> =>
  eventually(async () => (await inLine(election)).sort().join() === names.sort().join())

/** A leader `a`, and `b` and `c` in the queue. */
const three = async (options: ElectionOptions = {}, ofClient = {}) => {
  const clients = [await named('a', ofClient), await named('b', ofClient), await named('c', ofClient)]
  const elections = clients.map((locks) => elect(locks, options))
  const [a, b, c] = elections as [Election, Election, Election]
  const leads = campaign(a)
  const term = await leads.next()
  const second = campaign(b)
  await standing(a, 'b')
  const third = campaign(c)
  await standing(a, 'b', 'c')
  return { clients: clients as [LockClient, LockClient, LockClient], a, b, c, leads, second, third, term }
}

describe('the end of a term', () => {
  it('tells the callback first, gives it the grace, and releases when it has settled', async () => {
    const locks = await named('a')
    const election = elect(locks, { graceMs: 600_000 })
    const [begun, done] = [signalled(), signalled()]
    const order: string[] = []
    const over = election.lead(async (term) => {
      begun.resolve()
      await aborted(term.ending)
      order.push(`ending: ${(term.ending.reason as TermEndedError).reason}, trusted ${term.trustedForMs > 0}`)
      term.ensure()
      await done.promise
      order.push(`signal ${term.signal.aborted}`)
    })
    await begun.promise
    const { term } = election
    const closing = election.close()
    await eventually(() => order.length === 1)
    expect(await locks.getFairLock(NAME).isLocked()).toBe(true)
    done.resolve()
    await soon(Promise.all([closing, over]))
    expect(order).toEqual(['ending: stopped, trusted true', 'signal false'])
    expect(term?.signal.reason).toBeInstanceOf(TermEndedError)
    expect(await locks.getFairLock(NAME).isLocked()).toBe(false)
  })

  it('aborts the signal when the grace is over, and keeps the lock until the callback settles (I1)', async () => {
    const locks = await named('a')
    const election = elect(locks, { graceMs: 1 })
    const { term, over, settle } = await lastingTerm(election)
    const resigned = election.resign()
    await soon(aborted(term.signal))
    expect(term.signal.reason).toBe(term.ending.reason)
    await expect(term.verify()).rejects.toThrow(TermEndedError)
    expect(await locks.getFairLock(NAME).isLocked()).toBe(true)
    settle()
    expect(await soon(resigned)).toBe(true)
    await election.close()
    await over
  })

  it('called by the callback itself, resign does not wait for it', async () => {
    const election = elect(await named('a'))
    const resigned = signalled<boolean>()
    const over = election.lead(async (term) => {
      resigned.resolve(await election.resign())
      await aborted(term.signal)
    })
    expect(await soon(resigned.promise)).toBe(true)
    await election.close()
    await soon(over)
    expect(await election.resign()).toBe(false)
  })

  it('called by the callback itself, close does not wait for it', async () => {
    const election = elect(await named('a'))
    const closed = signalled()
    const over = election.lead(async (term) => {
      await election.close()
      closed.resolve()
      expect(term.signal.reason).toMatchObject({ reason: 'stopped' })
    })
    await soon(closed.promise)
    await soon(over)
    await soon(election.close())
  })

  it('without Redis: ending comes lossGraceMs before the signal, which comes before the lease ends (I1, I3)', async () => {
    const proxy = await rig.proxy()
    const cut = await rig.client(
      { clientName: 'cut', lockWatchdogTimeout: 3_000, resyncInterval: 100, commandTimeout: 200 },
      rig.connection({}, proxy),
    )
    const next = await named('next', { lockWatchdogTimeout: 3_000, resyncInterval: 100 })
    const seen: string[] = []
    cut.on('lost', () => undefined)
    const nextElection = elect(next)
    const election = elect(cut, { lossGraceMs: 1_000, onError: () => undefined })
    const [begun, lost] = [signalled(), signalled()]
    const over = election.lead(async (term) => {
      begun.resolve()
      await aborted(term.ending)
      seen.push(`${(term.ending.reason as TermEndedError).reason}, trusted ${term.trustedForMs > 0}`)
      await aborted(term.signal)
      seen.push(`trusted ${term.trustedForMs > 0}, others lead ${others.terms.length > 0}`)
      lost.resolve()
    })
    await begun.promise
    const others = campaign(nextElection)
    await standing(nextElection, 'next')
    proxy.blackHole()
    await soon(lost.promise)
    expect(seen).toEqual(['endangered, trusted true', 'trusted false, others lead false'])
    expect((await soon(others.next())).token).toBe('2')
    proxy.pass()
    await election.close()
    await soon(over)
  })

  it('is a loss where Redis lost the lock: no grace, and a LockLostError', async () => {
    const locks = await named('a', { lockWatchdogTimeout: 6_000 })
    locks.on('lost', () => undefined)
    const leads = campaign(elect(locks, { graceMs: 60_000, lossGraceMs: 200 }))
    const term = await leads.next()
    await rig.admin.del(NAME)
    await soon(aborted(term.signal))
    expect(term.signal.reason).toBeInstanceOf(LockLostError)
    expect(term.ending.reason).toBe(term.signal.reason)
    // It campaigns again, with a larger token.
    expect((await soon(leads.next())).token).toBe('2')
  })

  it('is kept in Redis where Redis loses the terms alone, with its token and time', async () => {
    const locks = await named('a', { lockWatchdogTimeout: 6_000 })
    const election = elect(locks, { data: 7 })
    const leads = campaign(election)
    const term = await leads.next()
    const before = await election.current()
    await rig.admin.del('holdfast:terms:{leader}')
    expect(await election.current()).toBeNull()
    await eventually(async () => (await election.current()) !== null)
    expect(await election.current()).toEqual({ ...before, leaseLeftMs: expect.any(Number) })
    expect([term.signal.aborted, leads.terms.length]).toEqual([false, 1])
  })
})

describe('resign({ to })', () => {
  it.each([
    ['whose client takes grants', {}],
    ['whose client is told to try', { pushedGrants: false }],
  ])('lets a candidate lead before those in front of it, %s', async (_, ofClient) => {
    const { clients, a, leads, second, third } = await three({}, ofClient)
    expect(await inLine(a)).toEqual(['b', 'c'])
    expect(await a.resign({ to: clients[2].clientId })).toBe(true)
    expect((await soon(third.next())).token).toBe('2')
    expect(second.terms).toEqual([])
    await standing(a, 'b', 'a')
    // The order of the others is as it was.
    expect((await inLine(a))[0]).toBe('b')
    await third.terms[0]!.verify()
    expect(leads.terms).toHaveLength(1)
  })

  /** A leader whose callback goes on until it is told to settle, and `b` and `c` in the queue. */
  const held = async () => {
    const leader = await named('a', { resyncInterval: 20_000 })
    const [second, third] = [await named('b'), await named('c')]
    const a = elect(leader, { graceMs: 600_000 })
    const { over, settle } = await lastingTerm(a)
    const b = campaign(elect(second))
    await standing(a, 'b')
    const c = campaign(elect(third))
    await standing(a, 'b', 'c')
    const end = async (): Promise<void> => {
      await a.close()
      await soon(over)
    }
    return { a, b, c, idOfB: second.clientId, idOfC: third.clientId, settle, end }
  }

  it('is what counts, also when a plain resign() comes after it', async () => {
    const { a, b, c, idOfC, settle, end } = await held()
    const { ending } = a.term!
    const resigned = [a.resign({ to: idOfC })]
    await soon(aborted(ending))
    resigned.push(a.resign())
    settle()
    expect(await soon(Promise.all(resigned))).toEqual([true, true])
    expect((await soon(c.next())).token).toBe('2')
    expect(b.terms).toEqual([])
    await end()
  })

  it('asks one candidate after another: each call hears its own answer, and the latest counts', async () => {
    const { a, b, c, idOfB, idOfC, settle, end } = await held()
    const stranger = await named('stranger')
    const resigned = [a.resign({ to: idOfB }), a.resign({ to: idOfC })]
    await expect(soon(a.resign({ to: stranger.clientId }))).rejects.toMatchObject({ reason: 'not-in-line' })
    settle()
    expect(await soon(Promise.all(resigned))).toEqual([true, true])
    expect((await soon(c.next())).token).toBe('2')
    expect(b.terms).toEqual([])
    await end()
  })

  it('is heard by a candidate whose subscription Redis refused for a while (BUSY)', async () => {
    const [, busy] = standStills[0]!
    const [first, second] = [await named('a'), await named('b')]
    const [a, b] = [elect(first), elect(second, { onError: () => undefined })]
    const leads = campaign(a)
    await leads.next()
    const { over } = await busy(rig.server, 300)
    const waits = campaign(b)
    await over
    await standing(a, 'b')
    expect(await soon(a.resign({ to: second.clientId }))).toBe(true)
    expect((await soon(waits.next())).token).toBe('2')
  })

  it('resign({ to }) that stands nowhere, or does not answer: CANDIDATE_UNAVAILABLE, and the term goes on', async () => {
    // The question lasts for two of them.
    const { clients, a, c, second, third, term } = await three({}, { resyncInterval: 200 })
    const stranger = await named('stranger')
    await expect(a.resign({ to: stranger.clientId })).rejects.toMatchObject({
      ...{ code: 'CANDIDATE_UNAVAILABLE', reason: 'not-in-line', candidate: stranger.clientId },
    })
    // In line, and deaf to the question: a waiter of the fair lock that is no candidate.
    await c.close()
    await third.over
    const leaving = new AbortController()
    const waits = clients[2].getFairLock(NAME).acquire({ signal: leaving.signal })
    waits.catch(() => undefined)
    await standing(a, 'b', 'c')
    const refused = await a.resign({ to: clients[2].clientId }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(CandidateUnavailableError)
    expect(refused).toMatchObject({ reason: 'no-answer' })
    expect([term.ending.aborted, a.term]).toEqual([false, term])
    await term.verify()
    expect(second.terms).toEqual([])
    leaving.abort()
  })

  it('resign({ to }) that dies in between: the first in the queue leads', async () => {
    const proxy = await rig.proxy()
    const options = { lockWatchdogTimeout: 3_000, resyncInterval: 200, commandTimeout: 200 }
    const dies = await rig.client({ clientName: 'dies', ...options }, rig.connection({}, proxy))
    const [a, b] = [elect(await named('a'), { graceMs: 600_000 }), elect(await named('b'))]
    const { term, over, settle } = await lastingTerm(a)
    const second = campaign(b)
    await standing(a, 'b')
    const third = campaign(elect(dies, { onError: () => undefined }))
    await standing(a, 'b', 'dies')
    const resigned = a.resign({ to: dies.clientId })
    await soon(aborted(term.ending))
    proxy.blackHole()
    settle()
    expect(await soon(resigned)).toBe(true)
    expect((await soon(second.next())).token).toBe('2')
    expect(third.terms).toEqual([])
    await a.close()
    await soon(over)
    proxy.pass()
    // It returns to its place, and leads after all.
    await standing(b, 'dies')
    await b.close()
    expect((await soon(third.next())).token).toBe('3')
  })
})
