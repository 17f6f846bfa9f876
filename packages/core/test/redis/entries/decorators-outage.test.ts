import { expect } from '@jest/globals'
import { Locked, currentHold } from '../../../src/entries/decorators/index.js'
import { RedisUnavailableError, type LockClient } from '../../../src/index.js'
import { outcomeOf } from '../support/outcomes.js'
import { describe, it, useRig } from '../support/together.js'

/** One method under each policy; each counts its runs, and how many ran with a hold. */
const makeJobs = (client: LockClient) => {
  const runs = { all: 0, locked: 0 }
  const work = (): Promise<string> => {
    runs.all += 1
    runs.locked += currentHold() ? 1 : 0
    return Promise.resolve('done')
  }
  class Jobs {
    readonly runs = runs
    @Locked({ name: 'job', client })
    throws(): Promise<string> {
      return work()
    }
    @Locked({ name: 'job', client, onRedisError: 'skip' })
    skips(): Promise<string | undefined> {
      return work()
    }
    @Locked({ name: 'job', client, onRedisError: 'run' })
    runsAnyway(): Promise<string> {
      return work()
    }
    @Locked({ name: 'job', client, onRedisError: 'run', onBusy: 'wait' })
    waits(): Promise<string> {
      return work()
    }
    @Locked({ name: 'job', client, onRedisError: 'run', onBusy: 'wait' })
    async fails(): Promise<never> {
      await work()
      throw new RedisUnavailableError('of the work', { outcome: 'unknown', transient: true })
    }
  }
  return new Jobs()
}

describe('@Locked while Redis is down', () => {
  const redis = useRig({ redis: 'test' })
  const client = (): Promise<LockClient> => redis.client({ unavailableTimeoutMs: 1_000 })

  it.each(['stopped', 'paused'])('does what onRedisError says: Redis %s', async (how) => {
    const jobs = makeJobs(await client())
    const all = [jobs.throws(), jobs.skips(), jobs.runsAnyway(), jobs.waits()]
    expect((await Promise.allSettled(all))[3]).toEqual({ status: 'fulfilled', value: 'done' })
    if (how === 'stopped') await redis.server.kill()
    else await redis.server.pause()
    Object.assign(jobs.runs, { all: 0, locked: 0 })

    expect(await outcomeOf(jobs.throws())).toBeInstanceOf(RedisUnavailableError)
    expect(await jobs.skips()).toBeUndefined()
    expect(jobs.runs).toEqual({ all: 0, locked: 0 })
    expect(await jobs.runsAnyway()).toBe('done')
    expect(await jobs.waits()).toBe('done')
    expect(jobs.runs).toEqual({ all: 2, locked: 0 })
  })

  it('run: several at once, each without a hold', async () => {
    const jobs = makeJobs(await client())
    await redis.server.kill()
    expect(await Promise.all(Array.from({ length: 5 }, () => jobs.runsAnyway()))).toEqual(
      Array(5).fill('done'),
    )
    expect(jobs.runs).toEqual({ all: 5, locked: 0 })
  })

  it('runs the method once when it is the work that finds no Redis', async () => {
    const jobs = makeJobs(await client())
    expect(String(await outcomeOf(jobs.fails()))).toContain('of the work')
    expect(jobs.runs).toEqual({ all: 1, locked: 1 })
  })

  it('locks again as soon as Redis is back', async () => {
    const jobs = makeJobs(await client())
    await redis.server.pause()
    expect(await jobs.skips()).toBeUndefined()
    redis.server.resume()
    expect(await jobs.waits()).toBe('done')
    expect(jobs.runs).toEqual({ all: 1, locked: 1 })
  })
})
