import { describe, expect, it } from '@jest/globals'
import { releaseScript } from '../../src/scripts/lock/release.js'
import { signalled } from './support/harness.js'
import { runsOf } from './support/requests.js'
import { useRig } from './support/rig.js'

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
})
