import { expect } from '@jest/globals'
import type { LockClient, LockClientOptions } from '../../../src/index.js'
import { getShare, type SharedRun, type ShareOptions } from '../../../src/entries/share/index.js'
import { enterScript, finishScript } from '../../../src/entries/share/scripts.js'
import { runsOf } from '../support/requests.js'
import { eventually, soon } from '../support/rig.js'
import { never, running } from '../support/shared-work.js'
import { describe, it, useRig } from '../support/together.js'

const LOCK = 'share:oauth:42'
const rig = useRig()

const settings: LockClientOptions = { commandTimeout: 200, unavailableTimeoutMs: 2_000 }
/** A client behind a proxy that can lose what is sent. */
const behind = (options = settings) => rig.proxied(options)
const oauth = (locks: LockClient, options: ShareOptions<string> = {}) => getShare(locks, 'oauth', options)

describe('without Redis', () => {
  it('a call fails after waitMs, or unavailableTimeoutMs, and says that Redis is down', async () => {
    const { locks, proxy } = await behind()
    proxy.blackHole()
    for (const waitMs of [300, undefined]) {
      const call = soon(oauth(locks).run('42', never, { waitMs }))
      await expect(call).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE', lockName: LOCK })
    }
    proxy.pass()
  })

  it('one function runs for the callers of a process, uncoordinated, with onRedisError: run', async () => {
    const { locks, proxy } = await behind()
    const share = oauth(locks, { onRedisError: 'run', waitMs: 300 })
    proxy.blackHole()
    const runs: SharedRun[] = []
    const calls = [1, 2, 3].map(() =>
      share.runForResult('42', async (run) => {
        runs.push(run)
        await expect(run.verify()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
        return 'alone'
      }),
    )
    for (const result of await soon(Promise.all(calls))) {
      expect(result).toEqual({ value: 'alone', ageMs: 0, source: 'uncoordinated' })
    }
    expect(runs).toEqual([expect.objectContaining({ coordinated: false })])
    expect(runs[0]!.signal.aborted).toBe(false)
    await expect(soon(share.run('42', () => Promise.reject(new TypeError('no'))))).rejects.toThrow(TypeError)
    proxy.pass()
    await eventually(async () => (await rig.admin.exists(LOCK)) === 0)
  })

  it('a wait for a run under way ends with it too', async () => {
    const { locks, proxy } = await behind()
    const { work, first } = await running(oauth(await rig.client()), '42')
    const waiting = oauth(locks, { onRedisError: 'run' }).runForResult('42', () => 'alone')
    await rig.heard(LOCK)
    proxy.blackHole()
    expect(await soon(waiting)).toMatchObject({ value: 'alone', source: 'uncoordinated' })
    proxy.pass()
    work.succeed('together')
    expect(await soon(first)).toBe('together')
  })
})

describe('lost requests and replies', () => {
  const other = { commandTimeout: 200, unavailableTimeoutMs: 5_000 }

  it('an enter whose reply is lost is asked again, and runs once', async () => {
    const { locks, proxy } = await behind(other)
    let runs = 0
    proxy.loseReply(runsOf(enterScript))
    expect(await soon(oauth(locks).run('42', () => `${(runs += 1)}`))).toBe('1')
    expect(runs).toBe(1)
    await eventually(async () => (await rig.admin.exists(LOCK)) === 0)
  })

  it('a finish whose reply is lost counts, here and for the others (I13)', async () => {
    const { locks, proxy } = await behind(other)
    proxy.loseReply(runsOf(finishScript))
    expect(await soon(oauth(locks, { keepMs: 60_000 }).run('42', () => 'token'))).toBe('token')
    const later = oauth(await rig.client(), { keepMs: 60_000 })
    await eventually(async () => (await rig.admin.exists(LOCK)) === 0)
    expect(await later.run('42', never)).toBe('token')
  })

  it('a finish that is lost is sent again', async () => {
    const { locks, proxy } = await behind(other)
    proxy.loseRequest(runsOf(finishScript))
    expect(await soon(oauth(locks, { keepMs: 60_000 }).run('42', () => 'token'))).toBe('token')
    await eventually(async () => (await rig.admin.exists(LOCK)) === 0)
    expect(await oauth(await rig.client(), { keepMs: 60_000 }).run('42', never)).toBe('token')
  })

  it('an enter that stays unknown is released, and a copy that comes later begins nothing', async () => {
    const { locks, proxy } = await behind()
    proxy.blackHole()
    await expect(soon(oauth(locks).run('42', never))).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    proxy.pass()
    await eventually(async () => (await rig.admin.exists(LOCK)) === 0)
    expect(await soon(oauth(locks).run('42', () => 'next'))).toBe('next')
  })
})
