import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { RedisSentinels } from '@holdfast/faults/harness'
import { useSmallPrograms } from '../support/small-program.js'

describe('a process whose connection behind Sentinel LockClient opened', () => {
  const start = useSmallPrograms()
  let group: RedisSentinels
  beforeAll(async () => {
    group = await RedisSentinels.start({ replicas: 1 })
  })
  afterAll(() => group.stop())

  const TOO_LONG = `setTimeout(() => process.exit(7), 8_000).unref()\n`
  const withSentinels = (code: string, endpoints = group.endpoints): string => `${TOO_LONG}
    await locks.close()
    const sentinels = ${JSON.stringify(endpoints)}
    const given = { sentinels, name: '${group.name}', failoverDetector: true }
    ${code}`

  it('ends without close(), although ioredis listens at every Sentinel for a switch', async () => {
    const program = start(
      withSentinels(`
        const behind = await LockClient.connect(given)
        const hold = await behind.getLock('a').acquire()
        const second = behind.getLock('a').withLock(() => undefined)
        await hold.release()
        await second
        console.log('over')`),
    )
    expect([await program.ended(), program.stdout, program.stderr]).toEqual([0, 'over\n', ''])
  })

  it('ends without close(), although one of the Sentinels is down', async () => {
    const program = start(
      withSentinels(
        `const behind = await LockClient.connect(given)
        await behind.getLock('a').withLock(() => undefined)
        console.log('over')`,
        [...group.endpoints, { host: '127.0.0.1', port: 1 }],
      ),
    )
    expect([await program.ended(), program.stdout]).toEqual([0, 'over\n'])
  })

  it('lives with a client of the caller, whose listeners at the Sentinels are left alone', async () => {
    const program = start(
      withSentinels(`
        const { Redis } = await import('ioredis')
        const redis = new Redis(given)
        const borrower = new LockClient(redis)
        await borrower.getLock('a').withLock(() => undefined)
        setTimeout(() => { console.log('lives'); redis.disconnect() }, 2_500).unref()`),
    )
    expect([await program.ended(), program.stdout, program.stderr]).toEqual([0, 'lives\n', ''])
  })
})
