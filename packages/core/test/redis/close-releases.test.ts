import { describe, expect, it } from '@jest/globals'
import type { LockClient } from '../../src/index.js'
import type { Script } from '../../src/redis/script.js'
import { countDownScript } from '../../src/scripts/latch.js'
import { releaseScript } from '../../src/scripts/lock.js'
import { releaseExpirableScript } from '../../src/scripts/permit-semaphore.js'
import { releasePermitsScript } from '../../src/scripts/semaphore.js'
import { runsOf } from './support/requests.js'
import { signalled, soon, useRig } from './support/rig.js'

const rig = useRig()

describe('close', () => {
  it('waits for a release of the last holder that has to be sent again (I5)', async () => {
    const proxy = await rig.proxy()
    const locks = await rig.client({}, rig.connection({}, proxy))
    const [inside, leave] = [signalled(), signalled()]
    const work = locks.getLock('a').withLock(() => {
      inside.resolve()
      return leave.promise
    })
    await inside.promise
    const lost = proxy.loseRequest(runsOf(releaseScript))
    const closing = locks.close()
    leave.resolve()
    await lost.happened
    await closing
    expect(await rig.admin.exists('a')).toBe(0)
    await work
  })

  const counted: Record<string, readonly [Script, (locks: LockClient) => Promise<() => Promise<unknown>>]> = {
    "a semaphore's release": [
      releasePermitsScript,
      async (locks) => {
        const semaphore = locks.getSemaphore('name')
        await semaphore.trySetPermits(0)
        return () => semaphore.release()
      },
    ],
    "a permit's release": [
      releaseExpirableScript,
      async (locks) => {
        const semaphore = locks.getPermitExpirableSemaphore('name')
        await semaphore.trySetPermits(1)
        const id = await semaphore.acquire()
        return () => semaphore.release(id)
      },
    ],
    "a latch's countDown": [
      countDownScript,
      async (locks) => {
        const latch = locks.getCountDownLatch('name')
        await latch.trySetCount(2)
        return () => latch.countDown()
      },
    ],
  }

  it.each(Object.keys(counted))('waits for %s that has to be sent again (I2, I5)', async (what) => {
    const [script, prepare] = counted[what]!
    const proxy = await rig.proxy()
    const locks = await rig.client({}, rig.connection({ retryStrategy: () => 200 }, proxy))
    const send = await prepare(locks)
    const lost = proxy.loseRequest(runsOf(script))
    const sent = send()
    await lost.happened
    await locks.close()
    expect(await rig.admin.getdel('name')).toBe('1')
    await soon(sent)
  })
})
