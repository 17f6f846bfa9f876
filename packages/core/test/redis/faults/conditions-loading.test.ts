import { describe, expect, it } from '@jest/globals'
import { RedisUnavailableError } from '../../../src/index.js'
import { nextEvent, outcomeOf, waitBehind } from '../support/outcomes.js'
import { onNodeRedis } from '../support/carrier.js'
import { eventually, soon, useRig } from '../support/rig.js'

const NAME = 'order:42'
const REFUSAL = /Redis refused the command: LOADING (Redis|Valkey) is loading the dataset in memory/

// Loading takes 10 s unless it is told to hurry. Redis looks at its clients, and answers LOADING, after each KiB.
const rig = useRig({
  args: [
    ...['--key-load-delay', '5000', '--loading-process-events-interval-bytes', '1024'],
    ...['--rdbcompression', 'no'],
  ],
})
const setDelay = (us: number): Promise<unknown> => rig.server.command('CONFIG', 'SET', 'key-load-delay', us)

const populate = async (): Promise<void> => {
  await setDelay(5_000)
  await rig.admin.call('DEBUG', 'POPULATE', 2_000, 'key', 1_024)
}

const loading = async (): Promise<boolean> =>
  String(await rig.server.command('GET', 'anything').catch(String)).includes('LOADING')

function expectUnavailable(error: unknown, details: object): void {
  expect(error).toBeInstanceOf(RedisUnavailableError)
  expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', transient: true, ...details })
}

describe('Redis is loading its data', () => {
  it('with connections open: one attempt says so at once; what may wait outlasts it; a hold is renewed', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 4_500, resyncInterval: 200 })
    const failed = nextEvent(locks, 'renewal-failed')
    await populate()
    const [hold, leaving] = [await locks.getLock(NAME).acquire(), await locks.getLock('leaving').acquire()]
    const { waiting } = await waitBehind(rig, 'leaving', () => locks.getLock('leaving').acquire())
    const loaded = rig.connection().call('DEBUG', 'RELOAD')
    await eventually(loading)

    const fresh = locks.getLock('fresh').acquire({ waitMs: 15_000 })
    const releasing = leaving.release()
    for (const ask of [
      () => locks.getLock('free').tryLock(),
      () => locks.getLock('free').tryLock(1_000),
      () => locks.getLock('free').isLocked(),
      () => hold.verify(),
    ]) {
      const refused = { outcome: 'refused', message: expect.stringMatching(REFUSAL) }
      expectUnavailable(await outcomeOf(ask()), refused)
    }
    expect((await failed).error).toMatchObject({ message: expect.stringMatching(REFUSAL) })
    await setDelay(0)
    await loaded

    expect(await soon(releasing)).toBe('released')
    expect(await (await soon(waiting)).release()).toBe('released')
    expect(await (await soon(fresh)).release()).toBe('released')
    await eventually(async () => (await rig.admin.pttl(NAME)) > 3_000)
    expect(hold.signal.aborted).toBe(false)
    expect(await hold.release()).toBe('released')
    await rig.admin.flushall()
  })

  const ofIoredis: [string, object, RegExp][] = [
    ['ioredis waits for the data', { maxLoadingRetryTime: 100 }, /No connection to Redis within 300 ms/],
    ['ioredis does not look (enableReadyCheck: false)', { enableReadyCheck: false }, REFUSAL],
  ]
  it.each(onNodeRedis ? [['node-redis never looks', {}, REFUSAL] as const] : ofIoredis)(
    'after a restart, %s: one attempt says so in time, a wait gets the lock',
    async (_how, options, message) => {
      const locks = await rig.client({ commandTimeout: 300, resyncInterval: 200 }, rig.connection(options))
      await populate()
      const restarted = rig.server.restart()
      await eventually(loading)
      const waiting = locks.getLock(NAME).acquire({ waitMs: 15_000 })
      // The connection may not be there again yet.
      let error: unknown
      await eventually(async () => {
        error = await outcomeOf(locks.getLock('free').tryLock())
        return message.test(String(error))
      })
      expectUnavailable(error, {})
      expect(await loading()).toBe(true)
      await setDelay(0)
      await restarted
      const hold = await soon(waiting, 10_000)
      expect(await hold.release()).toBe('released')
      await rig.admin.flushall()
    },
  )
})
