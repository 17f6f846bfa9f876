import { describe, expect, it, jest } from '@jest/globals'
import type { LockClient } from '../../../src/index.js'
import { getElection, type Election, type Leader } from '../../../src/entries/election/index.js'
import { campaign } from '../support/campaign.js'
import { eventually, own, soon, useRig } from '../support/rig.js'
import { standStills } from '../support/stand-stills.js'

const NAME = 'leader'
const TERMS = 'holdfast:terms:{leader}'
const rig = useRig()
const follower = own(() => rig.client({ clientName: 'follower' }))
const one = own(() => rig.client({ clientName: 'one' }))
const other = own(() => rig.client({ clientName: 'other' }))

const elect = (locks: LockClient): Election =>
  getElection(locks, NAME, { data: { from: locks.clientId.split('~')[0] } })

/** The news that a follower was told, in their order: `token name`, with a * for a term that was missed, - for nobody. */
const follow = (locks: LockClient, signal?: AbortSignal) => {
  const told: string[] = []
  const inWords = (leader: Leader | null): string =>
    leader ? `${leader.token} ${leader.clientName}${leader.leaseLeftMs === 0 ? '*' : ''}` : '-'
  const over = (async () => {
    for await (const leader of elect(locks).changes({ signal })) {
      told.push(inWords(leader))
    }
  })()
  return { told, over, until: (word: string) => eventually(() => told.at(-1) === word) }
}

describe('changes', () => {
  it('begins with the present, tells each leader with its data, and nobody in between', async () => {
    const early = follow(follower)
    await early.until('-')
    const first = campaign(elect(one))
    await early.until('1 one')
    const late: (Leader | null)[] = []
    for await (const leader of elect(other).changes()) {
      late.push(leader)
      break
    }
    expect(late).toMatchObject([{ token: '1', clientName: 'one', data: { from: 'one' } }])
    await one.close()
    await first.over
    await early.until('-')
    const second = campaign(elect(other))
    await early.until('2 other')
    await other.close()
    await second.over
    await early.until('-')
    expect(early.told).toEqual(['-', '1 one', '-', '2 other', '-'])
  })

  it('changes of a leader that died: nobody, when the lease that Redis told of has ended', async () => {
    await rig.admin.hset(NAME, 'dead~123456789012345678901:1', 1)
    const term = { owner: 'dead~123456789012345678901:1', token: '7', data: '', from: '1' }
    await rig.admin.rpush(TERMS, JSON.stringify(term))
    await rig.admin.pexpire(TERMS, 60_000)
    await rig.admin.pexpire(NAME, 1_200)
    const { told, until } = follow(follower)
    await until('-')
    expect(told).toEqual(['7 dead', '-'])
  })

  it('costs a subscription and looks at news alone: nothing is sent while nothing happens', async () => {
    const { until } = follow(follower)
    const first = campaign(elect(one))
    await until('1 one')
    await first.terms[0]?.verify()
    await rig.server.resetStats()
    const evaluated = async (): Promise<number> => (await rig.server.commandStats()).get('evalsha') ?? 0
    // Two more followers: one look each, and one when their subscription is confirmed.
    const [second, third] = [follow(other), follow(other)]
    await Promise.all([second.until('1 one'), third.until('1 one')])
    const before = await evaluated()
    expect(before).toBeLessThanOrEqual(4)
    await eventually(async () => (await evaluated()) >= 4)
    expect(await evaluated()).toBe(4)
  })

  it('tells afterwards of the terms that it missed while its connection was lost, in order (I11)', async () => {
    const proxy = await rig.proxy()
    const far = await rig.client({ clientName: 'far', commandTimeout: 200 }, rig.connection({}, proxy))
    const first = campaign(elect(one))
    await first.next()
    const { told, until } = follow(far)
    await until('1 one')
    proxy.refuse()
    let leading: LockClient = one
    for (let i = 0; i < 3; i += 1) {
      const name = `short-${i}`
      const locks = await rig.client({ clientName: name })
      const short = campaign(elect(locks))
      await eventually(async () => (await elect(leading).candidates()).length === 1)
      await leading.close()
      await first.over
      await soon(short.next())
      leading = locks
    }
    proxy.pass()
    await until('4 short-2')
    expect(told).toEqual(['1 one', '2 short-0*', '3 short-1*', '4 short-2'])
  })

  it('misses no term of a fresh election, whose first look found none (I11)', async () => {
    const proxy = await rig.proxy()
    const far = await rig.client({ clientName: 'far', commandTimeout: 200 }, rig.connection({}, proxy))
    const { told, until } = follow(far)
    await until('-')
    proxy.refuse()
    for (const locks of [one, other]) {
      const short = campaign(elect(locks))
      await soon(short.next())
      await locks.close()
      await short.over
    }
    const last = campaign(elect(follower))
    await soon(last.next())
    proxy.pass()
    await until('3 follower')
    expect(told).toEqual(['-', '1 one*', '2 other*', '3 follower'])
  })

  it('goes on where Redis refuses its subscription for a while (BUSY)', async () => {
    const [, busy] = standStills[0]!
    const { over } = await busy(rig.server, 300)
    const { told, until, over: end } = follow(follower)
    const failed = jest.fn()
    end.catch(failed)
    await over
    await until('-')
    await eventually(async () => (await rig.admin.pubsub('CHANNELS', 'holdfast:election:*')).length === 1)
    campaign(elect(one))
    await until('1 one')
    expect(told).toEqual(['-', '1 one'])
    expect(failed).not.toHaveBeenCalled()
  })

  it('ends with its signal, with close() and with its client, and leaves no subscription (I5)', async () => {
    const leaving = new AbortController()
    const mine = follow(follower, leaving.signal)
    await mine.until('-')
    await eventually(async () => (await rig.admin.pubsub('CHANNELS', 'holdfast:election:*')).length === 1)
    leaving.abort()
    await soon(mine.over)
    await eventually(async () => (await rig.admin.pubsub('CHANNELS', 'holdfast:election:*')).length === 0)
    const election = elect(other)
    const seen = election.changes()
    expect((await seen.next()).value).toBeNull()
    const next = seen.next()
    await election.close()
    expect(await soon(next)).toMatchObject({ done: true })
    const last = follow(one)
    await last.until('-')
    await one.close()
    await soon(last.over)
  })
})
