import { beforeEach, describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { InvalidArgumentError, LockLostError, type LockClient } from '../../../src/index.js'
import {
  getElection,
  Term,
  TermEndedError,
  type Election,
  type ElectionOptions,
} from '../../../src/entries/election/index.js'
import { campaign } from '../support/campaign.js'
import { aborted } from '../support/outcomes.js'
import { eventually, own, signalled, useRig } from '../support/rig.js'
import { useSeen } from '../support/seen.js'
import { useWarnings } from '../support/warnings.js'

const harness = useRig({ redis: 'all' })
const warnings = useWarnings()
const one = own(() => harness.client({ clientName: 'one' }))
const other = own(() => harness.client({ clientName: 'other' }))
let name: string
beforeEach(() => {
  name = harness.name('leader')
})

const elect = (locks: LockClient, options: ElectionOptions = {}): Election =>
  getElection(locks, name, options)

/** Resolves when so many candidates stand in the queue. */
const standing = (count: number): Promise<void> =>
  eventually(async () => (await elect(one).candidates()).length === count)

describe('what is measured of an election', () => {
  const seen = useSeen()

  it('is that of the fair lock of its name: a wait to lead is a call, a term is a hold', async () => {
    const [first, second] = [elect(one), elect(other)]
    const leads = campaign(first)
    await leads.next()
    const waits = campaign(second)
    await standing(1)
    await first.close()
    await waits.next()
    await second.close()
    const calls = seen.ended.filter(({ lockName }) => lockName === name)
    expect(calls.map(({ kind, outcome, hasWaited }) => [kind, outcome, hasWaited])).toEqual([
      ['fair', 'acquired', false],
      ['fair', 'acquired', true],
    ])
    const holds = seen.holds.filter(({ lockName, phase }) => lockName === name && phase === 'ended')
    expect(holds.map(({ kind }) => kind)).toEqual(['fair', 'fair'])
  })
})

describe('lead', () => {
  it('leads with a token and data that others see, and releases the lock when it is closed', async () => {
    const data = { url: 'http://worker-7:8080', tags: ['ä', '"'] }
    const election = elect(one, { data })
    const { next, over } = campaign(election)
    const term = await next()
    expect(term).toBeInstanceOf(Term)
    expect([term.token, term.name]).toEqual(['1', name])
    expect(term.trustedForMs).toBeGreaterThan(1_000)
    term.ensure(1_000)
    await term.verify()
    expect(election.term).toBe(term)
    expect(await elect(other).current()).toEqual({
      ...{
        clientId: one.clientId,
        clientName: 'one',
        owner: term.owner,
        token: '1',
        data,
        since: term.since,
      },
      leaseLeftMs: expect.any(Number),
    })
    await election.close()
    await over
    expect(term.trustedForMs).toBe(0)
    expect(() => term.ensure()).toThrow(TermEndedError)
    expect(election.term).toBeNull()
    expect(await elect(other).current()).toBeNull()
    expect(await one.getFairLock(name).isLocked()).toBe(false)
  })

  it('elects one at a time, in the order in which candidates came, each with a larger token (I9, I10)', async () => {
    const [first, second] = [elect(one), elect(other)]
    const mine = campaign(first)
    const term = await mine.next()
    const others = campaign(second)
    await standing(1)
    expect(others.terms).toEqual([])
    expect(await first.resign()).toBe(true)
    expect(term.signal.reason).toMatchObject({ code: 'TERM_ENDED', reason: 'resigned' })
    expect((await others.next()).token).toBe('2')
    // The one that resigned stands in the queue again.
    await standing(1)
    await second.close()
    expect((await mine.next()).token).toBe('3')
    await first.close()
    await Promise.all([mine.over, others.over])
  })

  it('pauses after terms that their callback has ended at once, from a second to a lease', async () => {
    const clock = new ManualClock()
    // A pause is a timer whose length was drawn just before: others last for a second or two as well.
    const drawn: number[] = []
    let isDrawn = false
    const setTimer: typeof clock.setTimer = (delayMs, fire) => {
      if (isDrawn) {
        drawn.push(delayMs)
      }
      return clock.setTimer(delayMs, fire)
    }
    // Every pause is the longest that it may be, so an advance by that much ends one pause and not the next.
    const random = (): number => {
      isDrawn = true
      queueMicrotask(() => (isDrawn = false))
      return 1
    }
    const { now, wallNow } = clock
    const locks = await harness.client({ runtime: { now, wallNow, setTimer, random } })
    const errors: string[] = []
    const election = elect(locks, { leaseMs: 3_600, onError: (error) => errors.push(String(error)) })
    const begun = [signalled(), signalled(), signalled(), signalled()]
    let terms = 0
    const over = election.lead(() => {
      terms += 1
      begun[terms - 1]?.resolve()
      throw new Error(`term ${terms}`)
    })
    for (const [i, pauseMs] of [1_000, 2_000, 3_600].entries()) {
      await begun[i]?.promise
      await eventually(() => drawn.includes(pauseMs))
      expect(await one.getFairLock(name).isLocked()).toBe(false)
      expect(await elect(one).candidates()).toEqual([])
      expect(terms).toBe(i + 1)
      await clock.advance(pauseMs)
    }
    await begun[3]?.promise
    await election.close()
    await over
    expect(errors).toEqual(['Error: term 1', 'Error: term 2', 'Error: term 3', 'Error: term 4'])
  })

  it('warns of what a callback throws, if nobody listens', async () => {
    const election = elect(one)
    const begun = signalled()
    const over = election.lead(() => {
      begun.resolve()
      throw new Error('no such\ntable\u001b[2J')
    })
    await begun.promise
    await eventually(() => warnings.of('HOLDFAST_ELECTION', 'Error: no such\\ntable\\u001b[2J.').length === 1)
    await election.close()
    await over
    expect(warnings.of('HOLDFAST_ELECTION', name)).toHaveLength(1)
  })

  it('ends with its signal, in the queue and in a term, and with its client', async () => {
    const [leads, waits] = [new AbortController(), new AbortController()]
    const mine = campaign(elect(one), leads.signal)
    const term = await mine.next()
    const others = campaign(elect(other), waits.signal)
    await standing(1)
    waits.abort()
    await others.over
    expect(await elect(one).candidates()).toEqual([])
    leads.abort()
    await mine.over
    expect(term.signal.reason).toMatchObject({ code: 'TERM_ENDED', reason: 'stopped' })
    const last = campaign(elect(other))
    const lastTerm = await last.next()
    await other.close()
    await last.over
    expect(lastTerm.signal.aborted).toBe(true)
    expect(await one.getFairLock(name).isLocked()).toBe(false)
  })

  it('tells a leader by force that it was lost, and the next one leads', async () => {
    const mine = campaign(elect(one))
    const term = await mine.next()
    const others = campaign(elect(other))
    await standing(1)
    await other.getFairLock(name).forceUnlock()
    expect((await others.next()).token).toBe('2')
    await aborted(term.signal)
    expect(term.signal.reason).toBeInstanceOf(LockLostError)
    expect(term.ending.reason).toBe(term.signal.reason)
    expect(term.trustedForMs).toBe(0)
    await standing(1)
  })

  it('refuses what is no election, and a second campaign of one object', async () => {
    for (const options of [
      { leaseMs: -1 },
      { graceMs: -1 },
      { lossGraceMs: 20_000 },
      { tokens: 'random' },
      { data: 'x'.repeat(4_095) },
      { data: 1n },
      { dat: 1 },
      { onError: 1 },
    ]) {
      expect(() => elect(one, options as ElectionOptions)).toThrow(InvalidArgumentError)
    }
    const election = elect(one, { data: 'x'.repeat(4_094) })
    const mine = campaign(election)
    await mine.next()
    await expect(election.lead(() => undefined)).rejects.toThrow(InvalidArgumentError)
    await expect(election.resign({ to: 'a:b' })).rejects.toThrow(InvalidArgumentError)
    expect(() => election.changes({ signal: 1 } as never)).toThrow(InvalidArgumentError)
  })
})
