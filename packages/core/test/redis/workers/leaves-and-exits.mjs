import { LockClient } from '@holdfast/core'
import { openCarrier } from './open-carrier.mjs'

// Ends its process in the turn in which a withLock has settled that did not wait for its release.
const [url, carrier] = process.argv.slice(2)
process.env.HOLDFAST_TEST_CARRIER = carrier
const { client } = await openCarrier(url)
const locks = await LockClient.connect(client, { releaseWaitMs: 0, lockWatchdogTimeout: 120_000 })
await locks.getLock('order:42').withLock(() => undefined)
await locks.getLock('order:42').withLock(() => undefined)
process.exit()
