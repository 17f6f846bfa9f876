import { once } from 'node:events'
import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/testing'
import { Redis } from 'ioredis'
import { Attempt, release } from '../torture/attempt.mjs'
import { openHistory } from '../torture/history-file.mjs'
import { Register } from '../torture/register.mjs'
import { LEASE_MS, LIMIT_MS, RESYNC_MS } from './settings.mjs'

let locks
let redis
let register
let history
let settings
let acquisitions = 0

/** One acquisition: what it guards is written with its token. */
const acquireOnce = async (caller) => {
  const { lock, tokens } = settings
  const attempt = `${caller}#${(acquisitions += 1)}`
  const told = new Attempt(history, { lock, attempt, deadlineMs: LIMIT_MS })
  const held = told.acquired(await locks.getFencedLock(lock, { tokens }).acquire({ waitMs: LIMIT_MS }))
  const { owner, hold } = held
  try {
    const decision = await register.write(lock, hold.token, owner)
    history.add('write', { lock, owner, token: hold.token, ...decision })
  } finally {
    await release(history, held)
  }
}

serveWorker({
  begin({ name, port, registerPort, file, ...more }) {
    settings = more
    history = openHistory(file, name)
    // While Redis loads its data, ioredis looks again after the time that Redis estimates, up to 10 s.
    const soon = { retryStrategy: () => 20, maxLoadingRetryTime: 50, disconnectTimeout: 50 }
    redis = new Redis({ host: '127.0.0.1', port, ...soon })
    redis.on('error', () => undefined)
    register = new Register(registerPort)
    locks = new LockClient(redis, {
      clientName: name,
      lockWatchdogTimeout: LEASE_MS,
      resyncInterval: RESYNC_MS,
      bareCalls: 'allow',
    })
    // In the history already.
    locks.on('lost', () => undefined)
  },

  /** So many acquisitions by several callers. */
  async take(wanted) {
    let left = wanted
    const caller = async (_, i) => {
      while (left > 0) {
        left -= 1
        await acquireOnce(i)
      }
    }
    await Promise.all(Array.from({ length: settings.callers }, caller))
  },

  async finish() {
    await locks.close()
    // ioredis tells no end of a connection that it was about to open again.
    await redis.ping()
    const ended = once(redis, 'end')
    redis.disconnect()
    await ended
    await register.close()
    history.close()
  },
})
