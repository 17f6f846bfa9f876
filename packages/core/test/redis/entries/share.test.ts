import { describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../../src/index.js'
import {
  getShare,
  SharedError,
  ShareBusyError,
  ShareOutcomeUnknownError,
  type SharedRun,
  type ShareOptions,
} from '../../../src/entries/share/index.js'
import { own, soon, useRig } from '../support/rig.js'
import { never, running, Work } from '../support/shared-work.js'

const LOCK = 'share:oauth:42'
const rig = useRig()

describe('a shared run', () => {
  const one = own(() => rig.client())
  const other = own(() => rig.client())

  const oauth = (locks: LockClient, options: ShareOptions<string> = {}) => getShare(locks, 'oauth', options)
  const mine = own(() => oauth(one))
  const theirs = own(() => oauth(other))
  /** Its callers wait for the run under way. */
  const untilWaiting = () => rig.heard(LOCK)

  it('gives one result to all callers of a process and of others, and runs once (I12, I13)', async () => {
    const work = new Work<string>()
    const first = mine.runForResult('42', work.task)
    await work.untilRunning()
    const calls = [
      ...Array.from({ length: 50 }, () => mine.runForResult('42', never)),
      ...Array.from({ length: 50 }, () => theirs.runForResult('42', never)),
    ]
    await untilWaiting()
    work.succeed('token')
    expect(await soon(first)).toEqual({ value: 'token', ageMs: 0, source: 'run' })
    for (const result of await soon(Promise.all(calls))) {
      expect(result).toMatchObject({ value: 'token', source: 'joined' })
    }
    expect(work.runs).toBe(1)
    expect(await rig.admin.exists(LOCK)).toBe(0)
  })

  it('runs again for a call after its end: nothing is kept by default', async () => {
    expect(await mine.run('42', () => 'first')).toBe('first')
    expect(await mine.run('42', () => 'second')).toBe('second')
    expect(await oauth(other).run('42', () => 'third')).toBe('third')
  })

  it('a shared run of another key goes on beside it', async () => {
    const { work, first: slow } = await running(mine, '42')
    expect(await mine.run('43', () => 'quick')).toBe('quick')
    work.succeed('slow')
    expect(await slow).toBe('slow')
  })

  it('reaches those whose message was lost: they find the result under its flight (I13)', async () => {
    const { work, first } = await running(oauth(one), '42')
    const second = oauth(other).run('42', never)
    await untilWaiting()
    await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    work.succeed('token')
    expect(await soon(first)).toBe('token')
    expect(await soon(second)).toBe('token')
  })

  it('fails for its caller with the error, and for the others with what may be told of it', async () => {
    const { work, first } = await running(mine, '42')
    const others = [mine.run('42', never), theirs.run('42', never)]
    await untilWaiting()
    const error = Object.assign(new TypeError('grant is gone'), { code: 'invalid_grant', secret: 'xyz' })
    work.fail(error)
    await expect(first).rejects.toBe(error)
    for (const each of others) {
      const told = (await soon(each.catch((thrown: unknown) => thrown))) as SharedError
      expect(told).toBeInstanceOf(SharedError)
      expect(told).toMatchObject({ code: 'SHARE_FAILED', lockName: LOCK })
      expect(told.original).toEqual({ name: 'TypeError', message: 'grant is gone', code: 'invalid_grant' })
      expect(told.message).toContain('TypeError: grant is gone')
    }
    expect(await theirs.run('42', () => 'again')).toBe('again')
  })

  it('goes on when its caller leaves, outside of its contexts, and reaches the others', async () => {
    const work = new Work<string>()
    const left = new AbortController()
    let threadOfRun: number | undefined = undefined
    let threadOfCaller: number | undefined = undefined
    const first = one.run(() => {
      threadOfCaller = one.currentThreadId
      const task = (run: SharedRun) => {
        threadOfRun = one.currentThreadId
        return work.task(run)
      }
      return oauth(one).run('42', task, { signal: left.signal })
    })
    await work.untilRunning()
    const second = oauth(other).run('42', never)
    await untilWaiting()
    left.abort(new Error('the request has gone'))
    await expect(first).rejects.toThrow('the request has gone')
    expect(work.last?.signal.aborted).toBe(false)
    expect(threadOfRun).toBeDefined()
    expect(threadOfRun).not.toBe(threadOfCaller)
    work.succeed('token')
    expect(await soon(second)).toBe('token')
  })

  it('reaches a call that is made in the same moment in which the only other one leaves', async () => {
    const share = oauth(other)
    const left = new AbortController()
    const { work, first } = await running(oauth(one), '42')
    const leaving = share.run('42', never, { signal: left.signal })
    await untilWaiting()
    left.abort(new Error('the request has gone'))
    const next = share.run('42', never)
    await expect(leaving).rejects.toThrow('the request has gone')
    await untilWaiting()
    work.succeed('token')
    expect(await soon(first)).toBe('token')
    expect(await soon(next)).toBe('token')
  })

  it('is busy after waitMs, and says who runs', async () => {
    const { work, first } = await running(mine, '42', { waitMs: 1 })
    for (const share of [mine, theirs]) {
      for (const waitMs of [0, 30]) {
        const busy = share.run('42', never, { waitMs })
        await expect(busy).rejects.toThrow(ShareBusyError)
        await expect(busy).rejects.toMatchObject({ code: 'SHARE_BUSY', lockName: LOCK })
        await expect(busy).rejects.toThrow(one.clientId.split('~')[0])
      }
    }
    work.succeed('token')
    expect(await first).toBe('token')
  })

  it('is run by one of those who wait when its process has lost it, and the result of that one counts', async () => {
    const { work, first } = await running(oauth(one), '42')
    const lost = work.last
    const second = oauth(other).run('42', work.task)
    await untilWaiting()
    await one.getLock(LOCK).forceUnlock()
    await work.untilRunning(2)
    expect(lost?.signal.aborted).toBe(true)
    await expect(lost?.verify()).rejects.toMatchObject({ code: 'LOCK_LOST' })
    work.succeed('refused', 1)
    work.succeed('accepted', 2)
    expect(await soon(second)).toBe('accepted')
    expect(await soon(first)).toBe('accepted')
    expect(work.runs).toBe(2)
  })

  it('a shared run that was lost is refused by Redis, also where its process has not noticed (I12)', async () => {
    const share = oauth(one, { keepMs: 60_000 })
    const { work, first } = await running(share, '42')
    await rig.admin.del(LOCK)
    work.succeed('refused')
    await work.untilRunning(2)
    expect(await rig.admin.exists(`holdfast:share:{${LOCK}}`)).toBe(0)
    work.succeed('accepted')
    expect(await soon(first)).toBe('accepted')
    expect(await share.run('42', never)).toBe('accepted')
  })

  it('leaves its outcome unknown for all who wait, with onCrash: fail', async () => {
    const work = new Work<string>()
    const [mine, theirs] = [oauth(one, { onCrash: 'fail' }), oauth(other, { onCrash: 'fail' })]
    const calls = [mine.run('42', work.task)]
    await work.untilRunning()
    calls.push(mine.run('42', never), theirs.run('42', never), theirs.run('42', never))
    await untilWaiting()
    await one.getLock(LOCK).forceUnlock()
    for (const each of calls) {
      const error = await soon(each.catch((thrown: unknown) => thrown))
      expect(error).toBeInstanceOf(ShareOutcomeUnknownError)
      expect(error).toMatchObject({ code: 'SHARE_OUTCOME_UNKNOWN' })
    }
    expect(work.runs).toBe(1)
    expect(await theirs.run('42', () => 'next')).toBe('next')
  })

  it('a shared run that never began, because its only caller left, ends no wait, with onCrash: fail', async () => {
    const options = { onCrash: 'fail' } as const
    const gone = new AbortController()
    const left = oauth(one, options).run('42', never, { signal: gone.signal })
    gone.abort(new Error('gone'))
    const next = oauth(other, options).run('42', () => 'mine')
    await expect(left).rejects.toThrow('gone')
    expect(await soon(next)).toBe('mine')
  })

  it('cannot wait for itself', async () => {
    const call = mine.run('42', () => mine.run('42', () => 'inner'))
    await expect(call).rejects.toMatchObject({ code: 'SELF_DEADLOCK' })
    expect(await mine.run('42', () => mine.run('43', () => 'of another key'))).toBe('of another key')
  })

  it('cannot wait for a run that waits for it, over one key or several', async () => {
    const [a, b, c] = ['a', 'b', 'c']
    const over = (...keys: string[]): Promise<string> => {
      const [key, ...rest] = keys as [string, ...string[]]
      return mine.run(key, () => (rest.length > 0 ? over(...rest) : 'end'))
    }
    await expect(soon(over(a, b, a))).rejects.toMatchObject({
      code: 'SELF_DEADLOCK',
      lockName: 'share:oauth:a',
    })
    await expect(soon(over(a, b, c, a))).rejects.toMatchObject({ code: 'SELF_DEADLOCK' })
    expect(await soon(over(a, b, c))).toBe('end')
  })

  it('may wait for one that no longer waits for it', async () => {
    const work = new Work<string>()
    const outer = mine.run('a', async () => {
      await mine.run('b', () => 'first')
      return work.task(null as never)
    })
    await work.untilRunning()
    const inner = mine.run('b', () => mine.run('a', never))
    work.succeed('both')
    expect(await soon(Promise.all([outer, inner]))).toEqual(['both', 'both'])
  })

  it('a shared run of one share is never that of another, whatever is in the name and the key', async () => {
    const pairs = [
      ['a:b', 'c'],
      ['a', 'b:c'],
      ['a%3Ab', 'c'],
      ['a%3ab', 'c'],
    ] as const
    for (const [name, key] of pairs) {
      const share = getShare(one, name, { keepMs: 60_000 })
      expect(await share.run(key, () => `${name} ${key}`)).toBe(`${name} ${key}`)
    }
    await expect(oauth(one).run('\uD800', never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('ends with its client: the run is lost, its callers hear it, and the others run', async () => {
    const work = new Work<string>()
    const calls = [oauth(one).run('42', work.task), oauth(one).run('42', work.task)]
    await work.untilRunning()
    const next = oauth(other).run('42', () => 'next')
    // The second call of the first client is another share's, which waits for the run as another process would.
    await rig.heard(LOCK, 2)
    const results = Promise.allSettled(calls)
    await one.close({ graceMs: 0 })
    expect(work.last?.signal.aborted).toBe(true)
    for (const each of await results) {
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'CLIENT_CLOSED' } })
    }
    expect(await soon(next)).toBe('next')
    await expect(oauth(other).run('', never)).rejects.toMatchObject({ argument: 'key' })
  })
})
