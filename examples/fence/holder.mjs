// A holder of the lock of its own process. It writes when it is told to, without a look at its lock: as code does that goes
// on after a pause.
import { LockClient } from '@holdfast/core'

const [name, state] = process.argv.slice(2)
const locks = await LockClient.connect(process.env.REDIS_URL, { bareCalls: 'allow' })
locks.on('lost', () => undefined)
const { token, tokenKey } = await locks.getFencedLock(name, { tokens: 'time' }).acquire({ leaseMs: 500 })
process.send({ token, tokenKey })
process.once('message', async () => {
  process.send({ token, tokenKey, state })
  await locks.close()
  process.disconnect()
})
