import { expect, it } from '@jest/globals'
import { eventually, useRig } from '../support/rig.js'

const LEASE_MS = 3_000
const rig = useRig()

// That of node-redis ends idle connections too.
it('a half-open connection costs nothing with the socketTimeout of ioredis, which replaces it in time', async () => {
  const { proxy, locks } = await rig.proxied(
    { lockWatchdogTimeout: LEASE_MS, commandTimeout: 200 },
    { socketTimeout: 200 },
  )
  const lost: string[] = []
  locks.on('lost', ({ lockName, error }) => lost.push(`${lockName} ${error.reason}`))
  const hold = await locks.getLock('held').acquire()
  const left = async (): Promise<number> => rig.admin.pttl('held')
  const [before, leftBefore] = [proxy.accepted, await left()]
  proxy.halfOpenAll()
  // Replaced, by ioredis or after the first command that was not answered.
  await eventually(() => proxy.accepted > before)
  // That takes 200 ms, so less is left unless the lease was renewed since.
  await eventually(async () => (await left()) > leftBefore - 100)
  expect(lost).toEqual([])
  await hold.verify()
  expect(await hold.release()).toBe('released')
})
